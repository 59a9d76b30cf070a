"""The window of an open file: how far readahead may go, and what is to be asked for next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.simulate.reading.access_pattern import Access, AccessPattern


@dataclass(frozen=True, slots=True)
class AheadLimits:
    """In blocks. A window is refilled once so much of it is free; from `async_from` on by a thread of its own."""

    rpc: int
    file: int
    whole: int
    async_from: int
    refill: int

    @property
    def step(self) -> int:
        """Windows end at multiples of this."""
        return max(1, min(self.rpc, self.file))


@dataclass(slots=True)
class AheadWindow:
    """The window grows by one RPC with every call that follows the last one, or keeps its stride.

    Other calls close it. `next` is the first block that was not asked for yet.
    """

    file_blocks: int
    pattern: AccessPattern = field(default_factory=AccessPattern)
    access: Access = Access.OTHER
    size: int = 0
    next: int = 0

    def note(self, first: int, blocks: int, limits: AheadLimits) -> None:
        """A call begins."""
        self.access = self.pattern.note(first, blocks)
        if self.access is Access.OTHER:
            self.size, self.next = 0, first
            return
        if self.pattern.calls > 1 and self.file_blocks <= limits.whole:
            # A small file is read whole.
            self.size = self.file_blocks
            return
        self.size = min(self.size + limits.rpc, limits.file)
        self.next = max(self.next, first)

    def wanted(self, limits: AheadLimits, most: int) -> list[int]:
        """The blocks to ask for next, in order, up to `most` of them."""
        source = self._strided() if self.access is Access.STRIDE else iter(range(self.next, self._end(limits)))
        return [block for block, _ in zip(source, range(most), strict=False)]

    def has_room(self, limits: AheadLimits) -> bool:
        """Whether enough of the window is free for a batch that is worth the trouble."""
        batch = max(limits.refill, limits.rpc)
        if self.access is Access.STRIDE:
            return self.size >= batch and len(self.wanted(limits, batch)) >= batch
        free = self.pattern.first + self.size - self.next
        return self.size > 0 and free >= batch and self.next < self.file_blocks

    def refills_itself(self, limits: AheadLimits) -> bool:
        """Whether another thread refills it: it is large enough when cut to whole RPCs, and has no stride."""
        return self.access is Access.SEQUENTIAL and 0 < limits.async_from <= self.size - self.size % limits.step

    def _end(self, limits: AheadLimits) -> int:
        """The end of the window, at a multiple of an RPC unless the file ends there."""
        end = self.pattern.first + self.size
        return self.file_blocks if end >= self.file_blocks else end - end % limits.step

    def _strided(self) -> Iterator[int]:
        """The blocks of the next strides that the window covers. It counts what is read, not what is left out."""
        pattern, covered = self.pattern, 0
        first, blocks = pattern.first + pattern.distance, pattern.end - pattern.first
        while covered < self.size and first < self.file_blocks:
            for block in range(first, min(first + blocks, self.file_blocks)):
                covered += 1
                if block >= self.next:
                    yield block
            first += pattern.distance
