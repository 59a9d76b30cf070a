"""The interface of a source: what the page shows. Each kind of source has its own module.

`look` is called repeatedly while a browser has the page open, and never otherwise. Times are in seconds of the
source's own clock: wall time for a node, virtual time for the simulator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.errors import UsageError
from penstock.events import LogEvent
from penstock.knobs.target_kind import BYTES
from penstock.window import Window


@dataclass(frozen=True, slots=True)
class About:
    """The kind of a source, in words for the page.

    A `live` source has something new on every poll. A `virtual` one has its own clock, which starts at 0. `can` lists
    the commands that it accepts; it is empty for a read-only source.
    """

    kind: str
    title: str
    live: bool
    virtual: bool = False
    period_s: float = 1.0
    can: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """One interval of one target that ended at `t_s`, with the setting in force at that time.

    The rates are those of its kind's two ways of work, the one that only looks first, in its `unit` a second.
    """

    t_s: float
    target: str
    first_per_s: float
    second_per_s: float
    setting: Mapping[str, int]
    #: The throughput of the same target in the untuned twin. Only the simulator knows it.
    twin_per_s: float | None = None
    unit: str = BYTES


def point_of(window: Window, t_s: float, twin_per_s: float | None = None) -> Point:
    """The point of a window that ended at this time of the source's own clock."""
    first, second = (window.rate(way.moved) for way in window.ways)
    target = window.target
    return Point(t_s, target.name, first, second, window.setting, twin_per_s, target.kind.unit)


@dataclass(frozen=True, slots=True)
class Look:
    """What is new since the last poll.

    `events` are events of an agent's log. `status` is the answer of `penstock agent
    status`, or None if no agent runs. `effect` is the headline, if the source knows it better than its events do.
    """

    now_s: float
    points: Sequence[Point] = ()
    events: Sequence[LogEvent] = ()
    status: Mapping[str, Any] | None = None
    effect: Mapping[str, Any] | None = None
    #: Why there is nothing to show, if so.
    trouble: str | None = None
    #: Whether everything shown so far belongs to another run and must be dropped.
    anew: bool = False
    #: The simulator's own state: what can be chosen, and what disturbs it.
    extra: Mapping[str, Any] = field(default_factory=dict)


class Source(Protocol):
    """Something the page shows. It is called from one thread at a time."""

    @property
    def about(self) -> About: ...

    def look(self) -> Look:
        """What is new since the last call.

        It does not raise if a node is in trouble, but returns that as something to show.
        """
        ...

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        """A decision that the events do not contain, or None if there is none.

        Raises `PenstockError` if that could not be found out.
        """
        ...

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Carry out one of `about.can`. Raises `PenstockError` if the command is refused."""
        ...

    def close(self) -> None:
        """Release all resources."""
        ...


class ReadOnly:
    """The methods of a source that accepts no commands."""

    def explain(self, decision_id: str) -> Mapping[str, Any] | None:
        return None

    def command(self, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        raise UsageError(f"{verb}: there is nothing to change here")

    def close(self) -> None:
        """Nothing to release."""
