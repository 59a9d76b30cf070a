"""Makes tuners for experiments: a policy by name or file, with its model, cache budget and guard."""

from __future__ import annotations

from pathlib import Path

from penstock.agent import plugins
from penstock.decide.budget import CacheBudget
from penstock.decide.guard import Guard
from penstock.decide.policies._base import Policy
from penstock.decide.tuner import Tuner
from penstock.evaluate.nudge import NUDGE, NudgePolicy
from penstock.evaluate.strict import strict
from penstock.ports import Predictor
from penstock.units import MIB

CACHE_RATIO = 0.25


def shipped_policy() -> str:
    """The agent's default policy."""
    from penstock.agent.settings import AgentConfig

    return str(AgentConfig.model_fields["policy"].default)


def find_policy(name: str) -> type[Policy]:
    """A policy that the agent knows, or one that exists in experiments only.

    A policy that is not built in ends the experiment if it raises or makes an impossible proposal.
    """
    if name == "bayes":
        from penstock.evaluate.bayes import BayesPolicy

        return BayesPolicy
    if name == NUDGE:
        return NudgePolicy
    found = plugins.find_policy(name)
    return strict(found) if plugins.is_foreign(name) else found


def make_tuner(
    policy: str, seed: int, ram_bytes: int, model: Path | None = None, predictor: Predictor | None = None
) -> Tuner:
    """The policy as the agent would run it on a node with this much memory, but without the guard.

    It uses the given predictor, or else its own.
    """
    asked = predictor or make_predictor(policy, model)
    return Tuner(find_policy(policy), seed, asked, CacheBudget(int(CACHE_RATIO * ram_bytes / MIB)))


def make_guard(policy: str, seed: int, forced: bool | None = None) -> Guard | None:
    """The guard, if the policy is meant to run under one. The papers' algorithms were published without."""
    guarded = find_policy(policy).guarded if forced is None else forced
    return Guard(seed=seed) if guarded else None


def make_predictor(policy: str, file: Path | None = None) -> Predictor | None:
    """The predictor of a policy: the shipped model of its kind, or one from a file; None if it uses none."""
    from penstock.predict.kinds import default_predictor, load_predictor

    found = find_policy(policy)
    if not found.uses_model:
        return None
    return load_predictor(found.model_kind, file) if file is not None else default_predictor(found.model_kind)
