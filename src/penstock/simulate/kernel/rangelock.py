"""The OST's per-object write range lock of 2.14-2.15: from the first to the last fragment of an RPC.

Scattered write RPCs to one object overlap in range though not in pages, so they take turns. Contiguous RPCs of
one client never overlap: nothing needs checking while no scattered RPC is about.
"""

from __future__ import annotations

from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.records import NONE, World


@kernel
def _overlaps(w: World, r: int, earlier: int) -> bool:
    while earlier != NONE:
        if w.rpc.low[earlier] <= w.rpc.high[r] and w.rpc.low[r] <= w.rpc.high[earlier]:
            return True
        earlier = w.rpc.lock_prev[earlier]
    return False


@kernel
def lock_range(w: World, r: int) -> bool:
    """Queue for the range; true when it is held at once."""
    f = w.file.home[w.rpc.file[r]]
    scattered = w.rpc.fragments[r] > 1
    free = (w.file.locks_scattered[f] == 0 and not scattered) or not _overlaps(w, r, w.file.locked_tail[f])
    last = w.file.locked_tail[f]
    w.rpc.lock_prev[r] = last
    w.rpc.lock_next[r] = NONE
    if last == NONE:
        w.file.locked_head[f] = r
    else:
        w.rpc.lock_next[last] = r
    w.file.locked_tail[f] = r
    w.rpc.locked[r] = 1 if free else 0
    w.file.locks_scattered[f] += 1 if scattered else 0
    w.file.locks_waiting[f] += 0 if free else 1
    return free


@kernel
def unlock_range(w: World, r: int) -> None:
    """Leave the range; whoever can go on now is found with `next_unlocked`."""
    f = w.file.home[w.rpc.file[r]]
    before, after = w.rpc.lock_prev[r], w.rpc.lock_next[r]
    if before == NONE:
        w.file.locked_head[f] = after
    else:
        w.rpc.lock_next[before] = after
    if after == NONE:
        w.file.locked_tail[f] = before
    else:
        w.rpc.lock_prev[after] = before
    w.file.locks_scattered[f] -= 1 if w.rpc.fragments[r] > 1 else 0


@kernel
def next_unlocked(w: World, f: int) -> int:
    """The first waiter whose range no earlier RPC overlaps, now holding its lock; or none."""
    if w.file.locks_waiting[f] == 0:
        return NONE
    r = w.file.locked_head[f]
    while r != NONE:
        if w.rpc.locked[r] == 0 and not _overlaps(w, r, w.rpc.lock_prev[r]):
            w.rpc.locked[r] = 1
            w.file.locks_waiting[f] -= 1
            return r
        r = w.rpc.lock_next[r]
    return NONE
