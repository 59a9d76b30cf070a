"""The base class of policies: a policy gets one window at a time and answers with one proposal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, ClassVar

from penstock.decide.cache_shares import PRINTED, CacheRule
from penstock.decision import HeldBack, Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window

if TYPE_CHECKING:
    from penstock.decide.fleet_advice import WorkAdvice
    from penstock.decide.following import Following
    from penstock.decide.guard.offer import Offer
    from penstock.decide.memory import Memories


@dataclass(frozen=True, slots=True)
class Proposal:
    """The setting that a policy proposes, and why. Proposing the window's own setting means no change.

    `decided` is false while the policy still gathers data, so that members of a group keep their own settings for
    now. `outlook` is the policy's own forecast for the candidates, if it differs from the model's.
    """

    setting: Setting
    reason: str
    sentence: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    decided: bool = True
    outlook: Outlook | None = None
    #: The rule that keeps the candidate from being tried that is worth most, where the policy knows of one.
    held_back: HeldBack | None = None


class Policy(ABC):
    """Chooses settings for one target.

    A policy sees every busy window of its target, in order, and may learn from them. Randomness comes from `rng` only
    and time from the windows only: the same windows and the same seed give the same proposals. It must propose
    settings that its space allows.

    The agent always runs a policy under the guard. Experiments do so only if `guarded` is set. If `in_groups` is set,
    all targets of one mount that do the same kind of work share one policy object (see `penstock.decide.groups`).

    A window may have a setting that the policy did not ask for: a change was refused or reverted, or the guard is
    measuring the original. In the last case the guard restores the policy's setting by itself. The original is the
    window's `home`. It changes when an administrator sets a knob, so a policy reads it anew from every window.
    """

    name: ClassVar[str]
    uses_model: ClassVar[bool] = False
    model_kind: ClassVar[str] = "forest"
    #: Whether it also works on knobs that its model knows nothing of.
    learns: ClassVar[bool] = False
    tunes_cache: ClassVar[bool] = False
    #: Whether sharing the cache may lower the limits of idle targets only, never of busy ones.
    spares_busy: ClassVar[bool] = False
    #: How the cache is shared unless busy targets are spared.
    cache_rule: ClassVar[CacheRule] = PRINTED
    #: Whether the setting is kept when the model was not trained on the kind of work that the target does.
    vetoes: ClassVar[bool] = True
    guarded: ClassVar[bool] = False
    in_groups: ClassVar[bool] = False
    #: Whether it chooses by what the guard offers.
    reads_offers: ClassVar[bool] = False

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        self.space = space
        self.rng = rng

    def offered(self, offer: Offer) -> None:  # noqa: B027 - most policies choose without looking
        """What may be chosen now, and what is known of the unit. Called before `propose` if `reads_offers`."""

    def advised(self, advice: WorkAdvice | None) -> None:  # noqa: B027 - most policies decide alone
        """What other nodes say about this work; None where there are none. Called after `offered`."""

    def following(self) -> Following | None:
        """What it tells other nodes about its own exploring; None for policies that decide alone."""
        return None

    @abstractmethod
    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """The setting for the next interval. `outlook` is the model's forecast, for policies that use a model."""

    def remembered(self) -> Memories:
        """What the policy wants to keep across a restart. Most policies keep nothing."""
        return {}

    def recall(self, memories: Memories) -> None:  # noqa: B027 - most policies keep nothing
        """Take over what `remembered` returned before a restart. This is called before the first window."""

    def resumed(self) -> None:  # noqa: B027 - most policies need not know
        """The target is busy again after an inactive stage. The next window is the first of the new stage."""
