"""PNG plots of the variability of repeated runs and of signed errors, and the helpers to draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from penstock.errors import PenstockError, require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
COLOURS = ("#1f6feb", "#d29922", "#2da44e", "#cf222e", "#8250df", "#57606a")


def canvas(columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """A figure with so many axes side by side; its size in inches."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise require_extra("plan", error) from None
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, [figure.add_subplot(1, columns, place + 1) for place in range(columns)]


def _plain_ticks(axes: Axes) -> None:
    """1, 2, 5, 10 instead of powers of ten on logarithmic axes."""
    from matplotlib.ticker import LogLocator

    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axis.set_major_formatter("{x:g}")
            axis.set_minor_formatter("")


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, the same bytes for the same content."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for axes in figure.axes:
            _plain_ticks(axes)
        figure.savefig(path, dpi=110, metadata={"Software": None})
    except OSError as error:
        raise PenstockError(f"{path}: {error.strerror}") from None


def variability_cdf(ratios: Mapping[str, Sequence[float]], path: Path, title: str) -> None:
    """How far identical runs lie apart: the CDF of slowest over fastest (the paper's Fig. 1)."""
    figure, (axes,) = canvas(1, 6.4, 4.0)
    for colour, (name, values) in zip(COLOURS, ratios.items(), strict=False):
        cdf(axes, values, name, colour)
    axes.set(
        xscale="log", xlabel="slowest / fastest of identical runs", ylabel="share of samples", title=title
    )
    axes.legend()
    save(figure, path)


def cdf(axes: Axes, values: Sequence[float], name: str, colour: str, style: str = "-") -> None:
    """Draw the share of values that are at most so large."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    axes.step(
        ordered, np.arange(1, ordered.size + 1) / ordered.size, style, where="post", label=name, color=colour
    )


def signed_errors(panels: Mapping[str, Mapping[str, tuple[Floats, Floats]]], path: Path, title: str) -> None:
    """Signed relative errors of each model, samples sorted by their true time (the paper's Figs. 5 and 6).

    A panel maps a model to (true seconds, errors).
    """
    figure, axes_list = canvas(len(panels), 4.2 * len(panels), 3.8)
    for axes, (name, models) in zip(axes_list, panels.items(), strict=True):
        for place, (model, (seconds, errors)) in enumerate(models.items()):
            order = np.argsort(seconds)
            axes.plot(
                errors[order].clip(-1, 2), ".", label=model, color=COLOURS[place], markersize=3, alpha=0.7
            )
        for level in (-0.3, 0.3):
            axes.axhline(level, color="#57606a", linewidth=0.8, linestyle="--")
        axes.axhline(0.0, color="#57606a", linewidth=0.8)
        axes.set(title=name, xlabel="samples, shortest write first", ylim=(-1.05, 2.05))
    axes_list[0].set_ylabel("(predicted - true) / true, cut at 2")
    axes_list[-1].legend(markerscale=3)
    figure.suptitle(title)
    save(figure, path)
