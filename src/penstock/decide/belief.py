"""What one kind of work is believed to bring at every setting: surveyed cases, weighed by what was measured here.

Every case says what each setting would gain. At first all cases of this kind of work have one vote each; every
measurement takes votes away from the cases that would have it otherwise. What is left of a case's error at measured
settings is shared with their neighbours. All gains are base-2 logarithms, over the original setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.decide.level import MEMORY, Level
from penstock.decide.objective import Objective, Rates, gains_log2
from penstock.decision import Cases
from penstock.knobs import Candidates, Setting

Floats = NDArray[np.float64]

# How far a case may be off where it still resembles this work; the survey is not this machine.
CASE_LOG2 = 0.25
# Beyond this many of them a case is simply another one.
FARTHEST = 4.0
# Settings this many doublings apart are wrong together in 60 % of what the cases leave unexplained.
REACH_LOG2 = 1.5
# Never surer of a gain than this.
LEAST_SPREAD = 0.06
# A mean over windows is never surer than this, whatever their number.
LEAST_NOISE = 0.03
# What was measured long ago says less: its weight halves after this many windows.
HALF_LIFE = 240
_LN2 = math.log(2)


@dataclass(slots=True)
class Measured:
    """What one setting was measured to bring, and when that was last seen."""

    level: Level = field(default_factory=Level)
    at: int = 0

    def take(self, rates: Rates, now: int) -> None:
        """Add a window."""
        self.level.take(rates)
        self.at = now

    def noise_log2(self, noise: float, now: int) -> float:
        """How far its mean may be off, given how much single windows differ."""
        weight = min(self.level.count, MEMORY) * math.pow(0.5, (now - self.at) / HALF_LIFE)
        return math.hypot(LEAST_NOISE, 1.5 * noise / _LN2 / math.sqrt(max(weight, 0.2)))


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Every candidate's gain over the original: one row a case, and each case's share of the votes."""

    candidates: Candidates
    gains: Floats
    votes: Floats

    @property
    def mean(self) -> Floats:
        """The expected gain of every candidate."""
        return self.votes @ self.gains

    @property
    def deviation(self) -> Floats:
        """How far each may be off."""
        return np.sqrt(np.maximum(self.votes @ self.gains**2 - self.mean**2, 0.0) + LEAST_SPREAD**2)

    def chance(self, over: float) -> Floats:
        """How likely each candidate gains more than that."""
        return self.votes @ (self.gains > over)

    def improvement(self, over: float) -> Floats:
        """What trying each candidate once is expected to add, when the best known one can be kept instead."""
        return self.votes @ np.maximum(self.gains - over, 0.0)

    def shortfall(self, over: float) -> Floats:
        """What each candidate is expected to lose while it is tried."""
        return self.votes @ np.maximum(over - self.gains, 0.0)


@dataclass(slots=True)
class Knowledge:
    """What was measured of one kind of work here, setting by setting."""

    measured: dict[Setting, Measured] = field(default_factory=dict)

    def noise(self) -> float:
        """How much single windows of one setting differ, as a share of their mean; the same for all settings."""
        known = [m.level for m in self.measured.values() if m.level.count >= 3]
        total = sum(min(level.count, MEMORY) for level in known)
        if not total:
            return 0.15
        return math.sqrt(sum(min(level.count, MEMORY) * level.noise**2 for level in known) / total)

    def best_anchor(self, home: Setting) -> Setting:
        """The setting that gains are counted from: the original, or the best known one before that was seen."""
        if home in self.measured:
            return home
        return max(self.measured, key=lambda setting: self.measured[setting].level.count)

    def believe(
        self, cases: Cases, candidates: Candidates, home: Setting, now: int, objective: Objective
    ) -> Belief:
        """What every candidate, and every other setting measured, gains over the original."""
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
        gains = _utilities(surfaces, original, objective)
        known = gains_log2(*_logs([m.level.mean for m in self.measured.values()]), original, objective)
        return _corrected(Belief(wide, gains, votes), spots, known, noises)

    def _sides(self, original: Rates) -> Floats:
        """The measured gain of each direction that counts: (direction, measured setting)."""
        reads, writes = _logs([m.level.mean for m in self.measured.values()])
        base = _logs([original])
        sides = [
            side - start
            for side, start, counts in zip((reads, writes), base, _counts(original), strict=True)
            if counts
        ]
        return np.stack(sides)


def kind_of(rates: Rates) -> str:
    """Reading, writing or both."""
    reads, writes = _counts(rates)
    return "both" if reads and writes else "read" if reads else "write"


def _counts(rates: Rates) -> tuple[bool, bool]:
    reads, writes = rates.counts
    return (reads, writes) if reads or writes else (rates.read >= rates.write, rates.read < rates.write)


def _logs(rates: list[Rates]) -> tuple[Floats, Floats]:
    table = np.log2(np.maximum([(r.read, r.write) for r in rates], 1.0))
    return table[:, 0], table[:, 1]


def _votes(said: Floats, seen: Floats, noises: Floats) -> Floats:
    """Each case's share of the votes: (case, direction, measured setting) against (direction, measured setting)."""
    off = (said - seen) / np.hypot(CASE_LOG2, noises)
    score = -0.5 * np.minimum(off**2, FARTHEST**2).mean(axis=1).sum(axis=1)
    votes = np.exp(score - score.max())
    found: Floats = votes / votes.sum()
    return found


def _utilities(surfaces: Floats, original: Rates, objective: Objective) -> Floats:
    """What every case says each candidate gains, both directions together."""
    reads, writes = (start[0] for start in _logs([original]))
    sides = iter(np.moveaxis(surfaces, 1, 0))
    still = np.zeros((surfaces.shape[0], surfaces.shape[2]))
    counts = _counts(original)
    read_gains = next(sides) if counts[0] else still
    write_gains = next(sides) if counts[1] else still
    return gains_log2(reads + read_gains, writes + write_gains, original, objective)


def _corrected(belief: Belief, spots: NDArray[np.int64], known: Floats, noises: Floats) -> Belief:
    """Move the cases' common error at measured settings, and its neighbours along; what is known is sure."""
    mean, deviation = belief.mean, belief.deviation
    prior = deviation[:, None] * deviation[spots] * belief.candidates.likeness(REACH_LOG2)[:, spots]
    pull = np.linalg.solve(prior[spots] + np.diag(noises**2), prior.T).T
    left = np.sqrt(np.clip(1.0 - np.einsum("cm,cm->c", pull, prior) / deviation**2, 0.0, 1.0))
    gains = mean + pull @ (known - mean[spots]) + (belief.gains - mean) * left
    return Belief(belief.candidates, gains, belief.votes)
