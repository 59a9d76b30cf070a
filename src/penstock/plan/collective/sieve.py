"""Independent strided writes: what one rank does when no aggregator works for it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.collective.access import Access


@dataclass(frozen=True, slots=True)
class RankWork:
    """One rank's storage calls."""

    writes: int
    written_bytes: int
    reads: int


def rank_writes(access: Access, rank: int, sieve_bytes: int) -> RankWork:
    """A rank's calls: one for one block; else buffers read, patched and written; without buffer, each block.

    A sieving buffer starts at a block that the last one did not hold, or goes on where the last one ended
    inside one. Where the file ends inside a buffer ROMIO asks once more, which is not counted: it depends on
    how far the other ranks have come.
    """
    if access.rows == 1:
        return RankWork(1, access.bytes_per_rank, 0)
    if not sieve_bytes:
        return RankWork(access.rows, access.bytes_per_rank, 0)
    stride = access.ranks * access.slot_bytes
    end = (access.rows - 1) * stride + access.last_block_bytes
    position, calls, moved = 0, 0, 0
    while position < end:
        size = min(sieve_bytes, end - position)
        calls, moved = calls + 1, moved + size
        position = _next(access, position + size, stride)
    return RankWork(calls, moved, calls)


def _next(access: Access, position: int, stride: int) -> int:
    """The first byte of this rank at or after the position, in the rank's own range."""
    row, inside = divmod(position, stride)
    block = access.block_bytes if row < access.rows - 1 else access.last_block_bytes
    return position if inside < block else (row + 1) * stride
