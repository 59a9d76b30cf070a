"""The events of an agent's log: one frozen class a kind, how it is written, and how it is read back.

What is read is checked: a line that is damaged, hostile or of a kind unknown here is no event. Fields that earlier
versions did not write have defaults, and fields of later versions are ignored.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar

from penstock.decision_reasons import Reason
from penstock.knobs.target_kind import BYTES, MODIFY, OPERATIONS, QUERY, READ, WRITE

# The version of the log's format, told by every `StartEvent`. Version 1 did not tell it.
FORMAT = 2
# No event is of the year 5138 or later: such times cannot be shown everywhere.
LATEST_S = 1e11


class Checked:
    """What is read back has finite numbers only."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, bool]] = {"allow_inf_nan": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEvent(Checked):
    """Something that happened, at this wall-clock time."""

    kind: ClassVar[str]

    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEvent(LogEvent):
    """An agent started. `seed` names its run."""

    kind = "start"

    mode: str = ""
    policy: str = ""
    interval_s: float = 0.0
    seed: int | None = None
    format: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class StopEvent(LogEvent):
    """It stopped."""

    kind = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedEvent(LogEvent):
    """What an earlier run measured of a unit is known."""

    kind = "remembered"

    unit: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundEvent(LogEvent):
    """A target was found at the start. `why` says why it is left alone, if it is."""

    kind = "found"

    target: str
    fs: str = ""
    tuned: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedWindow(Checked):
    """An interval that a decision was made from."""

    t0: float
    t1: float
    setting: Mapping[str, int]
    metrics: Mapping[str, float | None]

    @property
    def rates(self) -> tuple[tuple[float, float], str]:
        """What was moved a second in each of two ways of work, the one that only looks first; and the unit."""
        seconds = self.t1 - self.t0
        counts = QUERY.moved in self.metrics or MODIFY.moved in self.metrics
        ways = (QUERY, MODIFY) if counts else (READ, WRITE)
        first, second = ((self.metrics.get(way.moved) or 0.0) / max(seconds, 1e-9) for way in ways)
        return (first, second) if seconds > 0 else (0.0, 0.0), OPERATIONS if counts else BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedMap(Checked):
    """What was expected of every candidate: a list a knob and a list a figure, in the order of the candidates."""

    knobs: Mapping[str, tuple[int, ...]]
    p: tuple[float, ...] = ()
    gain_log2: tuple[float, ...] = ()
    spread_log2: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOutlook(Checked):
    """What was expected: the best candidates in readable form, and the map of all where it is small enough."""

    direction: str = ""
    candidates: tuple[Mapping[str, float], ...] = ()
    map: LoggedMap | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionEvent(LogEvent):
    """A decision that wants a change, with what became of it once that is known.

    It is `pending` from before a knob moves until its outcome is written. `made` are the changes that happened; None
    in logs of the first version, which did not say.
    """

    kind = "decision"

    id: str
    target: str
    t_s: float = 0.0
    fs: str = ""
    resource: str = ""
    unit: str = ""
    work: str = ""
    before: Mapping[str, int] = field(default_factory=dict)
    wanted: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    made: tuple[str, ...] | None = None
    reason: str = ""
    sentence: str = ""
    evidence: Mapping[str, float] = field(default_factory=dict)
    confidence: float | None = None
    model: str | None = None
    actual: Mapping[str, int] | None = None
    error: str | None = None
    history: tuple[LoggedWindow, ...] = ()
    outlook: LoggedOutlook | None = None
    mode: str = ""
    jobs: tuple[str, ...] = ()
    pending: bool = False
    #: Whether a guard reviewed it; experiments may run without one.
    guarded: bool = True

    @property
    def outcome(self) -> str:
        """`made` (at least in part), `advised`, or `failed` if no knob was changed."""
        if self.made:
            return "made"
        if self.error:
            return "failed"
        if self.actual is None:
            return "advised"
        return "made" if self.made is None else "failed"

    @property
    def was_taken_back(self) -> bool:
        """Whether it undid a change that did harm."""
        return self.outcome == "made" and self.reason == Reason.GUARD_REVERT

    @property
    def is_look(self) -> bool:
        """Whether it only went to the original to measure it, or came back from there."""
        return self.reason in (Reason.GUARD_SWITCHBACK, Reason.GUARD_RETURN)

    @property
    def shown_changes(self) -> tuple[str, ...]:
        """The changes that happened, or else those that were wished for."""
        return self.made or self.changes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeEvent(LogEvent):
    """What became of a decision."""

    kind = "outcome"

    decision: str
    made: tuple[str, ...] = ()
    actual: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectEvent(LogEvent):
    """What a change brought against the original. `error` is the relative standard error; None if nobody knows it.

    `memory_bytes_per_s` were written over in memory and never had to be sent; `unsent_bytes` waited to be sent.
    """

    kind = "effect"

    decision: str
    target: str = ""
    before_bytes_per_s: float = 0.0
    after_bytes_per_s: float = 0.0
    gain: float | None = None
    error: float | None = None
    switchback: bool = False
    memory_bytes_per_s: float = 0.0
    unsent_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEvent(LogEvent):
    """The result of a switchback trial, with its 95 % interval."""

    kind = "trial"

    gain: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialForgottenEvent(LogEvent):
    """The result of the last trial was dropped."""

    kind = "trial_forgotten"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreEvent(LogEvent):
    """A target got its originals back."""

    kind = "restore"

    target: str
    actual: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class YieldEvent(LogEvent):
    """Knobs that somebody else has set, with their values."""

    kind = "yield"

    target: str
    knobs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBackEvent(LogEvent):
    """Knobs that are managed again, with their administrator's values as originals."""

    kind = "take_back"

    target: str
    knobs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent(LogEvent):
    """A job began or ended on this node."""

    kind = "job"

    job: str
    what: str
    user: str = ""
    hands_off: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetsEvent(LogEvent):
    """Targets of one file system vanished, came back or lost their server."""

    kind = "targets"

    what: str
    fs: str = ""
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSeenEvent(LogEvent):
    """What one kind of work did since the last such event, while nothing was tuned.

    `work` is its direction; as base-2 logarithms, `request_log2` is the size of its calls and `look` its requests in
    flight, bytes and seconds of a request; empty where that is not known. It was busy for `busy_s`.
    """

    kind = "work"

    fs: str = ""
    targets: str = ""
    work: str = ""
    request_log2: float | None = None
    home: Mapping[str, int] = field(default_factory=dict)
    look: tuple[float, ...] = ()
    busy_s: float = 0.0
    read_bytes: float = 0.0
    write_bytes: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlEvent(LogEvent):
    """Somebody commanded the agent."""

    kind = "control"

    verb: str
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DisturbedEvent(LogEvent):
    """Something was changed in a simulated world."""

    kind = "disturbed"

    sentence: str


