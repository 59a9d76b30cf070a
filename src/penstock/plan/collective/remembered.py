"""What was advised for a command, what that promised, and what `run --compare` then measured, within bounds."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError, UsageError
from penstock.output_files import replace_file
from penstock.plan.hints import check_hint

VERDICTS = ("faster", "slower", "unclear")
MOST_REMEMBERED = 500
MOST_OF_A_COMMAND = 20
MAX_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class PastComparison:
    """One comparison: the command, the hints it tried, what it found, and the gain promised of them beforehand.

    `promised` is None where nobody promised anything: the user chose the hints. `trusted` says that promises may be
    corrected by it; of comparisons that an older version kept that is not known.
    """

    command: tuple[str, ...]
    hints: dict[str, str]
    verdict: str
    gain: float
    certainty: float
    pairs: int
    when: float
    promised: float | None = None
    trusted: bool = False


def memory_path() -> Path:
    """The user's own state directory."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "penstock" / "compared.json"


def recall(command: Sequence[str], path: Path | None = None) -> PastComparison | None:
    """The last comparison of exactly this command, if there was one and its file can be read."""
    return next(reversed([one for one in history(path) if one.command == tuple(command)]), None)


def history(path: Path | None = None) -> list[PastComparison]:
    """Everything that is kept, oldest first. Entries that cannot be read are left out."""
    return _load(path or memory_path())


def remember(found: PastComparison, path: Path | None = None) -> Path:
    """Keep a comparison. The oldest of the same command go first where there are many, then the oldest of all."""
    path = path or memory_path()
    kept = _load(path)
    same = [one for one in kept if one.command == found.command]
    drop = same[: max(0, len(same) + 1 - MOST_OF_A_COMMAND)]
    return _store([*(one for one in kept if one not in drop), found][-MOST_REMEMBERED:], path)


def forget(command: Sequence[str] | None = None, path: Path | None = None) -> int:
    """Drop what is kept of a command, or everything; how many comparisons that were."""
    path = path or memory_path()
    kept = _load(path)
    left = [one for one in kept if command is not None and one.command != tuple(command)]
    if left:
        _store(left, path)
    else:
        path.unlink(missing_ok=True)
    return len(kept) - len(left)


def _store(entries: Sequence[PastComparison], path: Path) -> Path:
    text = json.dumps([asdict(one) for one in entries], indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text)
    except OSError as error:
        raise PenstockError(f"{path}: {error.strerror}: the comparison is not remembered") from None
    return path


@dataclass(frozen=True, slots=True)
class Measured:
    """What a comparison found: the verdict, how many times as fast, how certain, from how many pairs, if reliable."""

    verdict: str
    gain: float
    certainty: float
    pairs: int
    trusted: bool


def remembered_now(
    command: Sequence[str], hints: dict[str, str], found: Measured, promised: float | None
) -> PastComparison:
    """A comparison made just now."""
    figures = (found.verdict, found.gain, found.certainty, found.pairs)
    return PastComparison(tuple(command), dict(hints), *figures, time.time(), promised, found.trusted)


def _load(path: Path) -> list[PastComparison]:
    try:
        if path.stat().st_size > MAX_BYTES:
            return []
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    found = [_entry(entry) for entry in entries] if isinstance(entries, list) else []
    return [one for one in found if one is not None][-MOST_REMEMBERED:]


def _entry(entry: Any) -> PastComparison | None:
    """A comparison as it was stored; None where the entry is damaged or foreign."""
    try:
        one = PastComparison(**{**entry, "command": tuple(entry["command"])})
        for name, value in one.hints.items():
            check_hint(name, value)
        words = all(isinstance(word, str) for word in one.command)
        numbers = (one.gain, one.certainty, one.when, 1.0 if one.promised is None else one.promised)
        sane = all(math.isfinite(value) for value in numbers) and min(one.gain, numbers[3]) > 0
        sane = sane and isinstance(one.trusted, bool)
        return one if words and sane and one.verdict in VERDICTS and one.pairs > 0 else None
    except (TypeError, KeyError, AttributeError, UsageError):
        return None
