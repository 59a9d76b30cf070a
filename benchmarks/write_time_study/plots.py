"""The studies' own pictures: gains of advice, errors of chosen and base models, predictions against measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.plan.write.error_plots import COLOURS, canvas, cdf, save


def gain_cdf(gains: Mapping[str, Sequence[float]], path: Path, title: str) -> None:
    """How much faster adapted writes are: the CDF of the speedup (the paper's Fig. 7)."""
    figure, (axes,) = canvas(1, 6.4, 4.0)
    for place, (name, values) in enumerate(gains.items()):
        cdf(axes, values, name, COLOURS[place // 2], style="--" if place % 2 else "-")
    axes.axvline(1.0, color="#57606a", linewidth=0.8)
    axes.set(xscale="log", xlabel="speedup", ylabel="share of samples", title=title)
    axes.legend()
    save(figure, path)


def mse_bars(panels: Mapping[str, Mapping[str, tuple[float, float]]], path: Path, title: str) -> None:
    """Mean square errors of each technique's chosen and base model, over the least (the paper's Fig. 4)."""
    figure, axes_list = canvas(len(panels), 4.2 * len(panels), 3.4)
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
    save(figure, path)


def predicted_against_measured(panels: Mapping[str, Mapping[str, Any]], path: Path, title: str) -> None:
    """A scatter per panel: each name maps to (measured, predicted) seconds."""
    figure, axes_list = canvas(len(panels), 4.2 * len(panels), 4.0)
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
    save(figure, path)
