"""The pure heart: one window in, one decision out, replayable from a log."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from random import Random

from penstock.decide.policies._base import Policy
from penstock.decision import Decision
from penstock.knobs import KnobSpace
from penstock.snapshot import Target
from penstock.window import Void, Window

PolicyFactory = Callable[[KnobSpace, Random], Policy]


class Tuner:
    """Runs one policy per target and turns what it proposes into decisions with ids and reasons."""

    def __init__(self, make_policy: PolicyFactory, seed: int = 0) -> None:
        self._make_policy = make_policy
        self._seed = seed
        self._policies: dict[Target, Policy] = {}
        self._count = 0

    def step(self, window: Window | Void, space: KnobSpace, now_s: float) -> Decision | None:
        """Decide about one target; a void window yields no decision and teaches the policy nothing."""
        if isinstance(window, Void):
            return None
        proposal = self._policy(window.target, space).propose(window)
        space.check(proposal.setting)
        self._count += 1
        return Decision(
            id=self._id(window.target, now_s),
            t_s=now_s,
            target=window.target,
            before=window.setting,
            wanted=proposal.setting,
            reason=proposal.reason,
            sentence=proposal.sentence,
            evidence=proposal.evidence,
            confidence=proposal.confidence,
        )

    def forget(self, target: Target) -> None:
        """Drop what was learned of a target that is gone or was taken over by somebody else."""
        self._policies.pop(target, None)

    def _policy(self, target: Target, space: KnobSpace) -> Policy:
        if target not in self._policies:
            # Chance depends on the target's name alone: targets coming and going leave the others be.
            self._policies[target] = self._make_policy(space, Random(f"{self._seed}/{target.name}"))
        return self._policies[target]

    def _id(self, target: Target, now_s: float) -> str:
        text = f"{self._seed}/{target.name}/{now_s!r}/{self._count}"
        return hashlib.sha256(text.encode()).hexdigest()[:12]
