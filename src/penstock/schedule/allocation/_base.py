"""The interface of an allocator: it gives each application a number of I/O resources."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from penstock.schedule.demand import Demand


@dataclass(frozen=True, slots=True)
class Allocation:
    """Counts in file order. `placement` is set only by an allocator that also places."""

    counts: tuple[int, ...]
    placement: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Sharing:
    """The input of an allocator: the platform and every application's demand, in file order."""

    resources: int
    compute_nodes: int
    demands: Sequence[Demand]


class Allocator(ABC):
    """Decides how many resources each application uses. Every count is in 1 .. its demand's limit."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    """What must be known of each application: of `nodes`, `volume`, `compute`, `best-count`, `curve`."""

    @abstractmethod
    def allocate(self, sharing: Sharing, rng: Random) -> Allocation:
        """The counts for all applications together."""
