"""One interval's decisions as a function of what is handed in: the loop makes them, and a replay makes them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.decide.fleet_advice import FleetAdvice
from penstock.decide.guard import Guard, NodeView
from penstock.decide.tuner import Tuner
from penstock.decision import Decision
from penstock.knobs import KnobSpace
from penstock.ports import SpaceOf
from penstock.snapshot import Target
from penstock.window import Void, Window


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A target of which everything learned was dropped; of one that is gone, by the guard too."""

    target: Target
    gone: bool

    def apply(self, tuner: Tuner, guard: Guard | None) -> None:
        """Drop it."""
        tuner.forget(self.target)
        if self.gone and guard is not None:
            guard.forget(self.target)


@dataclass(frozen=True, slots=True)
class IntervalInput:
    """What policy and guard are handed at `now_s`; what was `forgotten` before it is forgotten already.

    `advice` is what other nodes say; None where this node decides alone.
    """

    now_s: float
    windows: Sequence[Window | Void]
    forgotten: tuple[Forgotten, ...] = ()
    advice: FleetAdvice | None = None


View = Callable[[Sequence[Window | Void], Sequence[Decision]], NodeView]
KnownSpace = Callable[[Target], KnobSpace | None]


@dataclass(frozen=True, slots=True)
class IntervalDecisions:
    """One interval, what the guard was told of the node, and the decisions after its review."""

    interval: IntervalInput
    node: NodeView
    decisions: tuple[Decision, ...]
    #: Whether the model was asked through compiled code, which differs in the last digit.
    compiled: bool = False


class IntervalRecorder(Protocol):
    """Is shown what every interval's decisions were made from."""

    def take(self, decided: IntervalDecisions, carried_out: Sequence[Decision], known: KnownSpace) -> None:
        """Keep one interval. `known` answers the spaces that were asked for meanwhile, None for other targets."""
        ...

    def flush(self) -> None:
        """Write what waits."""
        ...


def decide(
    tuner: Tuner, guard: Guard | None, interval: IntervalInput, space_of: SpaceOf, view: View
) -> IntervalDecisions:
    """The decisions of one interval. The guard is optional, as in `Loop`."""
    decisions = tuner.step(interval.windows, space_of, interval.now_s, guard, interval.advice)
    node = view(interval.windows, decisions)
    if guard is not None:
        decisions = guard.review(interval.windows, decisions, space_of, node)
    return IntervalDecisions(interval, node, decisions)
