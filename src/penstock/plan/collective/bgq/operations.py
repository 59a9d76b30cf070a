"""Counts the operations of one collective write by the paper's Blue Gene/Q driver, its errata fixed.

Three slips of the printed formulas are corrected: messages of the shuffle have min(s_p, s_cb) bytes, not
min(s_t, s_cb); with no complete round the only round is the locking one and is counted once; the incomplete
last round costs a partial write in both formulas.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import UsageError

MB = 10**6
CORES = 16
BRIDGES_PER_PARTITION = 8
PARTITION_NODES = 128
NODE_COUNTS = (128, 256, 512)
RANK_BYTES = tuple(size * MB for size in (1, 2, 4, 8, 16, 32, 64, 96, 128, 196, 256))
BUFFER_BYTES = tuple(size * MB for size in (8, 16, 32))
PER_PSET = (4, 16, 64)


@dataclass(frozen=True, slots=True)
class BgqInstance:
    """A job of the paper's grid: nodes, and bytes each of their 16 processes writes."""

    nodes: int
    bytes_per_rank: int

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.bytes_per_rank < 1:
            raise UsageError(f"{self.nodes} nodes with {self.bytes_per_rank} bytes a rank cannot write")

    @property
    def ranks(self) -> int:
        """One process a core."""
        return self.nodes * CORES


@dataclass(frozen=True, slots=True)
class BgqHints:
    """The two hints of the paper; the defaults are the driver's."""

    per_pset: int = 64
    buffer_bytes: int = 16 * MB

    def aggregators(self, nodes: int) -> int:
        """n_a, the paper's Equation 2."""
        return (self.per_pset + 1) * BRIDGES_PER_PARTITION * nodes // PARTITION_NODES


@dataclass(frozen=True, slots=True)
class BgqSwitches:
    """Effects the model can be asked to leave out: locking in the first round, topology-aware aggregators."""

    locking: bool = True
    topology_aware: bool = True


@dataclass(frozen=True, slots=True)
class BgqTerm:
    """An elemental operation with its sizes, and how often it is done."""

    operation: str
    times: int
    nodes: int
    senders: float
    receivers: float
    bytes: int


def rounds(instance: BgqInstance, hints: BgqHints) -> tuple[int, int, int]:
    """Complete rounds, whether an incomplete one follows (0 or 1), and its bytes."""
    total = instance.ranks * instance.bytes_per_rank
    capacity = hints.aggregators(instance.nodes) * hints.buffer_bytes
    complete, left = divmod(total, capacity)
    return complete, int(left > 0), left


def terms(instance: BgqInstance, hints: BgqHints, switches: BgqSwitches | None = None) -> list[BgqTerm]:
    """Every operation of one collective write."""
    switches = BgqSwitches() if switches is None else switches
    return [*_communication(instance, hints), *_storage(instance, hints, switches)]


def _communication(instance: BgqInstance, hints: BgqHints) -> Iterator[BgqTerm]:
    nodes, ranks = instance.nodes, instance.ranks
    aggregators = hints.aggregators(nodes)
    complete, incomplete, left = rounds(instance, hints)
    yield BgqTerm("allreduce", 1, nodes, ranks, ranks, 16 * ranks)
    yield BgqTerm("allreduce", 1, nodes, ranks, ranks, 4)
    yield BgqTerm("alltoall", 1 + complete + incomplete, nodes, ranks, ranks, 4)
    yield BgqTerm("alltoallv", 1, nodes, ranks, aggregators, 4)
    yield BgqTerm("alltoallv", 1, nodes, ranks, aggregators, 8)
    message = min(instance.bytes_per_rank, hints.buffer_bytes)
    for times, volume in ((complete, aggregators * hints.buffer_bytes), (incomplete, left)):
        if times:
            senders = min(math.ceil(volume / message), ranks)
            yield BgqTerm("alltoallv", times, nodes, senders, min(senders, aggregators), message)


def _storage(instance: BgqInstance, hints: BgqHints, switches: BgqSwitches) -> Iterator[BgqTerm]:
    nodes, size = instance.nodes, hints.buffer_bytes
    aggregators = hints.aggregators(nodes)
    complete, incomplete, left = rounds(instance, hints)
    active = left / (aggregators * size) * aggregators
    first = "lock" if switches.locking else "full"
    if complete:
        yield BgqTerm(first, 1, nodes, aggregators, 1, size)
        if complete > 1:
            yield BgqTerm("full", complete - 1, nodes, aggregators, 1, size)
        if incomplete:
            yield BgqTerm("partial", 1, nodes, active, 1, size)
    elif incomplete:
        yield BgqTerm(first if switches.locking else "partial", 1, nodes, active, 1, size)


def grid() -> list[BgqInstance]:
    """The paper's 33 instances."""
    return [BgqInstance(nodes, size) for nodes in NODE_COUNTS for size in RANK_BYTES]


def configurations() -> list[BgqHints]:
    """The paper's 9 configurations."""
    return [BgqHints(per_pset, size) for per_pset in PER_PSET for size in BUFFER_BYTES]
