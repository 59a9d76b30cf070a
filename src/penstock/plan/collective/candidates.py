"""The hints to compare, with the two choices that are always included."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.plan.collective.access import Access
from penstock.plan.collective.romio import NO_HINTS, Hints, two_phase
from penstock.units import KIB, MIB

RULE_BUFFER_BYTES = MIB
LEAST_BUFFER_BYTES = 128 * KIB
MOST_BUFFER_BYTES = 64 * MIB
MOST_AGGREGATORS_SHOWN = 4096


@dataclass(frozen=True, slots=True)
class Candidate:
    """Hints and their name: `none`, `rule`, or the values."""

    name: str
    hints: Hints


def fixed_rule(access: Access) -> Hints:
    """The rule of thumb: every rank aggregates, with a buffer of 1 MiB."""
    return two_phase(access.ranks, RULE_BUFFER_BYTES, access)


def candidates(access: Access) -> list[Candidate]:
    """No hints, the fixed rule, and every sensible combination of aggregators and buffer size.

    A buffer larger than an aggregator's share of the file changes nothing but memory. So the list ends with the first
    buffer that holds the whole share.
    """
    found = {NO_HINTS: "none", fixed_rule(access): "rule"}
    for aggregators in aggregator_counts(access):
        share = -(-access.range_bytes // aggregators)
        buffer_bytes = LEAST_BUFFER_BYTES
        while buffer_bytes <= MOST_BUFFER_BYTES:
            hints = two_phase(aggregators, buffer_bytes, access)
            found.setdefault(hints, f"{aggregators}x{buffer_bytes}")
            if buffer_bytes >= share:
                break
            buffer_bytes *= 2
    return [Candidate(name, hints) for hints, name in found.items()]


def aggregator_counts(access: Access) -> tuple[int, ...]:
    """Powers of two below the ranks, one and two a node, and all ranks."""
    most = min(access.ranks, MOST_AGGREGATORS_SHOWN)
    powers = {1 << power for power in range(most.bit_length()) if 1 << power < access.ranks}
    return tuple(sorted(powers | {access.ranks, access.nodes, min(2 * access.nodes, access.ranks)}))
