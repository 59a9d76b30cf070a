"""The decision log: JSON lines with rotation. Every complete line is readable, whatever happened to the writer.

A decision that changes a knob is logged before the knob is written. Its outcome follows as a separate line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.agent.rotated_file import RotatedFile, parts
from penstock.decide.guard import Effect
from penstock.decision import Decision, Outlook, Receipt, made
from penstock.decision_reasons import Reason
from penstock.events import (
    DecisionEvent,
    EffectEvent,
    LogEvent,
    LoggedMap,
    LoggedOutlook,
    LoggedWindow,
    OutcomeEvent,
    StartEvent,
    dump,
    parse,
)

MOST_CANDIDATES = 10
# The map of a larger knob space is left out, so that a log line stays within a few kilobytes.
MOST_MAPPED = 256


@dataclass(slots=True)
class DecisionLog:
    """Appends one line per event. A full disk or a missing directory loses lines, but never stops the agent."""

    path: Path
    max_bytes: int = 10_000_000
    keep: int = 5
    lost: int = 0

    def append(self, event: LogEvent) -> bool:
        """Write one line. Returns false if it could not be written."""
        return self.append_all([event])[0]

    def append_all(self, events: Sequence[LogEvent]) -> list[bool]:
        """Write several lines in a single call. Returns for each whether it is in the log."""
        lines = [_line(event) for event in events]
        whole = b"".join(line for line in lines if line is not None)
        written = not whole or self._write(whole)
        self.lost += sum(line is None or not written for line in lines)
        return [line is not None and written for line in lines]

    def _write(self, lines: bytes) -> bool:
        file = RotatedFile(self.path, self.max_bytes, self.keep)
        return file.make_room(len(lines)) and file.append(lines, lines=True)


class Settler:
    """Combines each decision with its outcome, however far apart their lines are.

    A decision without an outcome stays marked as `pending` with an error that says so. The agent may have died before
    it could write the outcome, or it is about to write it.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, DecisionEvent] = {}

    def take(self, lines: bytes) -> Iterator[LogEvent]:
        """The events that these complete lines finish, in order."""
        for event in _events(lines):
            if isinstance(event, DecisionEvent) and event.pending:
                self._waiting[event.id] = event
            elif isinstance(event, OutcomeEvent):
                decision = self._waiting.pop(event.decision, None)
                if decision is not None:
                    yield settled(decision, event)
            else:
                if isinstance(event, StartEvent):
                    yield from self.rest()
                    self._waiting.clear()
                yield event

    def rest(self) -> Iterator[DecisionEvent]:
        """The decisions that still wait for their outcome."""
        yield from map(unsettled, self._waiting.values())


def read_log(path: Path, keep: int = 5) -> Iterator[LogEvent]:
    """Every complete event, oldest first, including rotated files. What is damaged or unknown is left out.

    A decision comes with its outcome; see `Settler`.
    """
    settler = Settler()
    for raw in parts(path, keep):
        yield from settler.take(raw)
    yield from settler.rest()


def settled(decision: DecisionEvent, outcome: OutcomeEvent) -> DecisionEvent:
    """A decision with its outcome."""
    return replace(decision, made=outcome.made, actual=outcome.actual, error=outcome.error, pending=False)


def unsettled(decision: DecisionEvent) -> DecisionEvent:
    """A decision whose outcome nobody wrote."""
    return replace(decision, error="its outcome is not in the log")


def parse_line(line: bytes) -> LogEvent | None:
    """The event of one line; None where it holds none."""
    try:
        return parse(json.loads(line))
    except (ValueError, RecursionError):
        return None


def _line(event: LogEvent) -> bytes | None:
    """One event as a line, or nothing if it cannot be written as JSON."""
    try:
        return (json.dumps(dump(event), allow_nan=False, separators=(",", ":")) + "\n").encode()
    except (ValueError, TypeError, RecursionError):
        return None


def _events(raw: bytes) -> Iterator[LogEvent]:
    for line in raw.split(b"\n")[:-1]:
        event = parse_line(line)
        if event is not None:
            yield event


