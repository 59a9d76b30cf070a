"""The paper's Figs. 4 to 11 on the calibrated machine.

A campaign is one draw of the scatter of measured runs: a grid of 33 x 9 times and one set of elemental measurements.
The machine was calibrated on other draws, and on what the default and chance are worth alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.collective_study.bgq_methods import BgqHybrid, BgqLearned, measured_elements
from benchmarks.collective_study.calibrate import Grid, scatter, whole_grid

from penstock.plan.collective.bgq.calibrated import VESTA
from penstock.plan.collective.bgq.machine import BgqMachine, Floats
from penstock.plan.collective.bgq.operations import NODE_COUNTS, BgqHints, BgqTerm, configurations

SIGMAS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
#: Draws that the calibration never saw.
FIRST_DRAW = 100
METHODS = ("random", "ml", "hybrid", "optimal")
#: As profiles are taken: medians of so many.
MEDIAN_OF = 7
_DEFAULT = configurations().index(BgqHints())


@dataclass(frozen=True, slots=True, eq=False)
class Campaign:
    """What was measured once: whole runs, and elements."""

    truth: Floats
    elements: tuple[list[BgqTerm], Floats]

    @property
    def speedups(self) -> Floats:
        """Of every cell over the default."""
        return np.asarray(self.truth[:, [_DEFAULT]] / self.truth)


def campaign(number: int, places: Grid, machine: BgqMachine = VESTA) -> Campaign:
    seed = FIRST_DRAW + number
    return Campaign(places.seconds(machine) * scatter(seed, machine.spread), measured_elements(machine, seed))


def campaigns(count: int) -> list[Campaign]:
    places = whole_grid()
    return [campaign(number, places) for number in range(count)]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a method gets: noise in its training times, the number of training runs, medians or single times."""

    sigma: float = 0.0
    points: int = 99
    medians: int = 1


def chosen(method: str, one: Campaign, repetitions: int, setting: Setting) -> Floats:
    """The speedups of what a method chooses: a row a repetition, a column an instance."""
    rows = np.arange(len(one.truth))
    picks: list[Any]
    if method == "random":
        rng = np.random.default_rng(0)
        picks = [rng.integers(0, one.truth.shape[1], len(rows)) for _ in range(repetitions)]
    elif method == "optimal":
        picks = [one.truth.argmin(axis=1)]
    elif method == "hybrid":
        # Without noise every repetition is the same.
        times = [
            BgqHybrid(one.elements, setting.sigma, seed, setting.medians).run_times()
            for seed in range(repetitions if setting.sigma else 1)
        ]
        picks = [each.argmin(axis=1) for each in times]
    else:
        learned = [BgqLearned(one.truth, setting.sigma, setting.points, seed) for seed in range(repetitions)]
        picks = [each.run_times().argmin(axis=1) for each in learned]
    return np.array([one.speedups[rows, pick] for pick in picks])


@dataclass(frozen=True, slots=True)
class Buckets:
    """Fig. 8: of 33 instances by the mean speedup over repetitions; means over campaigns, with the extremes."""

    method: str
    above_1_5: tuple[float, float, float]
    above_1_1: tuple[float, float, float]
    worse: tuple[float, float, float]
    geomean: float
    quantiles: tuple[float, ...]


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def buckets(
    method: str, measured: Sequence[Campaign], repetitions: int, setting: Setting | None = None
) -> Buckets:
    setting = Setting() if setting is None else setting
    found = [chosen(method, one, repetitions, setting) for one in measured]
    means = [each.mean(axis=0) for each in found]
    every = np.concatenate([each.ravel() for each in found])

    def counted(test: Callable[[Floats], Any]) -> tuple[float, float, float]:
        each = [float(test(mean).sum()) for mean in means]
        return float(np.mean(each)), min(each), max(each)

    return Buckets(
        method,
        counted(lambda mean: mean > 1.5),
        counted(lambda mean: (mean >= 1.1) & (mean <= 1.5)),
        counted(lambda mean: mean < 1),
        float(np.exp(np.log(every).mean())),
        tuple(float(q) for q in np.quantile(every, QUANTILES)),
    )


def training_study(measured: Sequence[Campaign], repetitions: int) -> dict[int, Buckets]:
    """Fig. 10: learning from fewer runs."""
    return {points: buckets("ml", measured, repetitions, Setting(points=points)) for points in (99, 66, 33)}


def noise_study(
    measured: Sequence[Campaign], repetitions: int, sigmas: Sequence[float]
) -> Mapping[float, Mapping[str, Buckets]]:
    """Fig. 11: noise on every training time. Beside the paper's protocol, medians of seven for the hybrid."""
    return {
        sigma: {
            "hybrid": buckets("hybrid", measured, repetitions, Setting(sigma)),
            "hybrid, medians of seven": buckets(
                "hybrid", measured, repetitions, Setting(sigma, 99, MEDIAN_OF)
            ),
            "ml": buckets("ml", measured, repetitions, Setting(sigma)),
        }
        for sigma in (0.0, *sigmas)
    }


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's correlation of two rankings."""
    return float(np.corrcoef(_ranks(one), _ranks(other))[0, 1])


def _ranks(values: Floats) -> Floats:
    """Places in the order, ties sharing the mean of theirs."""
    order = np.sort(values)
    return (np.searchsorted(order, values, "left") + np.searchsorted(order, values, "right")) / 2.0


def uniform_over_aware(machine: BgqMachine = VESTA) -> Floats:
    """Fig. 6: how much faster a round is with topology-aware aggregators; a row for each job size."""
    asked = [
        BgqTerm("full", 1, nodes, hints.aggregators(nodes), 1, hints.buffer_bytes)
        for nodes in NODE_COUNTS
        for hints in configurations()
    ]
    ratio = machine.seconds(asked, topology_aware=False) / machine.seconds(asked)
    return np.asarray(ratio.reshape(len(NODE_COUNTS), -1))
