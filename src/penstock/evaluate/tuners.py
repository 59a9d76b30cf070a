"""Tuners for experiments: a policy by name or file, with the model and the cache budget it needs."""

from __future__ import annotations

from pathlib import Path

from penstock.agent.policies import load_policy
from penstock.decide.cache import CacheBudget
from penstock.decide.tuner import Tuner
from penstock.ports import Predictor
from penstock.units import MIB

CACHE_RATIO = 0.25


def make_tuner(policy: str, seed: int, ram_bytes: int, model: Path | None = None) -> Tuner:
    """The policy as the agent would run it on a node with this much memory, but without the guard."""
    found = load_policy(policy)
    predictor = _predictor(model) if found.uses_model else None
    return Tuner(found, seed, predictor, CacheBudget(int(CACHE_RATIO * ram_bytes / MIB)))


def _predictor(model: Path | None) -> Predictor:
    from penstock.predict.model import ForestPredictor
    from penstock.predict.modelfile import load
    from penstock.predict.shipped import default_model

    return ForestPredictor(load(model) if model is not None else default_model())
