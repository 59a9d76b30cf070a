"""The access pattern of one collective write: which rank writes which bytes of the shared file."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import UsageError, did_you_mean

PATTERNS = ("contiguous", "strided")
MAX_RANKS = 1 << 24
MAX_TOTAL_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Access:
    """One collective write of `bytes_per_rank` by every rank, starting at byte 0 of the file.

    The file is a sequence of rows, and each row has one slot per rank. Block k of a rank lies in slot k * ranks +
    rank. After each block come `gap_bytes` that nobody writes. In a contiguous access every rank has one block. If
    the block size does not divide the bytes, the blocks of the last row are shorter.
    """

    ranks: int
    nodes: int
    bytes_per_rank: int
    block_bytes: int
    gap_bytes: int = 0

    @property
    def slot_bytes(self) -> int:
        """The distance from the start of one block to the start of the next."""
        return self.block_bytes + self.gap_bytes

    @property
    def rows(self) -> int:
        """The number of blocks per rank."""
        return -(-self.bytes_per_rank // self.block_bytes)

    @property
    def last_block_bytes(self) -> int:
        """The length of the blocks in the last row."""
        return self.bytes_per_rank - (self.rows - 1) * self.block_bytes

    @property
    def total_bytes(self) -> int:
        """What all ranks write together."""
        return self.ranks * self.bytes_per_rank

    @property
    def range_bytes(self) -> int:
        """From the first to one past the last byte written."""
        return (self.rows * self.ranks - 1) * self.slot_bytes + self.last_block_bytes

    @property
    def solid_bytes(self) -> int:
        """The length of the part without holes at the start of the file."""
        if self.gap_bytes:
            return min(self.block_bytes, self.range_bytes)
        if self.last_block_bytes == self.block_bytes:
            return self.range_bytes
        return (self.rows - 1) * self.ranks * self.slot_bytes + self.last_block_bytes

    @property
    def interleaved(self) -> bool:
        """Whether the ranges of ranks overlap. ROMIO then uses two-phase I/O by itself."""
        return self.rows > 1 and self.ranks > 1

    def first_data(self, offset: int) -> int:
        """The first written byte at or after the offset; the range's end when there is none."""
        if offset >= self.range_bytes:
            return self.range_bytes
        slot, inside = divmod(offset, self.slot_bytes)
        return offset if inside < self._block_of(slot) else (slot + 1) * self.slot_bytes

    def last_data(self, offset: int) -> int:
        """One past the last written byte before the offset, which lies after some written byte."""
        slot, inside = divmod(min(offset, self.range_bytes) - 1, self.slot_bytes)
        return slot * self.slot_bytes + min(inside + 1, self._block_of(slot))

    def covers(self, start: int, end: int) -> bool:
        """Whether every byte from start to before end is written."""
        if end <= self.solid_bytes:
            return True
        slot, inside = divmod(start, self.slot_bytes)
        return inside + (end - start) <= self._block_of(slot)

    def owners(self, start: int, end: int) -> int:
        """How many ranks write between two bytes, the first and last of which are written."""
        return min(self.ranks, (end - 1) // self.slot_bytes - start // self.slot_bytes + 1)

    def _block_of(self, slot: int) -> int:
        return self.block_bytes if slot // self.ranks < self.rows - 1 else self.last_block_bytes


@dataclass(frozen=True, slots=True)
class Shape:
    """How ranks share the file: the pattern's name with its block, as people give it."""

    pattern: str = "contiguous"
    block_bytes: int | None = None
    gap_bytes: int = 0


def make_access(ranks: int, bytes_per_rank: int, shape: Shape, nodes: int = 1) -> Access:
    """An access as a user describes it; refuses what no job can do, naming option and value."""
    if not 1 <= ranks <= MAX_RANKS:
        raise UsageError(f"--ranks {ranks}: a job has 1 to {MAX_RANKS} ranks")
    if not 1 <= nodes <= ranks:
        raise UsageError(f"--nodes {nodes}: {ranks} ranks run on 1 to {ranks} nodes")
    if bytes_per_rank < 1 or ranks * bytes_per_rank > MAX_TOTAL_BYTES:
        raise UsageError(f"--bytes-per-rank {bytes_per_rank}: must be positive, at most 1 EiB in all")
    return Access(ranks, nodes, bytes_per_rank, _block(bytes_per_rank, shape), shape.gap_bytes)


def _block(bytes_per_rank: int, shape: Shape) -> int:
    if shape.pattern not in PATTERNS:
        hint = did_you_mean(shape.pattern, PATTERNS)
        raise UsageError(f"--pattern {shape.pattern!r} is not contiguous or strided{hint}")
    if shape.gap_bytes < 0:
        raise UsageError(f"--gap {shape.gap_bytes}: must not be negative")
    if shape.pattern == "contiguous":
        if shape.block_bytes is not None or shape.gap_bytes:
            raise UsageError("--block and --gap describe a strided pattern; add --pattern strided")
        return bytes_per_rank
    if shape.block_bytes is None:
        raise UsageError("--pattern strided needs --block, the bytes a rank writes before the next rank's")
    if not 1 <= shape.block_bytes <= bytes_per_rank:
        raise UsageError(f"--block {shape.block_bytes}: a block has 1 to {bytes_per_rank} bytes here")
    return shape.block_bytes
