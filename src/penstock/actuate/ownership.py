"""Decides whose value is in force: ours, the original, or somebody else's. Pure functions of journal entries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from penstock.actuate.detour import writes_to
from penstock.actuate.journal import Entry
from penstock.knobs import KnobSpace, Setting


def reachable(space: KnobSpace, before: Setting, goal: Setting) -> dict[str, frozenset[int]]:
    """Every value a knob can have between `before` and `goal`, and on the way back from any point in between."""
    found: dict[str, set[int]] = {knob_id: {before[knob_id]} for knob_id in space.ids}
    for there in _path(space, before, goal):
        for state in (there, *_path(space, there, before)):
            for knob_id in space.ids:
                found[knob_id].add(state[knob_id])
    return {knob_id: frozenset(values) for knob_id, values in found.items()}


def _path(space: KnobSpace, start: Setting, goal: Setting) -> Iterator[Setting]:
    now = start
    for knob_id in space.ids:
        if knob_id in goal:
            for written, value in writes_to(space, now, knob_id, goal[knob_id]):
                now = space.store(now, written, value)
                yield now


def merged(
    one: Mapping[str, frozenset[int]], other: Mapping[str, frozenset[int]]
) -> dict[str, frozenset[int]]:
    """The union of both sets of possible values, for each knob."""
    return {
        knob_id: one.get(knob_id, frozenset()) | other.get(knob_id, frozenset()) for knob_id in (*one, *other)
    }


def reconcile(entry: Entry, now: Setting, space: KnobSpace) -> Entry:
    """The entry, updated to the values found in force.

    A value that is neither original nor ours is the administrator's. It becomes the original, and the knob
    is the administrator's until it is given back. A value that the system computed because somebody changed another
    knob belongs to nobody and is undone with the rest.
    """
    original, possible, manual = entry.original, dict(entry.possible), set(entry.manual)
    left = entry.actual or entry.original
    moved = [knob_id for knob_id in space.ids if now[knob_id] != left[knob_id]]
    foreign = [
        knob_id
        for knob_id in space.ids
        if now[knob_id] != original[knob_id] and now[knob_id] not in possible.get(knob_id, ())
    ]
    made = {one for one in foreign if now[one] in recomputed(space, entry, now, one, moved)}
    if made == set(moved):
        # Each would follow from the other, but somebody must have begun.
        made -= _begun(space, entry, now, made)
    for knob_id in foreign:
        value = now[knob_id]
        if knob_id in made:
            possible[knob_id] = possible.get(knob_id, frozenset()) | {value}
            continue
        manual.add(knob_id)
        possible[knob_id] = frozenset()
        # What their value rules out would be ruled out had nothing else ever been set.
        original = space.bounded(original.replace({knob_id: value}), knob_id)
    return replace(entry, original=original, possible=possible, manual=frozenset(manual))


def _begun(space: KnobSpace, entry: Entry, now: Setting, moved: Set[str]) -> Set[str]:
    """The knobs whose store alone explains what all have now, from any state we may have left; else all of them."""
    had = {
        one: {value} if one in entry.manual else entry.possible.get(one) or {value}
        for one, value in entry.original.items()
    }
    states = (Setting(dict(zip(had, values, strict=True))) for values in itertools.product(*had.values()))
    left = [state for state in states if space.stays(state)]
    return {one for one in moved if any(space.store(state, one, now[one]) == now for state in left)} or moved


def recomputed(
    space: KnobSpace, entry: Entry, now: Setting, knob_id: str, moved: Sequence[str]
) -> frozenset[int]:
    """The values that a side effect can have given a knob while others were changed to their present values.

    The others may have been changed one after the other, so each counts with every value it had in between.
    """
    had = {
        other: entry.possible.get(other, frozenset()) | {now[other], entry.original[other]} for other in now
    }
    had[knob_id] -= {now[knob_id]}
    made: set[int] = set()
    for coupling in space.couplings:
        if coupling.affects == knob_id and coupling.when & set(moved):
            axes = [[(other, value) for value in values] for other, values in had.items()]
            made.update(coupling.rule(Setting(dict(point))) for point in itertools.product(*axes))
    return frozenset(made)
