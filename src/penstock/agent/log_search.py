"""Finds one decision in the log, reading from the newest line backwards, a bounded piece at a time."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.agent.log import parse_line, settled, unsettled
from penstock.agent.rotated_file import numbered
from penstock.errors import AccessError, MissingError, PenstockError
from penstock.events import DecisionEvent, EffectEvent, OutcomeEvent
from penstock.threads import CoreShare

LAST = "last"
PIECE_BYTES = 1 << 18
# No event is longer. A line beyond it is passed over, whoever wrote it.
MOST_LINE_BYTES = 4 << 20
DEADLINE_S = 4.0


@dataclass(frozen=True, slots=True)
class FoundDecision:
    """A decision with its outcome, and the effect of it that is known."""

    decision: DecisionEvent
    effect: EffectEvent | None


def explain(
    path: Path, name: str, *, keep: int = 5, deadline_s: float = DEADLINE_S, pace: CoreShare | None = None
) -> FoundDecision:
    """One decision with its outcome and its effect: the newest whose id begins so, or the newest of all (`last`).

    `pace` slows a search down that runs beside the control loop. Raises `MissingError` if there is none, and
    `PenstockError` if the search takes longer than it may.
    """
    sought = _Search(name)
    ends_s = time.monotonic() + deadline_s
    for line in _lines_backwards(path, keep):
        if line is None:
            if pace is not None:
                pace.rest()
            if time.monotonic() > ends_s:
                raise PenstockError(
                    f"{path}: too long to search just now; ask again, or name a newer decision"
                )
        elif (found := sought.take(line)) is not None:
            return found
    what = "no decision yet" if name == LAST else f"no decision {name!r}"
    raise MissingError(f"{what} in {path}")


class _Search:
    """Takes lines from the newest on. What follows a decision in the log comes first here."""

    def __init__(self, name: str) -> None:
        self._name = name
        # As JSON spells it. A line without it is not parsed.
        self._spelled = b"" if name == LAST else json.dumps(name)[1:-1].encode()
        self._outcomes: dict[str, OutcomeEvent] = {}
        self._effects: dict[str, EffectEvent] = {}

    def take(self, line: bytes) -> FoundDecision | None:
        if not (self._name and self._spelled in line):
            return None
        event = parse_line(line)
        if isinstance(event, DecisionEvent) and self._is_meant(event.id):
            return self._told(event)
        if isinstance(event, OutcomeEvent) and self._is_meant(event.decision):
            self._outcomes.setdefault(event.decision, event)
        elif isinstance(event, EffectEvent) and self._is_meant(event.decision):
            self._effects.setdefault(event.decision, event)
        return None

    def _is_meant(self, decision_id: str) -> bool:
        return self._name == LAST or decision_id.startswith(self._name)

    def _told(self, decision: DecisionEvent) -> FoundDecision:
        outcome = self._outcomes.get(decision.id)
        if decision.pending:
            decision = unsettled(decision) if outcome is None else settled(decision, outcome)
        return FoundDecision(decision, self._effects.get(decision.id))


def _lines_backwards(path: Path, keep: int) -> Iterator[bytes | None]:
    """Every whole line, the newest first, and None after each piece that was read."""
    for part in (path, *(numbered(path, number) for number in range(1, keep + 1))):
        try:
            descriptor = os.open(part, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        except PermissionError:
            raise AccessError(f"{part}: permission denied") from None
        except OSError as error:
            raise PenstockError(f"{part}: {error.strerror}") from None
        try:
            yield from _pieces_backwards(descriptor)
        finally:
            os.close(descriptor)


def _pieces_backwards(descriptor: int) -> Iterator[bytes | None]:
    end = os.fstat(descriptor).st_size
    rest, whole, too_long = b"", False, False
    while end > 0:
        start = max(0, end - PIECE_BYTES)
        first, *others = (os.pread(descriptor, end - start, start) + rest).split(b"\n")
        if others:
            # What follows the last newline of a file is a line that somebody still writes.
            last = others.pop()
            if whole and not too_long:
                yield last
            whole, too_long = True, False
            yield from reversed(others)
        rest = first
        if len(rest) > MOST_LINE_BYTES:
            rest, too_long = b"", True
        end = start
        yield None
    if whole and rest and not too_long:
        yield rest
