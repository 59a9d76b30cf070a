"""Table II of the paper as advice: which heuristics to use, given what is known of the applications.

The order of preference comes from the study (docs/explanation/scheduling.md), not from the paper alone.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from penstock.errors import UsageError, did_you_mean
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.placement import PLACERS
from penstock.schedule.site_rule import ALLOCATION_FALLBACK, DEFAULT_ALLOCATION, PLACEMENT_FALLBACK

KNOWLEDGE = {
    "nodes": ("easy", "compute nodes of each application, from the resource manager"),
    "volume": ("medium", "bytes each application moves, from Darshan or the user"),
    "compute": ("medium", "compute time of each application, from Darshan or the user"),
    "best-count": ("medium", "number of resources at which each application is fastest"),
    "family": ("medium", "kind of each curve: ascent, descent, peak or neutral, and one bandwidth"),
    "curve": ("hard", "bandwidth of each application at every number of resources"),
}
PREFERRED = ("balance", "tcpu", "bestbdw", "nsys", "static", "random")
REASONS = {
    "balance": "it weighs congestion against speed and had the lowest slowdown and idle time in the study",
    "tcpu": "it keeps the I/O system from saturating and favours large applications",
    "bestbdw": "it is the best choice that needs no curves; at a high load it congests the system",
    "nsys": "it burdens the I/O system least",
    "static": "it needs only the size of each application; good for idle time at a high load, poor for users",
    "random": "nothing is known, and any fixed number would be a guess too",
}


@dataclass(frozen=True, slots=True)
class Guidance:
    """The heuristics to use, why, and what more knowledge would allow."""

    allocation: str
    placement: str
    reason: str
    usable: tuple[str, ...]
    missing: tuple[tuple[str, tuple[str, ...]], ...]
    fallback: tuple[str, ...] = ALLOCATION_FALLBACK
    """What `advise` uses, in this order, where the rule of the site needs more than is known of a job."""
    placement_fallback: tuple[str, ...] = PLACEMENT_FALLBACK
    one_by_one: str = ""
    """What `advise` should use for jobs that arrive one by one; the rest is about whole sets of jobs."""


def guide(known: Collection[str]) -> Guidance:
    """The best heuristics for what is known. A curve's family can stand in for the curve."""
    for word in known:
        if word not in KNOWLEDGE:
            legal = ", ".join(KNOWLEDGE)
            raise UsageError(f"{word!r} is not one of {legal}{did_you_mean(word, KNOWLEDGE)}")
    facts = implied(known)
    usable = tuple(name for name in PREFERRED if ALLOCATORS[name].needs <= facts)
    better = PREFERRED[: PREFERRED.index(usable[0])]
    missing = tuple((name, tuple(sorted(ALLOCATORS[name].needs - facts))) for name in better)
    reason = REASONS[usable[0]]
    if "family" in known and "curve" not in known and "curve" in ALLOCATORS[usable[0]].needs:
        reason += "; with families in place of curves it lost a fifth of that and still beat tcpu with curves"
    return Guidance(usable[0], place_by(usable[0]), reason, usable, missing, one_by_one=_one_by_one(facts))


def _one_by_one(facts: Collection[str]) -> str:
    lacks = sorted(ALLOCATORS[DEFAULT_ALLOCATION].needs - set(facts))
    told = f"{DEFAULT_ALLOCATION}, the default of a site file, which weighs each job against those that run"
    return f"{told}; it also needs {', '.join(lacks)}" if lacks else told


def implied(known: Collection[str]) -> frozenset[str]:
    """Everything that follows from what is known: a family gives a curve, a curve gives its best count."""
    facts = set(known)
    if "family" in facts:
        facts.add("curve")
    if "curve" in facts:
        facts.add("best-count")
    return frozenset(facts)


def place_by(allocation: str) -> str:
    """The placement to use with an allocation. Counting applications works as well as knowing their load."""
    return "greedy-non-clairvoyant" if allocation in ALLOCATORS else next(iter(PLACERS))
