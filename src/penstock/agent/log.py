"""The decision log: JSON lines with rotation. Every complete line is readable, whatever happened to the writer.

A decision that changes a knob is logged before the knob is written. Its outcome follows as a separate line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.agent.rotated_file import RotatedFile, parts
from penstock.decision import Decision, Outlook, Receipt, made

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

    def append(self, event: Mapping[str, Any]) -> bool:
        """Write one line. Returns false if it could not be written."""
        return self.append_all([event])[0]

    def append_all(self, events: Sequence[Mapping[str, Any]]) -> list[bool]:
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
        self._waiting: dict[str, dict[str, Any]] = {}

    def take(self, lines: bytes) -> Iterator[dict[str, Any]]:
        """The events that these complete lines finish, in order."""
        for event in _events(lines):
            kind = event.get("event")
            if kind == "decision" and event.get("pending"):
                self._waiting[str(event.get("id"))] = event
            elif kind == "outcome":
                decision = self._waiting.pop(str(event.get("decision")), None)
                if decision is not None:
                    yield settled(decision, event)
            else:
                if kind == "start":
                    yield from self.rest()
                    self._waiting.clear()
                yield event

    def rest(self) -> Iterator[dict[str, Any]]:
        """The decisions that still wait for their outcome."""
        yield from map(unsettled, self._waiting.values())


def read_log(path: Path, keep: int = 5) -> Iterator[dict[str, Any]]:
    """Every complete event, oldest first, including rotated files. An incomplete last line is left out.

    A decision comes with its outcome; see `Settler`.
    """
    settler = Settler()
    for raw in parts(path, keep):
        yield from settler.take(raw)
    yield from settler.rest()


def settled(decision: Mapping[str, Any], outcome: Mapping[str, Any]) -> dict[str, Any]:
    """A decision with its outcome."""
    known = {key: value for key, value in decision.items() if key != "pending"}
    return {**known, **{key: outcome.get(key) for key in ("made", "actual", "error")}}


def unsettled(decision: Mapping[str, Any]) -> dict[str, Any]:
    """A decision whose outcome nobody wrote."""
    return {**decision, "error": "its outcome is not in the log"}


def _line(event: Mapping[str, Any]) -> bytes | None:
    """One event as a line, or nothing if it cannot be written as JSON."""
    try:
        return (json.dumps(event, allow_nan=False, separators=(",", ":")) + "\n").encode()
    except (ValueError, TypeError, RecursionError):
        return None


def _events(raw: bytes) -> Iterator[dict[str, Any]]:
    for line in raw.split(b"\n")[:-1]:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def decision_event(decision: Decision, wall_s: float) -> dict[str, Any]:
    """A decision as it is logged before it is carried out."""
    return {
        "event": "decision",
        "id": decision.id,
        "time_s": wall_s,
        "t_s": decision.t_s,
        "target": decision.target.name,
        "fs": decision.target.fs,
        "resource": decision.target.resource,
        "unit": decision.unit,
        "work": decision.work,
        "before": dict(decision.before),
        "wanted": dict(decision.wanted),
        "changes": [str(change) for change in decision.changes],
        "made": [],
        "reason": decision.reason,
        "sentence": decision.sentence,
        "evidence": dict(decision.evidence),
        "confidence": decision.confidence,
        "model": decision.model,
        "actual": None,
        "error": None,
        "history": [
            {"t0": w.t0_s, "t1": w.t1_s, "setting": dict(w.setting), "metrics": dict(w.metrics)}
            for w in decision.history
        ],
        "outlook": _outlook_event(decision.outlook),
    }


def outcome_event(decision: Decision, receipt: Receipt, wall_s: float) -> dict[str, Any]:
    """The outcome of a decision. `read_log` combines the two."""
    return {
        "event": "outcome",
        "time_s": wall_s,
        "decision": decision.id,
        "made": [str(change) for change in made(decision, receipt)],
        "actual": dict(receipt.actual),
        "error": receipt.error,
    }


def _outlook_event(outlook: Outlook | None) -> dict[str, Any] | None:
    """The best candidates in readable form, and for all candidates what is needed to draw the map.

    The outlook of a survey holds cases only. Their meaning for each candidate is computed by the policy.
    """
    worth = (outlook.gains or outlook.probabilities) if outlook is not None else ()
    if outlook is None or not worth:
        return None
    ranked = sorted(range(len(outlook.candidates)), key=lambda at: -worth[at])
    return {
        "direction": outlook.direction,
        "candidates": [_candidate_event(outlook, at) for at in ranked[:MOST_CANDIDATES]],
        "map": _map_event(outlook) if len(outlook.candidates) <= MOST_MAPPED else None,
    }


def _map_event(outlook: Outlook) -> dict[str, Any]:
    """One list per knob and per figure, in the order of the candidates, with few digits to save space."""
    candidates = outlook.candidates
    return {
        "knobs": {knob_id: [setting[knob_id] for setting in candidates] for knob_id in candidates.ids},
        "p": [round(float(p), 3) for p in outlook.probabilities],
        "gain_log2": [round(float(gain), 3) for gain in outlook.gains],
        "spread_log2": [round(float(spread), 3) for spread in outlook.spreads],
    }


def _candidate_event(outlook: Outlook, at: int) -> dict[str, float]:
    found = {**outlook.candidates[at], "p": float(outlook.probabilities[at])}
    if outlook.gains:
        found |= {"gain_log2": float(outlook.gains[at]), "spread_log2": float(outlook.spreads[at])}
    return found
