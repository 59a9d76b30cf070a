"""The paper's figures 5 to 13, drawn from our own runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.schedule.family import FAMILIES, classify, fit_families
from penstock.schedule.profile import Profile
from penstock.schedule.study.canvas import (
    COLOURS,
    NAMES,
    PLACED,
    boxes,
    column,
    interval_line,
    line_over_load,
    panels,
    save,
    trend_over_load,
)
from penstock.schedule.study.claims import ratio_by_load
from penstock.schedule.study.summary import (
    RowSet,
    compare,
    idle_time,
    interval,
    mean_slowdown,
)
from penstock.schedule.study.sweep import ALLOCATIONS, BLURRED
from penstock.schedule.study.trial import Method

LOAD_AXIS = "I/O-load(π_sys)"
Rows = Mapping[str, RowSet]


def draw_all(rows: Mapping[int, Rows], profiles: Mapping[str, Sequence[Profile]], out: Path) -> list[Path]:
    """Every figure whose experiments have been run; rows by the number of applications.

    The first number's figures lie in `out`, the others' in a directory of their own below it.
    """
    drawn = []
    for index, (applications, some) in enumerate(rows.items()):
        home = out if index == 0 else out / f"k{applications}"
        home.mkdir(exist_ok=True)
        drawn += _draw(some, applications, home)
    loads = {applications: some["load"] for applications, some in rows.items() if "load" in some}
    if len(loads) > 1:
        drawn.append(figure_by_applications(loads, out))
    if "io-nodes" in profiles:
        drawn.append(figure_11(profiles["io-nodes"], out))
    return sorted(drawn)


def _draw(rows: Rows, applications: int, out: Path) -> list[Path]:
    drawn = []
    if "load" in rows:
        load = rows["load"]
        for figure in (figure_5, figure_6, figure_8, figure_9, figure_10, figure_12, figure_ours):
            drawn.append(figure(load, out))
        drawn.append(figure_7(rows, applications, out))
    for name, title in (("osts", "OSTs"), ("applications", "Nine applications")):
        if name in rows:
            drawn.append(figure_13(rows[name], title, out / f"fig13-{name}.png"))
    return drawn


def figure_by_applications(rows: Mapping[int, RowSet], out: Path) -> Path:
    """Who wins at a high load depends on how many applications share the platform."""
    figure, axes = panels(2, "Mean I/O slowdown relative to BestBdw, by the number of applications K")
    shades = ("#0072b2", "#009e73", "#e69f00", "#d55e00", "#cc79a7", "#56b4e9", "#000000")
    for one, name in zip(axes, ("nsys", "tcpu"), strict=True):
        for index, (size, some) in enumerate(sorted(rows.items())):
            ratios = ratio_by_load(some, name, "bestbdw")
            interval_line(
                one, list(ratios), list(ratios.values()), f"K = {size}", shades[index % len(shades)]
            )
        one.axhline(1, color="black", linewidth=0.6)
        one.set(title=NAMES[name], xlabel=LOAD_AXIS, ylabel="ratio to BestBdw (below 1 is better)")
    axes[0].legend(fontsize=8)
    return save(figure, out / "fig15-by-applications.png")


def figure_5(rows: RowSet, out: Path) -> Path:
    """Mean slowdown over the load, for every allocation and placement."""
    figure, axes = panels(3, "Mean I/O slowdown (mean, 10th to 90th percentile)", share_y=True)
    for one, (placement, (title, _)) in zip(axes, PLACED.items(), strict=True):
        for allocation in ALLOCATIONS:
            line_over_load(one, rows, Method(allocation, placement), mean_slowdown)
        one.set(title=title, xlabel=LOAD_AXIS)
    axes[0].set_ylabel("mean I/O slowdown")
    axes[0].legend(fontsize=8)
    return save(figure, out / "fig05-slowdown.png")


def figure_6(rows: RowSet, out: Path) -> Path:
    """Spread of occupancy at medium load, by placement."""
    figure, axes = panels(3, "I/O spread at I/O-load(π_sys) = 0.5 ± 0.05", share_y=True)
    for one, allocation in zip(axes, ("bestbdw", "nsys", "random"), strict=True):
        groups = []
        for placement, (label, colour) in PLACED.items():
            chosen = rows.select(Method(allocation, placement), 0.45, 0.55)
            groups.append((label, colour, column(lambda row: row.io_spread, chosen)))
        boxes(one, groups)
        one.set(title=NAMES[allocation])
    axes[0].set_ylabel("I/O spread")
    return save(figure, out / "fig06-spread.png")


def figure_7(rows: Rows, applications: int, out: Path) -> Path:
    """Spread over the number of applications, by placement, at three loads."""
    figure, axes = panels(3, "I/O spread under BestBdw (mean, 95 % confidence)", share_y=True)
    sizes = {int(name.split("-")[1]): name for name in rows if name.startswith("spread-")}
    sizes |= {applications: "load"}
    for one, point in zip(axes, (0.2, 0.5, 0.8), strict=True):
        for placement, (label, colour) in PLACED.items():
            method = Method("bestbdw", placement)
            picked = [rows[sizes[size]].select(method, point, point) for size in sorted(sizes)]
            values = [interval(column(lambda row: row.io_spread, group)) for group in picked]
            interval_line(one, sorted(sizes), values, label, colour)
        one.set(title=f"{LOAD_AXIS} = {point:g}", xlabel="applications")
    axes[0].set_ylabel("I/O spread")
    axes[0].legend(fontsize=8)
    return save(figure, out / "fig07-spread-applications.png")


def figure_8(rows: RowSet, out: Path) -> Path:
    """Mean and worst slowdown by allocation, at low and at high load."""
    figure, axes = panels(4, "Slowdown with Greedy-Non-Clairvoyant placement")
    bounds = ((0.05, 0.3, "low load"), (0.75, 1.0, "high load"))
    metrics = ((mean_slowdown, "mean"), (lambda row: row.max_io_slowdown, "worst"))
    cells = [(metric, name, bound) for metric, name in metrics for bound in bounds]
    for one, (metric, name, (low, high, title)) in zip(axes, cells, strict=True):
        groups = [
            (
                NAMES[allocation],
                COLOURS[allocation],
                column(metric, rows.select(Method(allocation), low, high)),
            )
            for allocation in (*ALLOCATIONS, "mckp")
        ]
        boxes(one, groups)
        one.set_yscale("log")
        one.set_ylim(bottom=1)
        one.set(title=f"{name}, {title} ({low:g} to {high:g})")
    axes[0].set_ylabel("I/O slowdown")
    return save(figure, out / "fig08-allocations.png")


def figure_9(rows: RowSet, out: Path) -> Path:
    """The two causes of slowdown over the load."""
    figure, axes = panels(2, "Slowdown by cause (polynomial regression, 95 % confidence)")
    causes = (
        (lambda row: row.slowdown_allocation, "by the number of resources"),
        (lambda row: row.slowdown_congestion, "by congestion"),
    )
    for one, (metric, title) in zip(axes, causes, strict=True):
        for allocation in ALLOCATIONS:
            trend_over_load(one, rows, Method(allocation), metric)
        one.set(title=title, xlabel=LOAD_AXIS, ylabel="I/O slowdown")
    axes[0].legend(fontsize=8)
    return save(figure, out / "fig09-causes.png")


def figure_10(rows: RowSet, out: Path) -> Path:
    """Machine idle time over the load, low and high apart."""
    figure, axes = panels(2, "Machine idle time (mean, 10th to 90th percentile)")
    for one, (low, high) in zip(axes, ((0.05, 0.5), (0.5, 1.0)), strict=True):
        for allocation in ALLOCATIONS:
            line_over_load(one, rows.within(low, high), Method(allocation), idle_time)
        one.set(xlabel=LOAD_AXIS, ylabel="machine idle time")
    axes[0].legend(fontsize=8)
    return save(figure, out / "fig10-idle.png")


def figure_11(profiles: Sequence[Profile], out: Path) -> Path:
    """All curves, normalised, by family, and the polynomial fitted to each."""
    fitted = fit_families(profiles)
    names = [name for name in FAMILIES if name in fitted]
    figure, axes = panels(len(names), "Profile families", share_y=True)
    for one, name in zip(axes, names, strict=True):
        members = [profile.curve for profile in profiles if classify(profile.curve) == name]
        for curve in members:
            top = max(curve.bytes_per_s)
            one.plot(curve.counts, [value / top for value in curve.bytes_per_s], color="#0072b2", alpha=0.12)
        largest = max(curve.largest for curve in members)
        counts = [1 + step * (largest - 1) / 60 for step in range(61)]
        scale = math.log(largest)
        values = [
            math.fsum(c * (math.log(n) / scale) ** k for k, c in enumerate(fitted[name].coefficients))
            for n in counts
        ]
        one.plot(counts, values, color="#d55e00", linewidth=2)
        one.set(title=f"{name} ({len(members)})", xlabel="I/O resources")
    axes[0].set_ylabel("bandwidth / maximum")
    return save(figure, out / "fig11-families.png")


def figure_12(rows: RowSet, out: Path) -> Path:
    """What imperfect profiles cost, and the idle time they lead to."""
    figure, axes = panels(2, "Knowing only the family of each curve")
    points = rows.points
    styles = {"greedy-clairvoyant": "--", "greedy-non-clairvoyant": "-"}
    for method in BLURRED:
        exact = Method(method.allocation, method.placement)
        label = f"{NAMES[method.allocation]} + {PLACED[method.placement][0]}"
        style: dict[str, Any] = {
            "color": COLOURS[method.allocation],
            "linestyle": styles[method.placement],
            "label": label,
        }
        ratios = [compare(rows.within(point, point), method, exact, mean_slowdown) for point in points]
        axes[0].plot(points, [100 * (ratio.mean - 1) for ratio in ratios], **style)
        groups = [rows.select(method, point, point) for point in points]
        axes[1].plot(points, [interval(column(idle_time, group)).mean for group in groups], **style)
    axes[0].axhline(0, color="black", linewidth=0.6)
    axes[0].set(xlabel=LOAD_AXIS, ylabel="mean slowdown, % worse than with real curves")
    axes[1].set(xlabel=LOAD_AXIS, ylabel="machine idle time")
    axes[0].legend(fontsize=7)
    return save(figure, out / "fig12-robustness.png")


def figure_13(rows: RowSet, title: str, path: Path) -> Path:
    """Slowdown and idle time over the load on other curves."""
    figure, axes = panels(2, f"{title} (mean, 10th to 90th percentile)")
    for allocation in ALLOCATIONS:
        line_over_load(axes[0], rows, Method(allocation), mean_slowdown)
        line_over_load(axes[1], rows, Method(allocation), idle_time)
    axes[0].set_yscale("log")
    axes[0].set(xlabel=LOAD_AXIS, ylabel="mean I/O slowdown")
    axes[1].set(xlabel=LOAD_AXIS, ylabel="machine idle time")
    axes[0].legend(fontsize=8)
    return save(figure, path)


def figure_ours(rows: RowSet, out: Path) -> Path:
    """Our allocator against tcpu, both metrics, whichever greedy placement tcpu uses."""
    figure, axes = panels(2, "balance (ours) relative to TCPU, both placed alike (95 % confidence)")
    points = rows.points
    for one, (metric, title) in zip(
        axes, ((mean_slowdown, "mean I/O slowdown"), (idle_time, "machine idle time")), strict=True
    ):
        for placement, (label, colour) in list(PLACED.items())[:2]:
            pair = (Method("balance", placement), Method("tcpu", placement))
            ratios = [compare(rows.within(point, point), *pair, metric) for point in points]
            interval_line(one, points, ratios, label, colour)
        one.axhline(1, color="black", linewidth=0.6)
        one.set(title=title, xlabel=LOAD_AXIS, ylabel="ratio to TCPU (below 1 is better)")
    axes[0].legend(fontsize=8)
    return save(figure, out / "fig14-balance.png")
