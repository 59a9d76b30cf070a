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
    predictor = predictor_of(found.model_kind, model) if found.uses_model else None
    return Tuner(found, seed, predictor, CacheBudget(int(CACHE_RATIO * ram_bytes / MIB)))


def predictor_of(kind: str, file: Path | None = None) -> Predictor:
    """The shipped model of this kind, or one from a file."""
    from penstock.predict.kinds import default_predictor, load_predictor

    return load_predictor(kind, file) if file is not None else default_predictor(kind)
