"""The interface of an allocator: it gives each application a number of I/O resources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from penstock.schedule.sharing import Sharing


@dataclass(frozen=True, slots=True)
class Allocation:
    """Counts in file order. `placement` is set only by an allocator that also places."""

    counts: tuple[int, ...]
    placement: tuple[tuple[int, ...], ...] | None = None


class Allocator(ABC):
    """Decides how many resources each application uses. Every count is in 1 .. its demand's limit.

    Applications that already run (`Sharing.held`) keep what they have.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    """What must be known of each application: of `nodes`, `volume`, `compute`, `best-count`, `curve`."""
    places: ClassVar[bool] = False
    """Whether it also decides which resources each application uses."""

    @abstractmethod
    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """The counts for all applications together."""
