"""One knob: which values it takes, what it is for, what it governs, and when a new value acts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import StrEnum

from penstock.errors import KnobError
from penstock.units import UNIT_BYTES


class Scope(StrEnum):
    """What one value of a knob governs."""

    TARGET = "target"
    MOUNT = "mount"
    NODE = "node"


class Acts(StrEnum):
    """When a new value starts to matter."""

    NOW = "now"
    NEW_OPENS = "on new opens"
    NEXT_MOUNT = "at the next mount"


class Role(StrEnum):
    """What a knob is for, in words that fit any file system: whoever must know asks for the role, not the id."""

    REQUEST_SIZE = "request size"
    IN_FLIGHT = "requests in flight"
    CACHE_LIMIT = "limit of unwritten data"


@dataclass(frozen=True, slots=True)
class Knob:
    """One tunable: the values worth trying, and the bounds the system itself sets.

    The bounds are those of what may be written; a side effect of another knob may pass them. What is written is
    rounded up to a multiple of `step`.
    """

    id: str
    values: tuple[int, ...]
    default: int
    unit: str
    floor: int
    ceiling: int
    scope: Scope = Scope.TARGET
    acts: Acts = Acts.NOW
    role: Role | None = None
    step: int = 1
    #: The directions whose data on its way it limits, as far as that is known beforehand.
    limits: tuple[str, ...] = ()
    #: The knob whose value bounds what is written here. Lowering that one lowers nothing.
    under: str = ""
    #: Whether policies turn it. What is not tried is shown, may be set by hand, and is given back.
    tried: bool = True

    def __post_init__(self) -> None:
        if not self.values or list(self.values) != sorted(set(self.values)):
            raise KnobError(f"knob {self.id}: values must be ascending and distinct, got {self.values}")
        if not self.floor <= self.values[0] <= self.values[-1] <= self.ceiling:
            raise KnobError(f"knob {self.id}: values {self.values} leave {self.floor}..{self.ceiling}")

    @property
    def unit_bytes(self) -> int:
        """How many bytes one unit is; 1 for what is merely counted."""
        return UNIT_BYTES.get(self.unit, 1)

    def nearest(self, value: int) -> int:
        """The index of the candidate nearest to a value, by ratio, because knobs act by ratio."""
        return min(
            range(len(self.values)), key=lambda i: abs(math.log(max(self.values[i], 1) / max(value, 1)))
        )

    def within(self, floor: int, ceiling: int) -> Knob:
        """This knob cut to tighter bounds; at least the candidate nearest to the range survives."""
        low, high = max(floor, self.floor), min(ceiling, self.ceiling)
        if low > high:
            raise KnobError(f"knob {self.id}: no value lies in {floor}..{ceiling}")
        kept = tuple(value for value in self.values if low <= value <= high)
        kept = kept or (min(max(self.values[self.nearest(low)], low), high),)
        return replace(self, values=kept, floor=low, ceiling=high, default=min(max(self.default, low), high))
