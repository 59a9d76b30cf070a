"""Whose value is in force: ours, the original, or somebody else's. Pure reasoning about journal entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from penstock.actuate.files import Connection
from penstock.actuate.journal import Entry
from penstock.knobs import KnobSpace, Setting


def store(space: KnobSpace, now: Setting, knob_id: str, value: int, chunk_pages: int = 1) -> Setting:
    """What one write leaves in force, rounding and side effects included, whatever the bounds say."""
    if knob_id == "pages":
        value = -(-value // chunk_pages) * chunk_pages
    now = now.replace({knob_id: value})
    for coupling in space.couplings:
        if knob_id in coupling.when:
            now = now.replace({coupling.affects: coupling.rule(now)})
    return now


def reachable(
    space: KnobSpace, before: Setting, goal: Setting, chunk_pages: int = 1
) -> dict[str, frozenset[int]]:
    """Every value a knob can hold between `before` and `goal`, and on the way back from any point between."""
    found: dict[str, set[int]] = {knob_id: {before[knob_id]} for knob_id in space.ids}
    for there in _path(space, before, goal, chunk_pages):
        for state in (there, *_path(space, there, before, chunk_pages)):
            for knob_id in space.ids:
                found[knob_id].add(state[knob_id])
    return {knob_id: frozenset(values) for knob_id, values in found.items()}


def _path(space: KnobSpace, start: Setting, goal: Setting, chunk_pages: int) -> Iterator[Setting]:
    now = start
    for knob_id in space.ids:
        if knob_id in goal:
            now = store(space, now, knob_id, goal[knob_id], chunk_pages)
            yield now


def merged(
    one: Mapping[str, frozenset[int]], other: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int]]:
    """Both sets of possible values, knob by knob."""
    return {
        knob_id: one.get(knob_id, frozenset()) | other.get(knob_id, frozenset()) for knob_id in (*one, *other)
    }


def reconcile(entry: Entry, now: Setting, connection: Connection, space: KnobSpace) -> Entry:
    """The entry brought up to what is found in force.

    A reconnect is applied to originals and possible values alike: what the server took from everybody is a
    new baseline. A value that is neither original nor ours is its administrator's: it becomes the original
    and the knob is theirs until given back.
    """
    entry = _reconnected(entry, now, connection, space)
    original, possible, manual = entry.original, dict(entry.possible), set(entry.manual)
    for knob_id, value in now.items():
        ours = possible.get(knob_id, frozenset())
        if knob_id in manual and value not in ours:
            original = original.replace({knob_id: value})
        elif value != original[knob_id] and value not in ours:
            manual.add(knob_id)
            possible[knob_id] = frozenset()
            original = original.replace({knob_id: value})
    return replace(entry, original=original, possible=possible, manual=frozenset(manual))


def _reconnected(entry: Entry, now: Setting, connection: Connection, space: KnobSpace) -> Entry:
    """A server that lowers its bulk size silently cuts max_pages_per_rpc; connecting recomputes the rest."""
    same = connection.generation == entry.generation and connection.brw_pages == entry.brw_pages
    if connection.generation is None or connection.brw_pages is None or same:
        return entry
    limit = connection.brw_pages
    original = entry.original.replace(pages=min(entry.original["pages"], limit))
    possible = dict(entry.possible)
    pages = possible.get("pages", frozenset())
    possible["pages"] = pages | {min(value, limit) for value in pages}
    dirty = possible.get("dirty", frozenset())
    recomputed = {
        store(space, now.replace(dirty=value), "pages", now["pages"])["dirty"]
        for value in dirty | {entry.original["dirty"]}
    }
    if now["dirty"] not in dirty | {original["dirty"]} and now["dirty"] in recomputed:
        original = store(space, original, "pages", original["pages"])
        possible["dirty"] = dirty | {now["dirty"]}
    return replace(
        entry,
        original=original,
        possible=possible,
        generation=connection.generation,
        brw_pages=connection.brw_pages,
    )
