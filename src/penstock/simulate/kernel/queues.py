"""The lists an extent can stand in: high priority, urgent, full, and extents to read. All are first in, first out."""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.records import EXTENTS_FULL, NONE, World
from penstock.simulate.kernel.states import FREE, FULL, HIGH_PRIORITY, TO_READ, UNLISTED, URGENT


@kernel
def new_extent(w: World, f: int, start: int, pages: int, most_pages: int) -> int:
    """Take an extent from the pool; none when the pool is full."""
    e = w.sim.ext_free[0]
    if e == NONE:
        # Never used before: memory that no run needs stays untouched.
        e = w.sim.ext_used[0]
        if e >= w.extent.shape[0]:
            w.sim.full[0] = EXTENTS_FULL
            return NONE
        w.sim.ext_used[0] = e + 1
    else:
        w.sim.ext_free[0] = w.extent.next[e]
    lock = w.file.lock[f]
    w.extent.lock[e] = lock
    if lock != NONE:
        w.lock.extents[lock] += 1
    w.extent.file[e] = f
    w.extent.start[e] = start
    w.extent.pages[e] = pages
    w.extent.most_pages[e] = most_pages
    w.extent.kind[e] = UNLISTED
    w.extent.prev[e] = NONE
    w.extent.next[e] = NONE
    w.extent.grant_bytes[e] = 0
    w.extent.ready_us[e] = 0.0
    w.extent.awaited[e] = 0
    return e


@kernel
def free_extent(w: World, e: int) -> None:
    """Give an extent back to the pool."""
    w.extent.state[e] = FREE
    if w.extent.lock[e] != NONE:
        w.lock.extents[w.extent.lock[e]] -= 1
    if w.extent.awaited[e] == 1:
        w.file.awaited[w.extent.file[e]] -= 1
    w.extent.next[e] = w.sim.ext_free[0]
    w.sim.ext_free[0] = e


@kernel
def head_of(w: World, f: int, kind: int) -> int:
    """The extent that has stood longest in a list."""
    if kind == FULL:
        return w.file.full_head[f]
    if kind == URGENT:
        return w.file.urgent_head[f]
    if kind == TO_READ:
        return w.file.reading_head[f]
    return w.file.hp_head[f]


@kernel
def _tail_of(w: World, f: int, kind: int) -> int:
    if kind == FULL:
        return w.file.full_tail[f]
    if kind == URGENT:
        return w.file.urgent_tail[f]
    if kind == TO_READ:
        return w.file.reading_tail[f]
    return w.file.hp_tail[f]


@kernel
def _set_head(w: World, f: int, kind: int, e: int) -> None:
    if kind == FULL:
        w.file.full_head[f] = e
    elif kind == URGENT:
        w.file.urgent_head[f] = e
    elif kind == TO_READ:
        w.file.reading_head[f] = e
    else:
        w.file.hp_head[f] = e


@kernel
def _set_tail(w: World, f: int, kind: int, e: int) -> None:
    if kind == FULL:
        w.file.full_tail[f] = e
    elif kind == URGENT:
        w.file.urgent_tail[f] = e
    elif kind == TO_READ:
        w.file.reading_tail[f] = e
    else:
        w.file.hp_tail[f] = e


@kernel
def enlist(w: World, e: int, kind: int) -> None:
    """Put an extent at the end of a list of its file."""
    f = w.extent.file[e]
    last = _tail_of(w, f, kind)
    w.extent.kind[e] = kind
    w.extent.prev[e] = last
    w.extent.next[e] = NONE
    if last == NONE:
        _set_head(w, f, kind, e)
    else:
        w.extent.next[last] = e
    _set_tail(w, f, kind, e)
    if kind == HIGH_PRIORITY:
        w.osc.high_priority[w.file.osc[f]] += 1


@kernel
def delist(w: World, e: int) -> None:
    """Take an extent out of whatever list it stands in."""
    kind = w.extent.kind[e]
    if kind == UNLISTED:
        return
    f = w.extent.file[e]
    before, after = w.extent.prev[e], w.extent.next[e]
    if before == NONE:
        _set_head(w, f, kind, after)
    else:
        w.extent.next[before] = after
    if after == NONE:
        _set_tail(w, f, kind, before)
    else:
        w.extent.prev[after] = before
    w.extent.kind[e] = UNLISTED
    if kind == HIGH_PRIORITY:
        w.osc.high_priority[w.file.osc[f]] -= 1
