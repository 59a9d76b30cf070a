"""How much noise in a profile its rankings bear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.plan.collective.access import Access
from penstock.plan.collective.bgq_study import noisy, rank_correlation
from penstock.plan.collective.candidates import candidates
from penstock.plan.collective.predictor import forecast
from penstock.plan.collective.profile import Profile
from penstock.plan.collective.surrogates import Floats, Surrogates


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """One noise level: how like the clean ranking the noisy one is, and what its choice costs.

    `regret` is the clean forecast of the noisy ranking's first over the clean best.
    """

    sigma: float
    rank_correlation: float
    regret: float


def profile_study(
    profile: Profile, accesses: Sequence[Access], sigmas: Sequence[float], repetitions: int = 10
) -> list[NoiseRow]:
    """Disturb every sample's median, refit, rank again; averaged over accesses and repetitions."""
    clean = [_forecasts(Surrogates(profile), access) for access in accesses]
    rows = []
    for sigma in sigmas:
        likeness, regrets = [], []
        for seed in range(repetitions):
            disturbed = Surrogates(disturb(profile, sigma, seed))
            for access, true in zip(accesses, clean, strict=True):
                guesses = _forecasts(disturbed, access)
                likeness.append(rank_correlation(true, guesses))
                regrets.append(float(true[guesses.argmin()] / true.min()))
        rows.append(NoiseRow(sigma, float(np.mean(likeness)), float(np.mean(regrets))))
    return rows


def disturb(profile: Profile, sigma: float, seed: int) -> Profile:
    """The profile with noise on every time; the algorithms chosen for it stay."""
    times = noisy(np.array([s.seconds for s in profile.samples]), sigma, np.random.default_rng(seed))
    samples = tuple(
        sample.model_copy(update={"seconds": float(time)})
        for sample, time in zip(profile.samples, times, strict=True)
    )
    return profile.model_copy(update={"samples": samples})


def _forecasts(surrogates: Surrogates, access: Access) -> Floats:
    options = [option.hints for option in candidates(access)]
    return np.array([one.seconds for one in forecast(surrogates, access, options)])
