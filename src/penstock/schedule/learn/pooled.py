"""Estimates the curves of similar applications together, each from its own runs and from what they have in common.

The logarithm of an application's bandwidth starts at a level of its own and changes by a step from each count to the
next. The steps of all applications of a pool have a common mean and a common covariance, which are estimated from
the runs (expectation-maximisation). An application with many runs follows them. One with few runs follows the pool
at the counts where it has none. The pool itself starts from the class of its access, as `belief` has it, so that a
pool of one application is no special case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from penstock.errors import DataError
from penstock.schedule.application import Curve
from penstock.schedule.belief import CLASSES, FADING, LEVEL_SPREAD, PAST_SPREAD

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

Runs = Mapping[int, Sequence[float]]
"""Bandwidths of single runs, by count."""

ROUNDS = 30
CLASS_WEIGHT = 2.0
"""The class counts as much as so many applications of the pool."""
NOISE_WEIGHT = 4.0
"""The noise of the pool counts as much as so many runs of an application."""
LEAST_NOISE = 0.03
NORMAL_90 = 1.6449


@dataclass(frozen=True, slots=True)
class LearnedCurve:
    """The estimated curve of one application, with the interval that holds its bandwidth with 90 % probability."""

    curve: Curve
    low: tuple[float, ...]
    high: tuple[float, ...]
    runs: int


def learn_pool(pool: Mapping[str, Runs], access: str = "unknown") -> dict[str, LearnedCurve]:
    """The curve of every application of a pool.

    It is estimated at all counts on which any of them has run, and at the powers of two below: otherwise a pool whose
    runs were all on one count would seem to be as fast on fewer.
    """
    import numpy as np

    _check(pool)
    ran_on = {count for runs in pool.values() for count, values in runs.items() if values}
    counts = sorted(ran_on | {2**power for power in range(max(ran_on).bit_length())})
    noise = _noise(pool)
    seen = {name: _seen(runs, counts, noise[name]) for name, runs in pool.items()}
    level = float(np.mean([one.logs.mean() for one in seen.values()]))
    steps = _class_steps(access, counts)
    ladder = np.tril(np.ones((len(counts), len(counts))))
    mean, spread = steps.mean, steps.covariance
    for _ in range(ROUNDS if len(counts) > 1 else 0):
        found = [_posterior(one, ladder, level, (mean, spread)) for one in seen.values()]
        fitted = np.array([state[1:] for state, _ in found])
        weight = CLASS_WEIGHT + len(found)
        mean = (CLASS_WEIGHT * steps.mean + fitted.sum(axis=0)) / weight
        apart = fitted - mean
        own = sum(covariance[1:, 1:] for _, covariance in found)
        shift = np.outer(steps.mean - mean, steps.mean - mean)
        spread = (CLASS_WEIGHT * (steps.covariance + shift) + apart.T @ apart + own) / weight
    return {
        name: _learned(_posterior(seen[name], ladder, level, (mean, spread)), ladder, counts, runs)
        for name, runs in pool.items()
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """The mean bandwidth at some counts: their places in the list of counts, logarithms and variances."""

    places: npt.NDArray[np.intp]
    logs: Floats
    variances: Floats


@dataclass(frozen=True, slots=True)
class _ClassSteps:
    mean: Floats
    covariance: Floats


def _check(pool: Mapping[str, Runs]) -> None:
    for name, runs in pool.items():
        if not any(runs.values()):
            raise DataError(f"application {name!r}: no run with a bandwidth")
        for count, values in runs.items():
            wrong = next((one for one in values if not (math.isfinite(one) and one > 0)), None)
            if count < 1 or wrong is not None:
                raise DataError(f"application {name!r}: a run on {count} with {wrong!r} bytes per second")


def _noise(pool: Mapping[str, Runs]) -> dict[str, float]:
    """The variance of the logarithm between runs of one application on one count, for each application."""
    squares: dict[str, tuple[float, int]] = {}
    for name, runs in pool.items():
        total, freedom = 0.0, 0
        for values in runs.values():
            logs = [math.log(value) for value in values]
            middle = math.fsum(logs) / max(len(logs), 1)
            total += math.fsum((one - middle) ** 2 for one in logs)
            freedom += max(len(logs) - 1, 0)
        squares[name] = (total, freedom)
    total = math.fsum(one for one, _ in squares.values())
    common = (NOISE_WEIGHT * PAST_SPREAD**2 + total) / (NOISE_WEIGHT + sum(n for _, n in squares.values()))
    return {
        name: max((NOISE_WEIGHT * common + own) / (NOISE_WEIGHT + freedom), LEAST_NOISE**2)
        for name, (own, freedom) in squares.items()
    }


def _seen(runs: Runs, counts: Sequence[int], noise: float) -> _Seen:
    import numpy as np

    measured = [(counts.index(count), values) for count, values in sorted(runs.items()) if values]
    return _Seen(
        places=np.array([place for place, _ in measured]),
        logs=np.array([math.log(math.fsum(values) / len(values)) for _, values in measured]),
        variances=np.array([noise / len(values) for _, values in measured]),
    )


def _class_steps(access: str, counts: Sequence[int]) -> _ClassSteps:
    """The steps of the class between the given counts, from its steps per doubling."""
    import numpy as np

    about = CLASSES[access]

    def climbed(count: int) -> float:
        doublings, total, step = math.log2(count), 0.0, 0.0
        for index in range(math.ceil(doublings)):
            step = about.steps[index] if index < len(about.steps) else step * FADING
            total += step * min(doublings - index, 1.0)
        return total

    widths = np.diff([math.log2(count) for count in counts])
    return _ClassSteps(np.diff([climbed(count) for count in counts]), np.diag(about.spread**2 * widths))


def _posterior(
    seen: _Seen, ladder: Floats, level: float, steps: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Mean and covariance of the level and the steps, given what was seen."""
    import numpy as np

    mean = np.concatenate([[level], steps[0]])
    before = np.zeros((len(mean), len(mean)))
    before[0, 0] = LEVEL_SPREAD**2
    before[1:, 1:] = steps[1]
    look = ladder[seen.places]
    across = before @ look.T
    gain = np.linalg.solve(look @ across + np.diag(seen.variances), across.T).T
    return mean + gain @ (seen.logs - look @ mean), before - gain @ across.T


def _learned(state: tuple[Floats, Floats], ladder: Floats, counts: Sequence[int], runs: Runs) -> LearnedCurve:
    import numpy as np

    logs = ladder @ state[0]
    spread = np.sqrt(np.clip(np.diag(ladder @ state[1] @ ladder.T), 0.0, None)) * NORMAL_90
    curve = Curve(tuple(counts), tuple(np.exp(logs).tolist()))
    low, high = (tuple(np.exp(edge).tolist()) for edge in (logs - spread, logs + spread))
    return LearnedCurve(curve, low, high, sum(len(values) for values in runs.values()))
