"""An assignment of values to knobs, and nothing else."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from typing import TypeVar, overload

T = TypeVar("T")


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

    def __reduce__(self) -> tuple[type[Setting], tuple[dict[str, int]]]:
        # A hash of strings is another one in every process, so it does not travel.
        return Setting, (self._values,)

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
