"""A small synthetic campaign that several tests fit models on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from benchmarks.write_time_study.campaign import Campaign, WritePath, measure_campaign

from penstock.plan.storage import load_system
from penstock.plan.write import stacked


@pytest.fixture(scope="session")
def campaign() -> Campaign:
    """Titan, three scales, 30 converged samples each."""
    return measure_campaign(WritePath(load_system("titan")), (16, 32, 64), 30, seed=4)


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests of a product's size take minutes and decide nothing here."""
    monkeypatch.setattr(stacked, "BEYOND", replace(stacked.BEYOND, forest_trees=60, boosted_models=1))
