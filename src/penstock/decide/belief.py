"""Expected gain of every setting for one kind of work: surveyed cases, weighted by measurements made here.

A case is one surveyed workload. It holds a gain for every setting. At first the cases of this kind of work that
looked alike at the default have most of the weight ("votes"). Each measurement lowers the weight of the cases that
disagree with it. Where the weighted cases are still wrong at a measured setting, the same correction is applied to
neighbouring settings, less so with distance. All gains are base-2 logarithms of the ratio to the original setting.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.decide.habits import (
    CASE_LOG2,
    CORRELATED_LOG2,
    FARTHEST,
    HALF_LIFE,
    LEAST_NOISE,
    LEAST_SPREAD,
    MEAN_WINDOWS,
    MISFIT_LOG2,
    USUAL_NOISE,
    WAVES,
)
from penstock.decide.level import Level
from penstock.decide.look import KINDS, Look
from penstock.decide.objective import Objective, Rates, gain_log2, gains_log2
from penstock.decision import Cases
from penstock.knobs import Candidates, Setting

Floats = NDArray[np.float64]

_LN2 = math.log(2)


@dataclass(slots=True)
class MeasuredSetting:
    """The rates measured at one setting, and the window in which they were last measured."""

    level: Level = field(default_factory=Level)
    at: int = 0

    def take(self, rates: Rates, now: int) -> None:
        self.level.take(rates)
        self.at = now

    def noise_log2(self, noise: float, now: int) -> float:
        """The standard error of the mean, as a base-2 logarithm.

        `noise` is the relative deviation of single windows.
        """
        weight = min(self.level.count, MEAN_WINDOWS) * math.pow(0.5, (now - self.at) / HALF_LIFE)
        return math.hypot(LEAST_NOISE, WAVES * noise / _LN2 / math.sqrt(max(weight, 0.2)))


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """The gain of every candidate over the original: one row per case, and the weight of each case."""

    candidates: Candidates
    gains: Floats
    votes: Floats

    @property
    def mean(self) -> Floats:
        """The expected gain of each candidate."""
        return self.votes @ self.gains

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each candidate's gain."""
        return np.sqrt(np.maximum(self.votes @ self.gains**2 - self.mean**2, 0.0) + LEAST_SPREAD**2)

    def chance(self, over: float) -> Floats:
        """The probability that each candidate gains more than `over`."""
        return self.votes @ (self.gains > over)

    def improvement(self, over: float) -> Floats:
        """The expected improvement of each candidate over `over`, if a candidate that turns out worse is not kept."""
        return self.votes @ np.maximum(self.gains - over, 0.0)

    def shortfall(self, over: float) -> Floats:
        """The expected loss below `over` while each candidate is tried."""
        return self.votes @ np.maximum(over - self.gains, 0.0)


