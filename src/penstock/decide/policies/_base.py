"""What every policy is: one window in, one proposal out, for one target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, ClassVar

from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window

if TYPE_CHECKING:
    from penstock.decide.memory import Memories


@dataclass(frozen=True, slots=True)
class Proposal:
    """The setting a policy would like, and why. The window's own setting means: leave it.

    A policy that is not `decided` leaves it for now only, until it has seen more. `outlook` is what the policy itself
    believes of the candidates, where it believes something else than the model it was handed.
    """

    setting: Setting
    reason: str
    sentence: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    decided: bool = True
    outlook: Outlook | None = None


class Policy(ABC):
    """Chooses settings for one target. All chance comes from `rng`, all time from the windows.

    A policy sees every busy window of its target in order and may keep what it learned from them; equal
    windows and an equal seed give equal proposals. It proposes only settings its space allows. The agent always
    runs it under the guard; experiments do so if it is `guarded`, that is, made to be. If it works `in_groups`,
    targets of one mount that do the same kind of work have one policy together (see `penstock.decide.groups`).

    A window may show a setting the policy did not ask for: a change was refused or taken back, or the guard measures
    the original for a moment and brings the policy's setting back by itself.
    """

    name: ClassVar[str]
    uses_model: ClassVar[bool] = False
    model_kind: ClassVar[str] = "forest"
    tunes_cache: ClassVar[bool] = False
    #: Whether sharing the cache anew never takes from a target at work, only from idle ones.
    spares_busy: ClassVar[bool] = False
    #: Whether the cache is shared out exactly as CARAT's Algorithm 2 prints it, over the node's budget if need be.
    cache_as_printed: ClassVar[bool] = False
    #: Whether a model that was never trained on what a target does is overruled: the setting stays.
    vetoes: ClassVar[bool] = True
    guarded: ClassVar[bool] = False
    in_groups: ClassVar[bool] = False

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        self.space = space
        self.rng = rng
        #: The original setting of the target, or of a group's first member, where it is known.
        self.home: Setting | None = None

    @abstractmethod
    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """The setting for the next interval; `outlook` is what the model says, for policies that use one."""

    def remembered(self) -> Memories:
        """What each setting was measured to bring, to be recalled after a restart; most policies keep nothing."""
        return {}

    def recall(self, memories: Memories) -> None:  # noqa: B027 - most policies keep nothing
        """What was `remembered` of this work before a restart; handed over before the first window."""

    def resumed(self) -> None:  # noqa: B027 - most policies need not know
        """The target is busy again after an inactive stage; the next window is its first active one."""
