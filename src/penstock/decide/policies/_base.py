"""What every policy is: one window in, one proposal out, for one target."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import ClassVar

from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window

RPC_KNOBS = ("pages", "flight")


@dataclass(frozen=True, slots=True)
class Proposal:
    """The setting a policy would like, and why. The window's own setting means: leave it.

    A policy that is not `decided` leaves it for now only, until it has seen more.
    """

    setting: Setting
    reason: str
    sentence: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    decided: bool = True


class Policy(ABC):
    """Chooses settings for one target. All chance comes from `rng`, all time from the windows.

    A policy sees every busy window of its target in order and may keep what it learned from them; equal
    windows and an equal seed give equal proposals. It proposes only settings its space allows. The agent always
    runs it under the guard; experiments do so if it is `guarded`, that is, made to be. If it works `in_crews`,
    targets of one mount that write together have one policy together (see `penstock.decide.crew`).
    """

    name: ClassVar[str]
    uses_model: ClassVar[bool] = False
    model_kind: ClassVar[str] = "forest"
    tunes_cache: ClassVar[bool] = False
    guarded: ClassVar[bool] = False
    in_crews: ClassVar[bool] = False

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        self.space = space
        self.rng = rng

    @abstractmethod
    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """The setting for the next interval; `outlook` is what the model says, for policies that use one."""

    def resumed(self) -> None:  # noqa: B027 - most policies need not know
        """The target is busy again after an inactive stage; the next window is its first active one."""