KINDS: Mapping[str, type[LogEvent]] = {
    one.kind: one
    for one in (
        StartEvent, StopEvent, RememberedEvent, FoundEvent, DecisionEvent, OutcomeEvent, EffectEvent, TrialEvent,
        TrialForgottenEvent, RestoreEvent, YieldEvent, TakeBackEvent, JobEvent, TargetsEvent, WorkSeenEvent,
        ControlEvent, DisturbedEvent,
    )
}  # fmt: skip


def dump(event: LogEvent) -> dict[str, Any]:
    """An event as plain values for JSON."""
    return {"event": event.kind, **_plain(event)}


def parse(said: object) -> LogEvent | None:
    """The event that `dump` wrote; None for anything that is none, or of a kind unknown here."""
    if not isinstance(said, Mapping):
        return None
    kind = KINDS.get(said.get("event")) if isinstance(said.get("event"), str) else None  # type: ignore[arg-type]
    if kind is None:
        return None
    known = {one.name: said[one.name] for one in fields(kind) if one.name in said}
    try:
        event: LogEvent = _adapter(kind.kind).validate_python(known)
    except (ValueError, RecursionError, OverflowError):
        return None
    return event if all(abs(time_s) < LATEST_S for time_s in _times(event)) else None


def _times(event: LogEvent) -> Iterator[float]:
    """Every time that an event tells."""
    yield event.time_s
    if isinstance(event, DecisionEvent):
        yield event.t_s
        for window in event.history:
            yield from (window.t0, window.t1)


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value


@functools.cache
def _adapter(kind: str) -> Any:
    # Nobody who only writes a log shall wait for what checks one.
    from pydantic import TypeAdapter

    return TypeAdapter(KINDS[kind])
