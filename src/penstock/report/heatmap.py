"""Heat maps of response surfaces as PNG: simulated, and measured beside it if known."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from penstock.errors import refusal, require_extra
from penstock.knobs import Setting

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Surface = Mapping[tuple[int, int], float]
DEFAULT = (1024, 8)


class CellLike(Protocol):
    """A setting and its throughput."""

    @property
    def setting(self) -> Setting:
        """The knob values."""

    @property
    def app_mbps(self) -> float:
        """The throughput of the application."""


def trace_name(workload: str) -> str | None:
    """The name of a single-stream workload in the recorded traces: `s_rd_rn_1m` is `rnd_r_1_io_1m`.

    >>> trace_name("s_rd_rn_1m"), trace_name("f_wr_sq_8k"), trace_name("dlio-bert")
    ('rnd_r_1_io_1m', None, None)
    """
    if not workload.startswith("s_"):
        return None
    _, direction, order, size = workload.split("_")
    return f"{ {'sq': 'seq', 'rn': 'rnd'}[order] }_{direction[0]}_1_io_{size}"


def read_measured(path: Path, workload: str) -> Surface | None:
    """The measured surface of a workload, or None if the file or the workload is missing."""
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["workload"] == trace_name(workload)]
    return {
        (int(row["max_pages_per_rpc"]), int(row["max_rpcs_in_flight"])): float(row["app_mbps_mean"])
        for row in rows
    } or None


def draw_surface(
    path: Path, workload: str, subtitle: str, cells: Sequence[CellLike], measured: Path | None
) -> None:
    """Write the map of one workload, beside the measured map if a file of measured surfaces is given."""
    simulated = {(c.setting["pages"], c.setting["flight"]): c.app_mbps for c in cells}
    beside = read_measured(measured, workload) if measured is not None else None
    draw_maps(path, workload, {f"simulated ({subtitle})": simulated}, beside)


def draw_maps(path: Path, title: str, maps: Mapping[str, Surface], measured: Surface | None) -> None:
    """Write the heat maps side by side into one file, with the default and the optimum marked."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise require_extra("plot", error) from None
    panels = {**maps, **({"measured (traces)": measured} if measured else {})}
    figure = Figure(figsize=(7.2 * len(panels), 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(f"{title}: MB/s the application sees")
    for axes, (name, surface) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
    ):
        _draw(axes, name, surface)
    _save(figure, path)


def _draw(axes: Axes, name: str, surface: Surface) -> None:
    pages = sorted({p for p, _ in surface})
    flights = sorted({f for _, f in surface})
    grid = [[surface[p, f] for p in pages] for f in flights]
    image = axes.imshow(grid, origin="lower", aspect="auto", cmap="viridis")
    top = max(surface.values())
    for row, flight in enumerate(flights):
        for column, page in enumerate(pages):
            value = surface[page, flight]
            colour = "black" if value > 0.6 * top else "white"
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=7, color=colour)
    best = max(surface, key=lambda setting: surface[setting])
    marks = ((DEFAULT, "s", "default"), (best, "o", f"optimum {best[0]} x {best[1]}"))
    for (page, flight), shape, label in marks:
        axes.scatter(
            pages.index(page),
            flights.index(flight),
            s=330,
            marker=shape,
            facecolors="none",
            edgecolors="red" if shape == "o" else "orange",
            linewidths=2,
            label=label,
        )
    axes.set_xticks(range(len(pages)), [str(p) for p in pages])
    axes.set_yticks(range(len(flights)), [str(f) for f in flights])
    axes.set_xlabel("max_pages_per_rpc")
    axes.set_ylabel("max_rpcs_in_flight")
    axes.set_title(name)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=2, frameon=False)
    axes.figure.colorbar(image, ax=axes)


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, format="png", dpi=90)
    except OSError as error:
        raise refusal(path, error) from None
