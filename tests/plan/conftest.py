"""A small synthetic campaign that several tests fit models on."""

from __future__ import annotations

import pytest
from benchmarks.write_time_study.campaign import Campaign, WritePath, measure_campaign
from hypothesis import settings

from penstock.plan.storage import load_system

# A busy machine is no failure: no test here asserts seconds.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def campaign() -> Campaign:
    """Titan, three scales, 30 converged samples each."""
    return measure_campaign(WritePath(load_system("titan")), (16, 32, 64), 30, seed=4)
