"""How much noise in a profile its rankings bear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from benchmarks.collective_study.bgq_methods import noisy
from benchmarks.collective_study.bgq_study import rank_correlation

from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import candidates
from penstock.plan.collective.operation_profile import LEAST_REPETITIONS, OperationProfile
from penstock.plan.collective.predictor import forecast
from penstock.plan.collective.surrogates import Floats, Surrogates


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """One noise level: how like the clean ranking the noisy one is, and what its choice costs.

    `regret` is the clean forecast of the noisy ranking's first over the clean best.
    """

    sigma: float
    rank_correlation: float
    regret: float


@dataclass(frozen=True, slots=True)
class NoiseStudy:
    """How noise is put on: averaged over so many seeds; on how many measurements a median is taken of."""

    seeds: int = 10
    measurements: int = LEAST_REPETITIONS


def profile_study(
    profile: OperationProfile,
    accesses: Sequence[Access],
    sigmas: Sequence[float],
    how: NoiseStudy | None = None,
) -> list[NoiseRow]:
    """Disturb every sample, refit, rank again; averaged over accesses and seeds."""
    how = NoiseStudy() if how is None else how
    clean = [_forecasts(Surrogates(profile), access) for access in accesses]
    rows = []
    for sigma in sigmas:
        likeness, regrets = [], []
        for seed in range(how.seeds):
            disturbed = Surrogates(disturb(profile, sigma, seed, how.measurements))
            for access, true in zip(accesses, clean, strict=True):
                guesses = _forecasts(disturbed, access)
                likeness.append(rank_correlation(true, guesses))
                regrets.append(float(true[guesses.argmin()] / true.min()))
        rows.append(NoiseRow(sigma, float(np.mean(likeness)), float(np.mean(regrets))))
    return rows


def disturb(
    profile: OperationProfile, sigma: float, seed: int, measurements: int = LEAST_REPETITIONS
) -> OperationProfile:
    """The profile with noise on every measurement, of which each sample is the median.

    One measurement is the paper's stricter protocol. The algorithms chosen for the clean profile stay.
    """
    times = np.tile([sample.seconds for sample in profile.samples], (measurements, 1))
    times = np.median(noisy(times, sigma, np.random.default_rng(seed)), axis=0)
    samples = tuple(
        sample.model_copy(update={"seconds": float(time)})
        for sample, time in zip(profile.samples, times, strict=True)
    )
    return profile.model_copy(update={"samples": samples})


def _forecasts(surrogates: Surrogates, access: Access) -> Floats:
    options = [option.hints for option in candidates(access)]
    return np.array([one.seconds for one in forecast(surrogates, access, options)])
