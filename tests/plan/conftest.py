"""A small synthetic campaign that several tests fit models on."""

from __future__ import annotations

import pytest

from penstock.plan.campaign import Campaign, WritePath, measure_campaign
from penstock.plan.system import load_system


@pytest.fixture(scope="session")
def campaign() -> Campaign:
    """Titan, three scales, 30 converged samples each."""
    return measure_campaign(WritePath(load_system("titan")), (16, 32, 64), 30, seed=4)
