"""The decision log: JSON lines, rotated, readable to its last whole line whatever happened to the writer."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.decision import Decision, Outlook, Receipt
from penstock.errors import AccessError, PenstockError

MODE = 0o640
MOST_CANDIDATES = 10


@dataclass(slots=True)
class DecisionLog:
    """Appends one line per event. A full disk or a lost directory costs lines, never the agent."""

    path: Path
    max_bytes: int = 10_000_000
    keep: int = 5
    lost: int = 0

    def append(self, event: Mapping[str, Any]) -> None:
        """Write one line in a single call, so that readers never see two halves of different events."""
        line = (json.dumps(event, allow_nan=False, separators=(",", ":")) + "\n").encode()
        try:
            self._rotate(len(line))
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, MODE)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError:
            self.lost += 1

    def _rotate(self, coming_bytes: int) -> None:
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size + coming_bytes <= self.max_bytes:
            return
        for number in range(self.keep - 1, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.replace(self.path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.replace(self.path.with_name(f"{self.path.name}.1"))


def read_log(path: Path, keep: int = 5) -> Iterator[dict[str, Any]]:
    """Every whole event, oldest first, rotated files included; a torn last line is left out."""
    rotated = [path.with_name(f"{path.name}.{number}") for number in range(keep, 0, -1)]
    for part in [*rotated, path]:
        try:
            raw = part.read_bytes()
        except FileNotFoundError:
            continue
        except PermissionError:
            raise AccessError(f"{part}: permission denied") from None
        except OSError as error:
            raise PenstockError(f"{part}: {error.strerror}") from None
        yield from _events(raw)


def _events(raw: bytes) -> Iterator[dict[str, Any]]:
    for line in raw.split(b"\n")[:-1]:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def decision_event(decision: Decision, receipt: Receipt | None, wall_s: float) -> dict[str, Any]:
    """A decision as the log and `penstock agent explain` show it."""
    return {
        "event": "decision",
        "id": decision.id,
        "time_s": wall_s,
        "t_s": decision.t_s,
        "target": decision.target.name,
        "fs": decision.target.fs,
        "before": dict(decision.before),
        "wanted": dict(decision.wanted),
        "changes": [str(change) for change in decision.changes],
        "reason": decision.reason,
        "sentence": decision.sentence,
        "evidence": dict(decision.evidence),
        "confidence": decision.confidence,
        "model": decision.model,
        "actual": dict(receipt.actual) if receipt is not None else None,
        "error": receipt.error if receipt is not None else None,
        "history": [
            {"t0": w.t0_s, "t1": w.t1_s, "setting": dict(w.setting), "metrics": dict(w.metrics)}
            for w in decision.history
        ],
        "outlook": _outlook_event(decision.outlook) if decision.outlook is not None else None,
    }


def _outlook_event(outlook: Outlook) -> dict[str, Any]:
    """The best candidates are enough to read; with the history the model gives all of them again."""
    ranked = sorted(range(len(outlook.candidates)), key=lambda at: -outlook.probabilities[at])
    return {
        "direction": outlook.direction,
        "candidates": [_candidate_event(outlook, at) for at in ranked[:MOST_CANDIDATES]],
    }


def _candidate_event(outlook: Outlook, at: int) -> dict[str, float]:
    found = {**outlook.candidates[at], "p": float(outlook.probabilities[at])}
    if outlook.gains:
        found |= {"gain_log2": float(outlook.gains[at]), "spread_log2": float(outlook.spreads[at])}
    return found
