"""Tuners for experiments: a policy by name or file, with the model, the cache budget and the guard it needs."""

from __future__ import annotations

from pathlib import Path

from penstock.agent.policies import load_policy
from penstock.decide.cache import CacheBudget
from penstock.decide.guard import Guard
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES
from penstock.decide.policies._base import Policy
from penstock.decide.tuner import Tuner
from penstock.ports import Predictor
from penstock.units import MIB

CACHE_RATIO = 0.25
NAMES = (*POLICY_NAMES, *EXPERIMENT_NAMES)


def shipped_policy() -> str:
    """What the agent runs when nobody says otherwise."""
    from penstock.agent.settings import AgentConfig

    return str(AgentConfig.model_fields["policy"].default)


def find_policy(name: str) -> type[Policy]:
    """A policy as the agent knows it, or one of those that only experiments have."""
    if name == "bayes":
        from penstock.evaluate.bayes import BayesPolicy

        return BayesPolicy
    return load_policy(name)


def make_tuner(policy: str, seed: int, ram_bytes: int, model: Path | None = None) -> Tuner:
    """The policy as the agent would run it on a node with this much memory, but without the guard."""
    found = find_policy(policy)
    predictor = _predictor(found.model_kind, model) if found.uses_model else None
    return Tuner(found, seed, predictor, CacheBudget(int(CACHE_RATIO * ram_bytes / MIB)))


def make_guard(policy: str, seed: int, forced: bool | None = None) -> Guard | None:
    """The guard where a policy is meant to run under one; the papers' algorithms were published without."""
    guarded = find_policy(policy).guarded if forced is None else forced
    return Guard(seed=seed) if guarded else None


def _predictor(kind: str, file: Path | None) -> Predictor:
    """The shipped model of this kind, or one from a file."""
    from penstock.predict.kinds import default_predictor, load_predictor

    return load_predictor(kind, file) if file is not None else default_predictor(kind)
