"""Plots as PNG: variability of repeated runs, signed errors, errors of chosen and base models, gains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from penstock.errors import PenstockError, require_extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
COLOURS = ("#1f6feb", "#d29922", "#2da44e", "#cf222e", "#8250df", "#57606a")


def _canvas(columns: int, width: float, height: float) -> tuple[Figure, list[Axes]]:
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


def _save(figure: Figure, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for axes in figure.axes:
            _plain_ticks(axes)
        figure.savefig(path, dpi=110, metadata={"Software": None})
    except OSError as error:
        raise PenstockError(f"{path}: {error.strerror}") from None


def variability_cdf(ratios: Mapping[str, Sequence[float]], path: Path, title: str) -> None:
    """How far identical runs lie apart: the CDF of slowest over fastest (the paper's Fig. 1)."""
    figure, (axes,) = _canvas(1, 6.4, 4.0)
    for colour, (name, values) in zip(COLOURS, ratios.items(), strict=False):
        _cdf(axes, values, name, colour)
    axes.set(
        xscale="log", xlabel="slowest / fastest of identical runs", ylabel="share of samples", title=title
    )
    axes.legend()
    _save(figure, path)


def gain_cdf(gains: Mapping[str, Sequence[float]], path: Path, title: str) -> None:
    """How much faster adapted writes are: the CDF of the speedup (the paper's Fig. 7)."""
    figure, (axes,) = _canvas(1, 6.4, 4.0)
    for place, (name, values) in enumerate(gains.items()):
        _cdf(axes, values, name, COLOURS[place // 2], style="--" if place % 2 else "-")
    axes.axvline(1.0, color="#57606a", linewidth=0.8)
    axes.set(xscale="log", xlabel="speedup", ylabel="share of samples", title=title)
    axes.legend()
    _save(figure, path)


def _cdf(axes: Axes, values: Sequence[float], name: str, colour: str, style: str = "-") -> None:
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    axes.step(
        ordered, np.arange(1, ordered.size + 1) / ordered.size, style, where="post", label=name, color=colour
    )


def signed_errors(panels: Mapping[str, Mapping[str, tuple[Floats, Floats]]], path: Path, title: str) -> None:
    """Signed relative errors of each model, samples sorted by their true time (the paper's Figs. 5 and 6).

    A panel maps a model to (true seconds, errors).
    """
    figure, axes_list = _canvas(len(panels), 4.2 * len(panels), 3.8)
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
    _save(figure, path)


def mse_bars(panels: Mapping[str, Mapping[str, tuple[float, float]]], path: Path, title: str) -> None:
    """Mean square errors of each technique's chosen and base model, over the least (the paper's Fig. 4)."""
    figure, axes_list = _canvas(len(panels), 4.2 * len(panels), 3.4)
    for axes, (name, techniques) in zip(axes_list, panels.items(), strict=True):
        least = min(min(pair) for pair in techniques.values())
        places = np.arange(len(techniques))
        for shift, label, which in ((-0.2, "chosen", 0), (0.2, "base", 1)):
            heights = [pair[which] / least for pair in techniques.values()]
            axes.bar(places + shift, heights, 0.4, label=label, color=COLOURS[which])
        axes.set(title=name, yscale="log")
        axes.set_xticks(places, list(techniques))
    axes_list[0].set_ylabel("mean square error / least")
    axes_list[-1].legend()
    figure.suptitle(title)
    _save(figure, path)


def predicted_against_measured(panels: Mapping[str, Mapping[str, Any]], path: Path, title: str) -> None:
    """A scatter per panel: each name maps to (measured, predicted) seconds."""
    figure, axes_list = _canvas(len(panels), 4.2 * len(panels), 4.0)
    for axes, (name, groups) in zip(axes_list, panels.items(), strict=True):
        ends = [np.inf, 0.0]
        for place, (label, (measured, predicted)) in enumerate(groups.items()):
            shown = np.maximum(predicted, 0.05 * measured)
            axes.plot(measured, shown, ".", label=label, color=COLOURS[place], markersize=4, alpha=0.7)
            ends = [min(ends[0], measured.min()), max(ends[1], measured.max())]
        axes.plot(ends, ends, color="#57606a", linewidth=0.8)
        for factor in (0.7, 1.3):
            axes.plot(ends, [factor * end for end in ends], "--", color="#57606a", linewidth=0.8)
        axes.set(title=name, xscale="log", yscale="log", xlabel="measured seconds")
    axes_list[0].set_ylabel("predicted seconds")
    axes_list[-1].legend(markerscale=2)
    figure.suptitle(title)
    _save(figure, path)
