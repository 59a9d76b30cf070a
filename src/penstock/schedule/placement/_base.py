"""The interface of a placer: it gives each application distinct resource ids."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random
from typing import ClassVar

from penstock.schedule.allocation import Sharing

Placement = tuple[tuple[int, ...], ...]


class Placer(ABC):
    """Decides which resources each application uses, given how many."""

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]

    @abstractmethod
    def place(self, sharing: Sharing, counts: Sequence[int], rng: Random) -> Placement:
        """Ids in ascending order, as many as its count for each application, in file order.

        Applications that already run (`Sharing.held`) stay where they are and count as users.
        """