@dataclass(slots=True)
class Knowledge:
    """What was measured for one kind of work on this machine, by setting, and what it looks like at the default."""

    measured: dict[Setting, MeasuredSetting] = field(default_factory=dict)
    looks: Mapping[str, Look] = field(default_factory=lambda: {kind: Look(kind) for kind in KINDS})

    def noise(self) -> float:
        """The relative deviation of single windows from their mean, pooled over all settings."""
        known = [m.level for m in self.measured.values() if m.level.count >= 3]
        total = sum(min(level.count, MEAN_WINDOWS) for level in known)
        if not total:
            return USUAL_NOISE
        return math.sqrt(sum(min(level.count, MEAN_WINDOWS) * level.noise**2 for level in known) / total)

    def knows(self, setting: Setting, windows: int) -> bool:
        """Whether a setting was measured in at least so many windows."""
        measured = self.measured.get(setting)
        return measured is not None and measured.level.count >= windows

    def best_anchor(self, home: Setting) -> Setting:
        """The setting that gains are relative to: the original, or, before that was measured, the one with most
        windows.
        """
        if home in self.measured:
            return home
        return max(self.measured, key=lambda setting: self.measured[setting].level.count)

    def believe(
        self, cases: Cases, candidates: Candidates, home: Setting, now: int, objective: Objective
    ) -> Belief:
        """The gain of every candidate over the original.

        Measured settings that are no candidates are added as columns.
        """
        anchor = self.best_anchor(home)
        original = self.measured[anchor].level.mean
        wide = candidates.and_beside(self.measured)
        origins = candidates.nearest(wide) if len(wide) > len(candidates) else np.arange(len(wide))
        surfaces = cases.surfaces[kind_of(original)][:, :, origins]
        surfaces = surfaces - surfaces[:, :, [wide.places[anchor]]]
        spots = np.array([wide.places[setting] for setting in self.measured])
        noise = self.noise()
        noises = np.array([m.noise_log2(noise, now) for m in self.measured.values()])
        votes = _votes(surfaces[:, :, spots], self._sides(original), noises)
        votes = votes * self._prior(cases, kind_of(original))
        votes = votes / votes.sum()
        gains = _utilities(surfaces, original, objective)
        known = np.array([gain_log2(m.level.mean, original, objective) for m in self.measured.values()])
        return _corrected(Belief(wide, gains, votes), spots, known, noises)

    def _prior(self, cases: Cases, kind: str) -> Floats:
        """The weight of each case before anything was measured."""
        weights = cases.weights.get(kind, np.ones(1))
        if kind not in self.looks or kind not in cases.looks:
            return weights
        return self.looks[kind].votes(cases.looks[kind], weights)

    def _sides(self, original: Rates) -> Floats:
        """The measured gains as an array (direction, measured setting), for the directions that count."""
        reads, writes = _logs([m.level.mean for m in self.measured.values()])
        base = _logs([original])
        sides = [
            side - start
            for side, start, counts in zip((reads, writes), base, _counts(original), strict=True)
            if counts
        ]
        return np.stack(sides)


def kind_of(rates: Rates) -> str:
    """The kind of work at these rates: `read`, `write` or `both`."""
    reads, writes = _counts(rates)
    return "both" if reads and writes else "read" if reads else "write"


def _counts(rates: Rates) -> tuple[bool, bool]:
    reads, writes = rates.counts
    return (reads, writes) if reads or writes else (rates.read >= rates.write, rates.read < rates.write)


def _logs(rates: list[Rates]) -> tuple[Floats, Floats]:
    table = np.log2(np.maximum([(r.read, r.write) for r in rates], 1.0))
    return table[:, 0], table[:, 1]


def _votes(said: Floats, seen: Floats, noises: Floats) -> Floats:
    """The weight of each case.

    `said` is (case, direction, measured setting), `seen` is (direction, measured setting).
    """
    off = (said - seen) / np.hypot(CASE_LOG2, noises)
    score = -0.5 * np.minimum(off**2, FARTHEST**2).mean(axis=1).sum(axis=1)
    votes = np.exp(score - score.max())
    found: Floats = votes / votes.sum()
    return found


def _utilities(surfaces: Floats, original: Rates, objective: Objective) -> Floats:
    """The gain of every candidate according to every case, with both directions combined by the objective."""
    reads, writes = (start[0] for start in _logs([original]))
    sides = iter(np.moveaxis(surfaces, 1, 0))
    still = np.zeros((surfaces.shape[0], surfaces.shape[2]))
    counts = _counts(original)
    read_gains = next(sides) if counts[0] else still
    write_gains = next(sides) if counts[1] else still
    return gains_log2(reads + read_gains, writes + write_gains, original, objective)


def _corrected(belief: Belief, spots: NDArray[np.int64], known: Floats, noises: Floats) -> Belief:
    """Correct the cases' mean at measured settings and, by correlation, at their neighbours (kriging).

    All cases may be off by the same amount, so agreement between them does not outweigh what was measured. The spread
    between cases shrinks where measurements have settled the value.
    """
    mean, deviation = belief.mean, np.hypot(belief.deviation, MISFIT_LOG2)
    prior = deviation[:, None] * deviation[spots] * belief.candidates.likeness(CORRELATED_LOG2)[:, spots]
    pull = np.linalg.solve(prior[spots] + np.diag(noises**2), prior.T).T
    left = np.sqrt(np.clip(1.0 - np.einsum("cm,cm->c", pull, prior) / deviation**2, 0.0, 1.0))
    gains = mean + pull @ (known - mean[spots]) + (belief.gains - mean) * left
    return Belief(belief.candidates, gains, belief.votes)
