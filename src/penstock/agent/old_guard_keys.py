"""Keys of `[guard]` that an earlier version knew. They are still read; one line each says what became of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.config import layered

#: Key -> the key that took its place, which means the same.
RENAMED = {"loss_share": "price"}
#: Key -> what became of it. Its value is not used.
GONE = {
    "loss_window_s": "price counts over any ten minutes of a target's work",
    "hold_s": "nothing waits after a change that did harm; price limits what such changes cost",
    "hold_most_s": "nothing waits after a change that did harm; price limits what such changes cost",
    "forgive_s": "nothing waits after a change that did harm, so there is nothing to forgive",
}
#: Key -> what it means now. Said only beside keys of the earlier version: a file without any is of this one.
CHANGED = {
    "reference_error": "it no longer refuses anything; where the original is known less well it is seen for longer"
}


def modernised(guard: Mapping[str, Any]) -> dict[str, Any]:
    """The same table in the keys of this version. A new key wins over the old one that it replaced."""
    known = {key: value for key, value in guard.items() if key not in RENAMED and key not in GONE}
    for old, new in RENAMED.items():
        if old in guard:
            known.setdefault(new, guard[old])
    return known


def old_key_notes(path: Path | None) -> tuple[str, ...]:
    """One sentence for each key of a configuration, its drop-ins included, that is of the earlier version."""
    guard = layered(path).get("guard") if path is not None else None
    if not isinstance(guard, dict) or not guard.keys() & (RENAMED.keys() | GONE.keys()):
        return ()
    return tuple(_note(f"{path}: key 'guard.{key}'", key, guard) for key in guard if _is_old(key))


def _is_old(key: str) -> bool:
    return key in RENAMED or key in GONE or key in CHANGED


def _note(where: str, key: str, guard: Mapping[str, Any]) -> str:
    if key in RENAMED:
        new = RENAMED[key]
        if new in guard:
            return f"{where} is of an earlier version and not used, because '{new}' is given; remove it"
        return f"{where} is of an earlier version: it is read as '{new}'; rename it"
    if key in GONE:
        return f"{where} is of an earlier version and not used: {GONE[key]}; remove it"
    return f"{where} means something else than in the earlier version: {CHANGED[key]}"
