"""Random striping in closed form: the expected number of targets in use, and the load of the busiest one.

Every burst occupies `width` neighbouring targets of a ring, starting at a uniformly and independently drawn target.
No random numbers are drawn here.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# How far into a binomial tail the sums go; beyond it lies less than 1e-14.
_DEVIATIONS = 8.0


def expected_targets(bursts: int, width: int, targets: int) -> float:
    """The expected number of targets that hold at least one share. Exact.

    >>> expected_targets(1, 4, 1008)
    4.0
    """
    return targets * _reached(bursts, min(width, targets) / targets)


def expected_servers(bursts: int, width: int, targets: int, servers: int) -> float:
    """The expected number of servers in use when target i hangs off server i modulo `servers`. Exact.

    A server is reached from every start within `width` before one of its targets; where the ring closes
    unevenly the last gap between a server's targets differs from the others.
    """
    total = 0.0
    for count, owned in (
        (targets % servers, targets // servers + 1),
        (servers - targets % servers, targets // servers),
    ):
        starts = (owned - 1) * min(width, servers) + min(width, targets - (owned - 1) * servers)
        total += count * _reached(bursts, min(1.0, starts / targets))
    return total


def _reached(bursts: int, share: float) -> float:
    return 1.0 if share >= 1.0 else -math.expm1(bursts * math.log1p(-share))


@lru_cache(maxsize=65536)
def expected_peak(bursts: int, width: int, ring: int) -> float:
    """The expected number of shares on the busiest target of the ring.

    This is the mean of a scan statistic. P(all targets hold < k) is approximated by a Markov chain along the ring:
    target i depends on target i-1 only, from which it differs by one share gained and one lost. It is exact for one
    burst, for two bursts to first order in 1/ring, and within one or two per cent of simulation otherwise.
    """
    whole, width = divmod(width, ring)
    if width == 0:
        return float(bursts * whole)
    floor = -(-bursts * width // ring)
    levels, stride = _levels(bursts, width / ring, floor)
    if levels.size == 0:
        return float(bursts * whole + floor)
    below = _cumulative(bursts, width / ring, levels - 1)
    entering = _entering(bursts, width, ring, levels)
    stay = np.clip(1.0 - entering / np.maximum(below, 1e-300), 0.0, 1.0)
    return float(bursts * whole + floor + stride * np.sum(1.0 - below * stay ** (ring - 1)))


def _levels(bursts: int, share: float, floor: int) -> tuple[Ints, int]:
    """The levels k that the peak may or may not reach (it always reaches `floor`), and their distance.

    Where the loads spread over hundreds of levels the tail is smooth, and every few levels are enough.
    """
    spread = math.sqrt(bursts * share * (1.0 - share))
    top = min(bursts, math.ceil(bursts * share + _DEVIATIONS * spread + 30))
    stride = max(1, int(spread // 20))
    return np.arange(floor + 1 + stride // 2, top + 1, stride, dtype=np.int64), stride


def _entering(bursts: int, width: int, ring: int, levels: Ints) -> Floats:
    """For each level k: the probability that a place holds >= k while the one before it holds < k."""
    common = _support(bursts, (width - 1) / ring)
    weight = np.exp(_log_binomial(bursts, (width - 1) / ring, common))
    share = 1.0 / (ring - width + 1)
    most = int(levels[-1] - common[0])
    counts = np.arange(
        min(most, math.ceil(bursts * share + _DEVIATIONS * math.sqrt(bursts * share) + 30)) + 1
    )
    mass = np.exp(_log_binomial((bursts - common)[:, None], share, counts[None, :]))
    fewer = np.concatenate([np.zeros((common.size, 1)), np.cumsum(mass, axis=1)], axis=1).clip(0.0, 1.0)
    missing = (levels[:, None] - common[None, :]).clip(0, counts.size)
    chance = np.take_along_axis(fewer, missing.T, axis=1).T
    return np.asarray((weight * (chance * (1.0 - chance))).sum(axis=1))


def _support(trials: int, share: float) -> Ints:
    spread = _DEVIATIONS * math.sqrt(trials * share * (1.0 - share)) + 30
    low = max(0, math.floor(trials * share - spread))
    high = min(trials, math.ceil(trials * share + spread)) if share > 0 else 0
    return np.arange(low, high + 1, dtype=np.int64)


def _cumulative(trials: int, share: float, upto: Ints) -> Floats:
    support = _support(trials, share)
    below = np.cumsum(np.exp(_log_binomial(trials, share, support)))
    place = upto - support[0]
    found = below[place.clip(0, support.size - 1)]
    return np.where(place < 0, 0.0, np.where(place >= support.size, 1.0, found)).clip(0.0, 1.0)


def _log_binomial(trials: int | Ints, share: float, counts: Ints) -> Floats:
    """The logarithm of the binomial mass, minus infinity where more is counted than was tried."""
    factorial = _log_factorials(int(np.max(trials)))
    rest = np.asarray(trials - counts)
    safe = rest.clip(0)
    if share <= 0.0:
        return np.where((counts == 0) & (rest >= 0), 0.0, -np.inf)
    if share >= 1.0:
        return np.where(rest == 0, 0.0, -np.inf)
    counted = counts.clip(0, factorial.size - 1)
    ways = factorial[trials] - factorial[counted] - factorial[safe]
    return np.where(rest >= 0, ways + counts * math.log(share) + safe * math.log1p(-share), -np.inf)


@lru_cache(maxsize=4)
def _table(size: int) -> Floats:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1, dtype=np.float64)))])


def _log_factorials(upto: int) -> Floats:
    return _table(max(1024, 1 << upto.bit_length()))
