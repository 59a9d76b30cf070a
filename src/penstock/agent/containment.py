"""Contains the errors of policies: if one fails, its target is left alone and all other targets continue."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from random import Random
from typing import Any, ClassVar

from penstock.decide.answers import as_allowed, nonsense
from penstock.decide.fleet_advice import WorkAdvice
from penstock.decide.following import Following
from penstock.decide.guard.offer import Offer
from penstock.decide.memory import Memories, sane
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.tuner import PolicyFactory
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace
from penstock.window import Window

Report = Callable[[str], None]


# What the tuner asks of a policy's class.
_TOLD = (
    "name", "uses_model", "model_kind", "tunes_cache", "spares_busy", "cache_rule", "vetoes", "guarded", "in_groups",
    "reads_offers",
)  # fmt: skip


def contained(inner: type[Policy], report: Report) -> PolicyFactory:
    """A factory of the same policies that never raise. Each failure is reported as a sentence."""
    same: dict[str, Any] = {name: getattr(inner, name) for name in _TOLD}
    return type("Contained", (_Contained,), same | {"inner": inner, "report": staticmethod(report)})


class _Contained(Policy):
    """A policy around another one, `inner`, that reports what this raises."""

    inner: ClassVar[type[Policy]]

    @staticmethod
    def report(problem: str) -> None:
        """Say what the policy did wrong."""

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        self._inner: Policy | None = None
        self._why = ""
        try:
            self._inner = self.inner(space, rng)
        except Exception as error:  # noqa: BLE001 - a policy is somebody else's code
            self._fail(error)
        super().__init__(space, rng)

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        if self._inner is None:
            return Proposal(window.setting, Reason.POLICY_ERROR, self._why)
        # Bounds change while a target lives.
        self._inner.space = self.space
        try:
            proposal = as_allowed(self._inner.propose(window, outlook), window, self.space)
            wrong = nonsense(proposal, window, self.space)
        except Exception as error:  # noqa: BLE001 - a policy is somebody else's code
            return Proposal(window.setting, Reason.POLICY_ERROR, self._fail(error))
        if wrong is None:
            return proposal
        said = f"it returned {wrong}"
        self.report(said)
        return Proposal(window.setting, Reason.POLICY_ERROR, said)

    def offered(self, offer: Offer) -> None:
        self._told(lambda inner: inner.offered(offer))

    def advised(self, advice: WorkAdvice | None) -> None:
        self._told(lambda inner: inner.advised(advice))

    def following(self) -> Following | None:
        found: Following | None = self._told(lambda inner: inner.following())
        return found

    def remembered(self) -> Memories:
        return self._told(lambda inner: sane(inner.remembered())) or {}

    def recall(self, memories: Memories) -> None:
        self._told(lambda inner: inner.recall(memories))

    def resumed(self) -> None:
        self._told(lambda inner: inner.resumed())

    def _told(self, call: Callable[[Policy], Any]) -> Any:
        try:
            return call(self._inner) if self._inner is not None else None
        except Exception as error:  # noqa: BLE001 - a policy is somebody else's code
            self._fail(error)

    def _fail(self, error: Exception) -> str:
        last = traceback.extract_tb(error.__traceback__)[-1]
        self._why = f"{type(error).__name__}: {error} ({last.filename}:{last.lineno})"
        self.report(self._why)
        return self._why
