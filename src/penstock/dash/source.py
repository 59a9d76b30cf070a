"""What the page can be opened over: one small port, a module for each kind of source.

A source is asked by `look`, again and again while somebody has the page open, and never otherwise. All time is in
seconds of the source's own clock: wall time for a node, virtual time for the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.errors import UsageError


@dataclass(frozen=True, slots=True)
class About:
    """What kind of source this is, in words for the page.

    `live` sources bring something new with every look; `virtual` ones have a clock of their own that starts at 0.
    `can` lists what may be asked of it beside looking; it is empty for a source that cannot be changed.
    """

    kind: str
    title: str
    live: bool
    virtual: bool = False
    period_s: float = 1.0
    can: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One target over one interval that ended at `t_s`; `setting` is what was in force then."""

    t_s: float
    target: str
    read_bytes_per_s: float
    write_bytes_per_s: float
    setting: Mapping[str, int]
    #: What the same target of an untuned twin got meanwhile; only the simulator knows.
    twin_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """What is new since the last look.

    `events` are what an agent's log holds (see `penstock.agent.log`). `status` is the answer of `penstock agent
    status`, None where nobody runs. `effect` is the headline where the source knows better than its events.
    """

    now_s: float
    points: Sequence[Point] = ()
    events: Sequence[Mapping[str, Any]] = ()
    status: Mapping[str, Any] | None = None
    effect: Mapping[str, Any] | None = None
    #: Why there is nothing to see, where that is so.
    trouble: str | None = None
    #: Whatever came before belongs to another run and is forgotten.
    anew: bool = False
    #: What only the simulator has: its choices and what disturbs it.
    extra: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """Something the page is opened over. Called from one thread at a time."""

    @property
    def about(self) -> About:
        """What it is."""
        ...

    def look(self) -> Look:
        """What is new. Never raises for a node that is in trouble: that is something to show."""
        ...

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        """A decision that its events do not hold; None where there is none."""
        ...

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Carry out one of `about.can`. Raises `PenstockError` where that is refused."""
        ...

    def close(self) -> None:
        """Let go of everything."""
        ...


class ReadOnly:
    """What a source does that can only be looked at."""

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        """Its events hold everything."""
        return None

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """There is nothing to change."""
        raise UsageError(f"{verb}: there is nothing to change here")

    def close(self) -> None:
        """Nothing is held."""
