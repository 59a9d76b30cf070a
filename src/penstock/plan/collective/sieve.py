"""Independent strided writes: the storage calls of one rank when no aggregator works for it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.collective.access import Access


@dataclass(frozen=True, slots=True)
class RankWork:
    """One rank's storage calls."""

    writes: int
    written_bytes: int
    reads: int


def rank_writes(access: Access, sieve_bytes: int) -> RankWork:
    """The calls of one rank. All ranks make the same.

    A single block is one call. Several blocks are sieved: buffers are read, patched and written. Without a sieving
    buffer every block is one call.

    A sieving buffer starts at the first block that the last buffer did not hold, or continues where the last one
    ended inside a block. If the file ends inside a buffer, ROMIO makes one more call. That call is not counted,
    because it depends on the progress of other ranks.
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
