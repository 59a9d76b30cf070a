"""Plots about trained models as PNG: calibration, importance of features, effect of history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import refusal, require_extra

UP, DOWN, LINE = "#2da44e", "#cf222e", "#0969da"


def draw_reliability(
    path: Path, curves: Mapping[str, Sequence[tuple[float, float, int]]], tau: float | None = 0.8
) -> None:
    """Predicted against observed probability, one panel per direction. Larger dots stand for more samples.

    The threshold `tau` is shown where there is one.
    """
    figure, axes = _panels(len(curves))
    for axis, (direction, points) in zip(axes, curves.items(), strict=True):
        said, seen, counts = zip(*points, strict=True)
        total = sum(counts)
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1, label="perfect")
        axis.plot(said, seen, color=LINE, linewidth=1)
        axis.scatter(said, seen, s=[30 + 300 * (count / total) ** 0.5 for count in counts], color=LINE)
        if tau is not None:
            axis.axvline(tau, color=DOWN, linestyle=":", label="tau")
        axis.set(title=direction, xlabel="probability the model says", xlim=(0, 1), ylim=(0, 1))
        axis.set_ylabel("share that came true, on runs not trained on")
        axis.legend(loc="upper left")
    _save(figure, path)


def draw_bars(path: Path, title: str, bars: Sequence[tuple[str, float]], unit: str) -> None:
    """Named values as bars, the first on top. Positive values are green, negative ones red."""
    figure, axes = _panels(1, width=8.5, height=1.2 + 0.3 * len(bars))
    names, amounts = [name for name, _ in bars][::-1], [amount for _, amount in bars][::-1]
    axes[0].barh(names, amounts, color=[UP if amount >= 0 else DOWN for amount in amounts])
    axes[0].axvline(0, color="0.3", linewidth=0.8)
    axes[0].set(title=title, xlabel=unit)
    _save(figure, path)


def draw_lines(
    path: Path, panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]], x_label: str
) -> None:
    """One panel per metric, one line per series."""
    figure, axes = _panels(len(panels))
    for axis, (title, series) in zip(axes, panels.items(), strict=True):
        for name, points in series.items():
            axis.plot([x for x, _ in points], [y for _, y in points], marker="o", label=name)
        axis.set(title=title, xlabel=x_label)
        axis.set_ylim(bottom=0)
        axis.legend()
    _save(figure, path)


def _panels(count: int, width: float = 4.6, height: float = 4.2) -> tuple[Any, list[Any]]:
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise require_extra("train", error) from None
    figure = Figure(figsize=(width * count, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, [figure.add_subplot(1, count, number + 1) for number in range(count)]


def _save(figure: Any, path: Path) -> None:
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise refusal(path, error) from None