def decision_event(
    decision: Decision, wall_s: float, mode: str = "", jobs: Iterable[str] = ()
) -> DecisionEvent:
    """A decision as it is logged before it is carried out."""
    return DecisionEvent(
        id=decision.id,
        time_s=wall_s,
        t_s=decision.t_s,
        target=decision.target.name,
        fs=decision.target.fs,
        resource=decision.target.resource,
        unit=decision.unit,
        work=decision.work,
        before=decision.before,
        wanted=decision.wanted,
        changes=tuple(str(change) for change in decision.changes),
        made=(),
        reason=decision.reason,
        sentence=decision.sentence,
        evidence=decision.evidence,
        confidence=decision.confidence,
        model=decision.model,
        history=tuple(
            LoggedWindow(t0=w.t0_s, t1=w.t1_s, setting=w.setting, metrics=w.metrics) for w in decision.history
        ),
        outlook=_logged_outlook(decision.outlook),
        mode=mode,
        jobs=tuple(jobs),
    )


def outcome_event(decision: Decision, receipt: Receipt, wall_s: float) -> OutcomeEvent:
    """The outcome of a decision. `read_log` combines the two."""
    return OutcomeEvent(
        time_s=wall_s,
        decision=decision.id,
        made=tuple(str(change) for change in made(decision, receipt)),
        actual=receipt.actual,
        error=receipt.error,
    )


def unlogged(decision: Decision) -> Decision:
    """A decision to change nothing, because the one to change something cannot be written down."""
    wished = ", ".join(map(str, decision.changes))
    sentence = f"not done, because the log cannot be written (wished: {wished})"
    return replace(decision, wanted=decision.before, reason=Reason.NOT_LOGGED, sentence=sentence)


def effect_event(effect: Effect, wall_s: float) -> EffectEvent:
    """What the guard found a change to bring."""
    return EffectEvent(
        time_s=wall_s,
        decision=effect.decision_id,
        target=effect.target.name,
        before_bytes_per_s=effect.before_bytes_per_s,
        after_bytes_per_s=effect.after_bytes_per_s,
        gain=effect.gain,
        error=effect.error,
        switchback=effect.switchback,
        memory_bytes_per_s=effect.memory_bytes_per_s,
        unsent_bytes=effect.unsent_bytes,
    )


def _logged_outlook(outlook: Outlook | None) -> LoggedOutlook | None:
    """The best candidates in readable form, and for all candidates what is needed to draw the map.

    The outlook of a survey holds cases only. Their meaning for each candidate is computed by the policy.
    """
    worth = (outlook.gains or outlook.probabilities) if outlook is not None else ()
    if outlook is None or not worth:
        return None
    ranked = sorted(range(len(outlook.candidates)), key=lambda at: -worth[at])
    return LoggedOutlook(
        direction=outlook.direction,
        candidates=tuple(_candidate(outlook, at) for at in ranked[:MOST_CANDIDATES]),
        map=_logged_map(outlook) if len(outlook.candidates) <= MOST_MAPPED else None,
    )


def _logged_map(outlook: Outlook) -> LoggedMap:
    """One list per knob and per figure, in the order of the candidates, with few digits to save space."""
    candidates = outlook.candidates
    return LoggedMap(
        knobs={knob_id: tuple(setting[knob_id] for setting in candidates) for knob_id in candidates.ids},
        p=tuple(round(float(p), 3) for p in outlook.probabilities),
        gain_log2=tuple(round(float(gain), 3) for gain in outlook.gains),
        spread_log2=tuple(round(float(spread), 3) for spread in outlook.spreads),
    )


def _candidate(outlook: Outlook, at: int) -> dict[str, float]:
    found: dict[str, float] = {**outlook.candidates[at], "p": float(outlook.probabilities[at])}
    if outlook.gains:
        found |= {"gain_log2": float(outlook.gains[at]), "spread_log2": float(outlook.spreads[at])}
    return found
