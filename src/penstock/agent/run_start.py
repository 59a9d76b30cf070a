"""Everything an agent starts to decide with: who decides, from which knowledge, within which limits.

A live agent and a replay build policy and guard here, from the same description.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock import __version__
from penstock.agent.containment import Report, contained
from penstock.agent.plugins import source_file
from penstock.agent.settings import AgentConfig, GuardSection
from penstock.agent.surveyed import where_surveyed
from penstock.campaign.program import version
from penstock.config import validate
from penstock.decide.budget import CacheBudget
from penstock.decide.guard import Guard
from penstock.decide.memoryfile import parse
from penstock.decide.policies._base import Policy
from penstock.decide.policies.climb import ClimbPolicy
from penstock.decide.tuner import Tuner
from penstock.errors import DataError
from penstock.ports import Predictor

# The parts of the package that decide about windows.
DECIDING = (
    "agent/containment.py", "agent/deciding.py", "decide", "decision.py", "gains.py", "knobs", "predict", "ratios.py",
    "window.py",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunStart:
    """One run of an agent, as it began."""

    version: str
    #: As it was asked for: a name, or the path of a file.
    policy: str
    #: What the code was that decided; see `code_digest`.
    policy_sha256: str
    model_kind: str
    #: The digest of the model; None where there was none.
    model: str | None
    seed: int
    interval_s: float
    cache_mib: float
    limits: GuardSection
    #: What was remembered, as `knowledge.json` held it; empty where nothing was, or where this is not the start.
    knowledge: str = ""

    def fields(self) -> dict[str, Any]:
        """For a recording; `parse_start` reads it."""
        return {**{name: getattr(self, name) for name in self.__slots__}, "limits": self.limits.model_dump()}

    def deciders(
        self, policy: type[Policy], predictor: Predictor | None, report: Report
    ) -> tuple[Tuner, Guard]:
        """Policy and guard as they are before the first interval; a policy's mistakes are contained and reported."""
        make = contained(policy, report)
        if policy.uses_model and not policy.learns:
            # A learning one where the model does not know the knobs.
            make = where_surveyed(make, contained(ClimbPolicy, report), predictor)
        tuner = Tuner(make, self.seed, predictor, CacheBudget(self.cache_mib))
        if self.knowledge:
            tuner.recall(kept.memory for kept in parse(self.knowledge.encode(), "remembered"))
        return tuner, Guard(self.limits.limits(), self.seed)


def start_of(config: AgentConfig, policy: type[Policy], predictor: Predictor | None, seed: int) -> RunStart:
    """The start of an agent with this configuration, without its node's budget and knowledge."""
    return RunStart(
        version=__version__,
        policy=config.policy,
        policy_sha256=code_digest(config.policy),
        model_kind=policy.model_kind if policy.uses_model else "",
        model=predictor.digest if predictor is not None else None,
        seed=seed,
        interval_s=config.interval_s,
        cache_mib=0.0,
        limits=config.guard,
    )


def code_digest(policy: str) -> str:
    """A digest of the code that decides: of ours, and of the file of somebody else's policy."""
    ours, source = version(*DECIDING), source_file(policy)
    try:
        return ours if source is None else hashlib.sha256(ours.encode() + source.read_bytes()).hexdigest()
    except OSError:
        return ""


def parse_start(said: Mapping[str, Any]) -> RunStart:
    """What `fields` gave; raises `DataError` for anything else."""
    try:
        known = {name: said[name] for name in RunStart.__slots__}
        return RunStart(**{**known, "limits": validate(known["limits"], GuardSection, "limits")})
    except (KeyError, TypeError):
        raise DataError("does not say how the run began") from None
