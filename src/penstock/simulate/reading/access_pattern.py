"""Whether the calls on an open file are sequential, in strides, or neither."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# So many calls at the same distance make a stride.
STRIDES = 2


class Access(Enum):
    """How a call lies to those before it."""

    SEQUENTIAL = "sequential"
    STRIDE = "stride"
    OTHER = "other"


@dataclass(slots=True)
class AccessPattern:
    """The last call, and how often its distance to the one before has been seen."""

    first: int = 0
    end: int = 0
    calls: int = 0
    distance: int = 0
    repeats: int = 0

    def note(self, first: int, blocks: int) -> Access:
        """A call begins. Distances count forward only, and only between calls of one size."""
        sequential = first == self.end
        distance, same_size = first - self.first, blocks == self.end - self.first
        if sequential or distance <= 0 or not same_size:
            self.repeats = 0
        elif distance == self.distance:
            self.repeats += 1
        else:
            self.repeats = 1
        self.distance, self.first, self.end = distance, first, first + blocks
        self.calls += 1
        if sequential:
            return Access.SEQUENTIAL
        return Access.STRIDE if self.repeats > STRIDES else Access.OTHER
