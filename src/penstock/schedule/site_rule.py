"""The rule of a site: an allocation and a placement by name, what each needs to know, and what stands in for it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.placement import PLACERS

DEFAULT_ALLOCATION: Final = "idle-nodes"
DEFAULT_PLACEMENT = "greedy-non-clairvoyant"
ALLOCATION_FALLBACK = ("bestbdw", "static")
"""What stands in, in this order, for a rule that needs more than is known of a job. `static` needs only its nodes."""
PLACEMENT_FALLBACK = (DEFAULT_PLACEMENT,)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The name of a rule that can be used, and what was missing for the one that was asked for."""

    name: str
    missing: tuple[str, ...] = ()


def allocation_for(asked: str, facts: Collection[str]) -> Chosen:
    """The allocation to use for a job of which `facts` are known."""
    return _first([asked, *ALLOCATION_FALLBACK], {name: one.needs for name, one in ALLOCATORS.items()}, facts)


def placement_for(asked: str, facts: Collection[str]) -> Chosen:
    """The placement to use for jobs of which `facts` are known."""
    return _first([asked, *PLACEMENT_FALLBACK], {name: one.needs for name, one in PLACERS.items()}, facts)


def _first(names: list[str], needs: dict[str, frozenset[str]], facts: Collection[str]) -> Chosen:
    usable = next(name for name in names if needs[name] <= set(facts))
    return Chosen(usable, tuple(sorted(needs[names[0]] - set(facts))))
