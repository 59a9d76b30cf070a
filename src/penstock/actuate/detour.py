"""How to reach a value that nobody may write as things are: by storing other knobs before.

Storing a Lustre RPC knob can raise max_dirty_mb beyond the most that may be written there. An administrator who moves
an RPC knob up and down again leaves such a limit behind. It is never changed, because nothing brings it back for
sure: a server that comes back with smaller requests may rule out every way. Earlier versions did change it, so a
restore knows the way.
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Iterator, Sequence

from penstock.knobs import Knob, KnobSpace, Setting

Writes = tuple[tuple[str, int], ...]


def writes_to(space: KnobSpace, now: Setting, knob_id: str, value: int) -> Writes:
    """The stores that bring one knob to a value, or to the most that may be written if nothing leads there.

    The knobs under which it lies are raised meanwhile where the value passes them, from the outermost inwards. They
    are put back in the other order, because what lies between may pass the outermost, too.
    """
    if not arises_only(space, knob_id, value):
        passed: list[str] = []
        outer = space[knob_id].under
        while outer and value > now[outer]:
            passed.append(outer)
            outer = space[outer].under
        raised = ((one, value) for one in reversed(passed))
        return (*raised, (knob_id, value), *((one, now[one]) for one in passed))
    found = _detour(space, now, knob_id, value)
    return ((knob_id, space[knob_id].ceiling),) if found is None else found


def arises_only(space: KnobSpace, knob_id: str, value: int) -> bool:
    """Whether a value is beyond what may be written, so that only a side effect can make it."""
    affected = any(coupling.affects == knob_id for coupling in space.couplings)
    return affected and value > space[knob_id].ceiling


@functools.lru_cache(maxsize=256)
def _detour(space: KnobSpace, now: Setting, knob_id: str, value: int) -> Writes | None:
    """The stores of other knobs that give this one its value and end where they began; None if there are none."""
    if now[knob_id] == value:
        return ()
    # Side effects only raise a limit, so one that is too high is lowered first.
    first: Writes = ((knob_id, space[knob_id].ceiling),) if now[knob_id] > value else ()
    wanted = now.replace({knob_id: value})
    for writes in _stores(space, _after(space, now, first), knob_id, value):
        if _after(space, now, (*first, *writes)) == wanted:
            return (*first, *writes)
    return None


def _stores(space: KnobSpace, now: Setting, knob_id: str, value: int) -> Iterator[Writes]:
    """Candidates: one cause moved and moved back, then two."""
    couplings = (coupling for coupling in space.couplings if coupling.affects == knob_id)
    causes = [space[cause] for coupling in couplings for cause in coupling.when]
    causes.sort(key=lambda cause: (cause.ceiling, cause.id))
    for cause in causes:
        for level in _levels(space, now, knob_id, cause, value):
            yield (cause.id, level), (cause.id, now[cause.id])
    for one, other in itertools.combinations(causes, 2):
        for held in range(one.ceiling, one.floor - 1, -one.step):
            high = space.store(now, one.id, held)
            for level in _levels(space, high, knob_id, other, value):
                there, back = (one.id, held), (one.id, now[one.id])
                yield there, (other.id, level), (other.id, now[other.id]), back


def _levels(space: KnobSpace, now: Setting, knob_id: str, cause: Knob, value: int) -> Sequence[int]:
    """The lowest value of a cause that raises the knob far enough, if there is one."""
    levels = range(cause.floor, cause.ceiling + 1, cause.step)
    at = bisect.bisect_left(levels, value, key=lambda level: space.store(now, cause.id, level)[knob_id])
    return levels[at : at + 1]


def _after(space: KnobSpace, now: Setting, writes: Writes) -> Setting:
    for knob_id, value in writes:
        now = space.store(now, knob_id, value)
    return now
