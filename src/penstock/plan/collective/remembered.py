"""Results of earlier comparisons by command, so that the next run of the same command can use them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.errors import UsageError
from penstock.plan.hints import check_hint

VERDICTS = ("faster", "slower", "unclear")
MOST_REMEMBERED = 500


@dataclass(frozen=True, slots=True)
class PastComparison:
    """One comparison: the command, the hints it tried, and what it found."""

    command: tuple[str, ...]
    hints: dict[str, str]
    verdict: str
    gain: float
    certainty: float
    pairs: int
    when: float


def memory_path() -> Path:
    """The user's own state directory."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "penstock" / "compared.json"


def recall(command: Sequence[str], path: Path | None = None) -> PastComparison | None:
    """The last comparison of exactly this command, if there was one and its file can be read."""
    for one in reversed(_load(path or memory_path())):
        if one.command == tuple(command):
            return one
    return None


def remember(found: PastComparison, path: Path | None = None) -> Path:
    """Keep a comparison in place of an older one of the same command."""
    path = path or memory_path()
    kept = [one for one in _load(path) if one.command != found.command]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([asdict(one) for one in [*kept, found][-MOST_REMEMBERED:]], indent=1)
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(text + "\n", encoding="utf-8")
    fresh.replace(path)
    return path


def remembered_now(
    command: Sequence[str], hints: Mapping[str, str], figures: tuple[str, float, float, int]
) -> PastComparison:
    """A comparison made just now."""
    return PastComparison(tuple(command), dict(hints), *figures, time.time())


def _load(path: Path) -> list[PastComparison]:
    """The entries of the file. Entries that cannot be read are left out."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    found = []
    for entry in entries if isinstance(entries, list) else []:
        try:
            one = PastComparison(**{**entry, "command": tuple(entry["command"])})
            for name, value in one.hints.items():
                check_hint(name, value)
        except (TypeError, KeyError, AttributeError, UsageError):
            continue
        if one.verdict in VERDICTS:
            found.append(one)
    return found
