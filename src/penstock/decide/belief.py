"""What one target is believed to bring at every setting: a model's forecast, corrected by what was measured.

The forecast is the mean of a Gaussian process over the logarithms of the knobs, its spread the process's own
standard deviation; measured rates pull the belief towards them, and their neighbours along. All rates are
base-2 logarithms of bytes per second.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.knobs import Setting
from penstock.predict.normal import below

Floats = NDArray[np.float64]

# Settings this many doublings apart are wrong together in 60 % of a forecast's error.
REACH_LOG2 = 1.5
# A mean over windows is never surer than this, whatever their number.
LEAST_NOISE = 0.02
# Rates of neighbouring windows go together (waves of seconds), so their mean is less sure than their number says.
WAVES = 1.5
# What was measured long ago says less: a window's weight halves after this many windows.
HALF_LIFE = 240
# A forecast from one setting is the mean over about this many windows.
SAID_WINDOWS = 12.0
KEPT_GRIDS = 64
_LN2 = math.log(2)


@dataclass(slots=True)
class Measured:
    """The windows at one setting: their number, mean and variance, all fading."""

    count: float = 0.0
    mean: float = 0.0
    variance: float = 0.0
    at: int = 0

    def take(self, bytes_per_s: float, now: int) -> None:
        """Add a window."""
        self.count = self.weight(now) + 1.0
        self.at = now
        off = bytes_per_s - self.mean
        self.mean += off / self.count
        self.variance += (off * (bytes_per_s - self.mean) - self.variance) / self.count

    def weight(self, now: int) -> float:
        """How many windows it still counts as."""
        return self.count * math.pow(0.5, (now - self.at) / HALF_LIFE)

    @property
    def rate_log2(self) -> float:
        """The mean rate; nothing at all counts as a byte."""
        return math.log2(max(self.mean, 1.0))


@dataclass(slots=True, eq=False)
class Said:
    """What a model said of every candidate from one setting: the mean over windows, as rates."""

    rates: Floats
    spreads: Floats
    count: float = 0.0

    def take(self, rates: Floats, spreads: Floats) -> None:
        """Add what it said at a window."""
        self.count = min(self.count + 1.0, SAID_WINDOWS)
        self.rates += (rates - self.rates) / self.count
        self.spreads += (spreads - self.spreads) / self.count


@dataclass(slots=True, eq=False)
class Forecast:
    """What a model said of every candidate, setting by setting at which it was asked.

    Work looks different from different settings, and from some it cannot be told from other work: what was
    said with more certainty counts more, and what disagrees makes the forecast less certain.
    """

    candidates: Sequence[Setting] = ()
    said: dict[Setting, Said] = field(default_factory=dict)

    def take(self, place: Setting, candidates: Sequence[Setting], rates: Floats, spreads: Floats) -> None:
        """Add what was said at a window; another set of candidates starts anew."""
        if candidates is not self.candidates and tuple(candidates) != tuple(self.candidates):
            self.candidates, self.said = candidates, {}
        said = self.said.get(place)
        if said is None:
            said = self.said[place] = Said(np.zeros(len(candidates)), np.zeros(len(candidates)))
        said.take(rates, spreads)

    def moments(self) -> tuple[Floats, Floats]:
        """Mean and spread of every candidate's rate over everything that was said."""
        if not self.said:
            return np.zeros(len(self.candidates)), np.zeros(len(self.candidates))
        if len(self.said) == 1:
            # Its weight is 1 and it disagrees with nobody.
            only = next(iter(self.said.values()))
            return only.rates.copy(), only.spreads.copy()
        rates = np.stack([said.rates for said in self.said.values()])
        spreads = np.stack([said.spreads for said in self.said.values()])
        weights = np.array([[said.count] for said in self.said.values()]) / spreads**2
        weights /= weights.sum(axis=0)
        mean = (weights * rates).sum(axis=0)
        return mean, np.sqrt((weights * (spreads**2 + (rates - mean) ** 2)).sum(axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class Belief:
    """Mean and standard deviation of every candidate's rate."""

    candidates: Sequence[Setting]
    mean: Floats
    deviation: Floats

    def chance(self, at: int, over: float) -> float:
        """How likely the candidate at a place brings more than that."""
        z = (self.mean[at] - over) / max(float(self.deviation[at]), 1e-6)
        return float(below(np.asarray(z)))

    def improvement(self, over: float) -> Floats:
        """The expected gain of trying each candidate once, when the best known one can be kept instead."""
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.deviation > 0, (self.mean - over) / self.deviation, -np.inf)
        hope = self.deviation * (z * below(z) + np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi))
        return np.maximum(np.nan_to_num(hope, nan=0.0), 0.0)


def believe(forecast: Forecast, measured: Mapping[Setting, Measured], now: int) -> Belief:
    """The forecast where nothing was measured, the measurements where they are, and in between what fits both."""
    rates, spreads = forecast.moments()
    grid = grid_of(forecast.candidates)
    known = [(grid.places[s], m) for s, m in measured.items() if s in grid.places and m.count > 0]
    if not known:
        return Belief(forecast.candidates, rates, spreads)
    places = np.array([place for place, _ in known])
    counts = np.array([max(m.weight(now), 0.1) for _, m in known])
    means = np.array([m.rate_log2 for _, m in known])
    noise = LEAST_NOISE**2 + (WAVES * unsteadiness(measured)) ** 2 / counts
    prior = spreads[:, None] * spreads[places] * grid.likeness[:, places]
    gain = np.linalg.solve(prior[places] + np.diag(noise), prior.T).T
    mean = rates + gain @ (means - rates[places])
    variance = spreads**2 - np.einsum("cm,cm->c", gain, prior)
    return Belief(forecast.candidates, mean, np.sqrt(np.maximum(variance, 0.0)))


def unsteadiness(measured: Mapping[Setting, Measured]) -> float:
    """How much single windows of one setting differ, as a base-2 logarithm; the same for all settings."""
    total = spread = 0.0
    for m in measured.values():
        if m.mean > 0 and m.count >= 2:
            total += m.count
            spread += m.count * (m.variance / m.mean**2)
    return math.sqrt(spread / total) / _LN2 if total else 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """What all beliefs about the same candidates share: their places, what each allows in flight, who is alike.

    `likeness` says how much of a forecast's error two candidates have in common.
    """

    candidates: Sequence[Setting]
    places: Mapping[Setting, int]
    window_pages: Floats
    likeness: Floats


_GRIDS: dict[int, Grid] = {}


def grid_of(candidates: Sequence[Setting]) -> Grid:
    """The grid of these very candidates; targets share a few of them, so the last ones are kept."""
    found = _GRIDS.get(id(candidates))
    if found is None:
        if len(_GRIDS) >= KEPT_GRIDS:
            _GRIDS.clear()
        # A grid keeps its candidates alive, so nothing else can come to have their identity.
        found = _GRIDS[id(candidates)] = _new_grid(candidates)
    return found


def _new_grid(candidates: Sequence[Setting]) -> Grid:
    knobs = np.array([[c["pages"], c["flight"]] for c in candidates], dtype=np.float64).reshape(-1, 2)
    logs = np.log2(knobs)
    apart = ((logs[:, None, :] - logs[None, :, :]) ** 2).sum(axis=2)
    places = {setting: place for place, setting in enumerate(candidates)}
    return Grid(candidates, places, knobs[:, 0] * knobs[:, 1], np.exp(-0.5 * apart / REACH_LOG2**2))
