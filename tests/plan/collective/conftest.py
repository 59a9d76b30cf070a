"""A profile measured with MPICH 5 on a busy two-core machine, for tests that need one but not its moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.collective.operation_profile import OperationProfile, load
from penstock.plan.collective.surrogates import Surrogates

PROFILE = Path(__file__).parents[2] / "fixtures" / "collective" / "profile-4-8-ranks.json"


@pytest.fixture(scope="session")
def profile_path() -> Path:
    return PROFILE


@pytest.fixture(scope="session")
def profile() -> OperationProfile:
    return load(PROFILE)


@pytest.fixture(scope="session")
def surrogates(profile: OperationProfile) -> Surrogates:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'penstock[plan]'")
    return Surrogates(profile)
