"""Knobs: what may be turned, over which values, where, and when a turn acts.

A file system arrives as one `KnobSpace` declaration (see `penstock.spaces`); everything between the rooms
speaks in knob ids and `Setting`s and knows nothing of the file system behind them.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, ItemsView, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar, overload

from penstock.errors import KnobError, did_you_mean

T = TypeVar("T")


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


class Setting(Mapping[str, int]):
    """An immutable, hashable assignment of values to knob ids.

    >>> Setting(pages=1024, flight=8).replace(flight=16)
    Setting(pages=1024, flight=16)
    """

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Mapping[str, int] | None = None, /, **knobs: int) -> None:
        self._values: dict[str, int] = {**(values or {}), **knobs}
        self._hash: int | None = None

    def __getitem__(self, knob_id: str) -> int:
        return self._values[knob_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    # A mapping gets these for nothing, but written in Python: settings are compared many times an interval.
    def __contains__(self, knob_id: object) -> bool:
        return knob_id in self._values

    def items(self) -> ItemsView[str, int]:
        """The knob ids and their values, in order."""
        return self._values.items()

    @overload
    def get(self, knob_id: str, /) -> int | None: ...
    @overload
    def get(self, knob_id: str, /, default: int | T) -> int | T: ...
    def get(self, knob_id: str, /, default: int | T | None = None) -> int | T | None:
        """A knob's value, or the default where the setting does not hold it."""
        return self._values.get(knob_id, default)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._values.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Setting):
            return self._values == other._values
        return super().__eq__(other)

    def __repr__(self) -> str:
        return f"Setting({', '.join(f'{k}={v}' for k, v in self._values.items())})"

    def __str__(self) -> str:
        return " ".join(f"{knob_id}={value}" for knob_id, value in self._values.items())

    def replace(self, values: Mapping[str, int] | None = None, /, **knobs: int) -> Setting:
        """This setting with some values exchanged; the rest, and the order, stay."""
        return Setting({**self._values, **(values or {}), **knobs})

    def only(self, *knob_ids: str) -> Setting:
        """The part of this setting that concerns the given knobs."""
        return Setting({knob_id: self._values[knob_id] for knob_id in knob_ids})


@dataclass(frozen=True, slots=True)
class Knob:
    """One tunable: the values worth trying, and the bounds the system itself sets."""

    id: str
    values: tuple[int, ...]
    default: int
    unit: str
    floor: int
    ceiling: int
    scope: Scope = Scope.TARGET
    acts: Acts = Acts.NOW

    def __post_init__(self) -> None:
        if not self.values or list(self.values) != sorted(set(self.values)):
            raise KnobError(f"knob {self.id}: values must be ascending and distinct, got {self.values}")
        if not self.floor <= self.values[0] <= self.values[-1] <= self.ceiling:
            raise KnobError(f"knob {self.id}: values {self.values} leave {self.floor}..{self.ceiling}")

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


@dataclass(frozen=True, slots=True)
class Coupling:
    """A side effect of the system itself: storing any of `when` recomputes `affects`."""

    when: frozenset[str]
    affects: str
    rule: Callable[[Setting], int]
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class KnobSpace:
    """The knobs of one kind of target, in the order in which they must be written.

    Couplings are functions, so two spaces are equal only if they are the same object.
    """

    name: str
    knobs: tuple[Knob, ...]
    couplings: tuple[Coupling, ...] = ()

    def __getitem__(self, knob_id: str) -> Knob:
        for knob in self.knobs:
            if knob.id == knob_id:
                return knob
        raise KnobError(f"{self.name} has no knob {knob_id!r}{did_you_mean(knob_id, self.ids)}")

    @property
    def ids(self) -> tuple[str, ...]:
        """The knob ids, in writing order."""
        return tuple(knob.id for knob in self.knobs)

    def covered_by(self, setting: Mapping[str, int]) -> bool:
        """Whether a setting has a value for every knob."""
        return all(knob.id in setting for knob in self.knobs)

    @property
    def default(self) -> Setting:
        """What the system ships with."""
        return Setting({knob.id: knob.default for knob in self.knobs})

    def grid(self, *knob_ids: str) -> tuple[Setting, ...]:
        """Every combination of the given knobs' candidates, the last knob varying fastest."""
        return _grid(self, knob_ids)

    def check(self, setting: Mapping[str, int]) -> None:
        """Raise `KnobError` unless every knob exists and every value lies within its bounds."""
        for knob_id, value in setting.items():
            knob = self[knob_id]
            if not knob.floor <= value <= knob.ceiling:
                raise KnobError(f"{knob_id}={value} is outside {knob.floor}..{knob.ceiling} {knob.unit}")

    def settle(self, before: Setting, wanted: Mapping[str, int]) -> Setting:
        """What is in force once `wanted` was written over `before` in order, side effects included."""
        self.check(wanted)
        now = before
        for knob_id in self.ids:
            if knob_id not in wanted:
                continue
            now = now.replace({knob_id: wanted[knob_id]})
            for coupling in self.couplings:
                if knob_id in coupling.when:
                    now = now.replace({coupling.affects: coupling.rule(now)})
        return now

    def neighbours(self, setting: Setting, *knob_ids: str) -> tuple[Setting, ...]:
        """The settings one candidate up or down along each given knob, upward steps first."""
        found = []
        for step in (1, -1):
            for knob_id in knob_ids:
                values = self[knob_id].values
                index = self[knob_id].nearest(setting[knob_id]) + step
                if 0 <= index < len(values):
                    found.append(setting.replace({knob_id: values[index]}))
        return tuple(found)


@functools.lru_cache(maxsize=64)
def _grid(space: KnobSpace, knob_ids: tuple[str, ...]) -> tuple[Setting, ...]:
    axes = [space[knob_id].values for knob_id in knob_ids]
    return tuple(Setting(dict(zip(knob_ids, point, strict=True))) for point in itertools.product(*axes))
