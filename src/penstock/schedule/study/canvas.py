"""Drawing helpers of the study, so that all figures look alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import refusal, require_extra
from penstock.schedule.study.summary import Interval, Metric, RowSet, interval, percentile
from penstock.schedule.study.trial import Method, TrialRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "random": "#999999",
    "static": "#e69f00",
    "bestbdw": "#0072b2",
    "nsys": "#009e73",
    "tcpu": "#d55e00",
    "mckp": "#cc79a7",
    "balance": "#000000",
}
NAMES = {
    "random": "Random",
    "static": "Static",
    "bestbdw": "BestBdw",
    "nsys": "Nsys",
    "tcpu": "TCPU",
    "mckp": "MCKP",
    "balance": "balance (ours)",
}
TERMS = 6
"""Of the regression polynomial: tcpu turns at the load where it starts to hold back."""
PLACED = {
    "greedy-clairvoyant": ("Greedy-Clairvoyant", "#0072b2"),
    "greedy-non-clairvoyant": ("Greedy-Non-Clairvoyant", "#d55e00"),
    "random": ("Random-Placement", "#999999"),
}


def panels(count: int, title: str, *, share_y: bool = False) -> tuple[Figure, list[Axes]]:
    """A row of empty panels."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise require_extra("plot", error) from error
    figure = Figure(figsize=(4.2 * count + 0.6, 3.7), dpi=110, layout="constrained")
    axes = [figure.add_subplot(1, count, 1)]
    for index in range(1, count):
        axes.append(figure.add_subplot(1, count, index + 1, sharey=axes[0] if share_y else None))
    for one in axes:
        one.grid(visible=True, alpha=0.25)
        one.spines[["top", "right"]].set_visible(False)
    figure.suptitle(title, fontsize=11)
    return figure, axes


def save(figure: Figure, path: Path) -> Path:
    """Write the figure as PNG."""
    try:
        figure.savefig(path)
    except OSError as error:
        raise refusal(path, error) from None
    return path


def line_over_load(axes: Axes, rows: RowSet, method: Method, metric: Metric) -> None:
    """Mean over sets at each point, with the interval between the 10th and the 90th percentile."""
    chosen = rows.select(method)
    points = sorted({row.point for row in chosen})
    values = [[metric(row) for row in chosen if row.point == point] for point in points]
    colour = COLOURS[method.allocation]
    means = [interval(group).mean for group in values]
    axes.plot(points, means, color=colour, label=NAMES[method.allocation], linewidth=1.6)
    lows = [percentile(group, 0.1) for group in values]
    highs = [percentile(group, 0.9) for group in values]
    axes.fill_between(points, lows, highs, color=colour, alpha=0.12, linewidth=0)


def trend_over_load(axes: Axes, rows: RowSet, method: Method, metric: Metric) -> None:
    """Polynomial regression over all sets, with the regression's 95 % confidence band."""
    import numpy as np

    chosen = rows.select(method)
    x = np.array([row.least_load for row in chosen])
    y = np.array([metric(row) for row in chosen])
    basis = np.vander(x, TERMS)
    beta, *_ = np.linalg.lstsq(basis, y, rcond=None)
    noise = float(((y - basis @ beta) ** 2).sum()) / max(len(x) - TERMS, 1)
    covariance = noise * np.linalg.inv(basis.T @ basis)
    grid = np.linspace(x.min(), x.max(), 60)
    over = np.vander(grid, TERMS)
    middle = over @ beta
    half = 1.96 * np.sqrt(np.einsum("ij,jk,ik->i", over, covariance, over))
    colour = COLOURS[method.allocation]
    axes.plot(grid, middle, color=colour, label=NAMES[method.allocation], linewidth=1.6)
    axes.fill_between(grid, middle - half, middle + half, color=colour, alpha=0.2, linewidth=0)


def boxes(axes: Axes, groups: Iterable[tuple[str, str, Sequence[float]]]) -> None:
    """Box plots, whiskers at the 10th and 90th percentile, of (label, colour, values)."""
    listed = list(groups)
    drawn = axes.boxplot(
        [values for _, _, values in listed],
        whis=(10, 90),
        showfliers=False,
        showmeans=True,
        patch_artist=True,
        medianprops={"color": "black"},
    )
    for patch, (_, colour, _) in zip(drawn["boxes"], listed, strict=True):
        patch.set_facecolor(colour)
        patch.set_alpha(0.55)
    axes.set_xticks(range(1, len(listed) + 1), [label for label, _, _ in listed], rotation=25, ha="right")


def interval_line(
    axes: Axes, x: Sequence[float], values: Sequence[Interval], label: str, colour: str
) -> None:
    """Means joined by a line, with their confidence intervals."""
    axes.plot(x, [value.mean for value in values], color=colour, label=label, marker="o", markersize=3)
    lows, highs = [value.low for value in values], [value.high for value in values]
    axes.fill_between(x, lows, highs, color=colour, alpha=0.2, linewidth=0)


def column(metric: Metric, rows: Iterable[TrialRow]) -> list[float]:
    """One metric of many rows."""
    return [metric(row) for row in rows]
