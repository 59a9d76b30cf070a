"""A made-up Blue Gene/Q: formulas for what elemental operations cost, to study methods where data is missing.

Nothing here is measured. The paper's figures set the scale (links, targets, caches, block size); whatever is
learned from these numbers is self-consistency of the methods, not a statement about a real machine.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.collective_study.bgq import BUFFER_BYTES, CORES, NODE_COUNTS, BgqTerm

NODES_PER_IO_NODE = 32
LINK_BYTES_PER_S = 4e9
TARGET_BYTES_PER_S = 40 * 250e6
STREAM_BYTES_PER_S = 0.25e9
CACHE_BYTES = 4e9
LATENCY_S = 4e-6


@dataclass(frozen=True, slots=True)
class BgqSample:
    """One elemental measurement of the made-up machine."""

    term: BgqTerm
    seconds: float


def seconds(term: BgqTerm, *, topology_aware: bool = True) -> float:
    """One operation's time."""
    if term.operation in {"lock", "full", "partial"}:
        return _write_s(term, topology_aware)
    ranks = term.nodes * CORES
    depth = math.log2(ranks)
    if term.operation == "allreduce":
        return LATENCY_S * depth + term.bytes * depth / 2e9
    if term.operation == "alltoall":
        return LATENCY_S * ranks / 8 + term.bytes * ranks / 1.5e9
    per_receiver = term.senders / max(1.0, term.receivers) * term.bytes
    through = term.senders * term.bytes / (term.nodes * 2e9)
    return LATENCY_S * ranks / 6 + per_receiver / 1.2e9 + through


def _write_s(term: BgqTerm, topology_aware: bool) -> float:
    """Writers share links, targets and caches; the first round also splits the file's locks."""
    io_nodes = max(1.0, term.nodes / NODES_PER_IO_NODE)
    volume = max(1.0, term.senders) * term.bytes
    crowd = term.senders / (io_nodes * 64)
    bandwidth = min(io_nodes * LINK_BYTES_PER_S, TARGET_BYTES_PER_S) / (1 + 0.1 * math.pow(crowd, 1.5))
    taken = max(volume / bandwidth, term.bytes / STREAM_BYTES_PER_S)
    cached = volume < 0.5 * io_nodes * CACHE_BYTES
    if term.operation == "lock":
        taken = 0.7 * taken + 0.006 * math.pow(max(1.0, term.senders), 0.75)
    elif not cached:
        taken *= 1.35
    far = 0.0 if topology_aware else 0.69 * math.exp(-term.senders / term.nodes / 1.5)
    return taken * (1 + far)


def benchmark(*, topology_aware: bool = True) -> list[BgqSample]:
    """Elemental measurements on the paper's designs: how many points of which sizes it took."""
    return [BgqSample(term, seconds(term, topology_aware=topology_aware)) for term in _design()]


def _design() -> Iterator[BgqTerm]:
    for nodes in NODE_COUNTS:
        ranks = nodes * CORES
        for power in range(2, 21):
            yield BgqTerm("allreduce", 1, nodes, ranks, ranks, 1 << power)
        for power in range(0, 17):
            yield BgqTerm("alltoall", 1, nodes, ranks, ranks, 4 << power if power < 16 else 1)
        shares = (1 / 64, 1 / 16, 1 / 4, 1.0)
        for size_power, senders, receivers in itertools.product(range(0, 27, 2), shares, shares[:3]):
            sending = max(1.0, senders * ranks)
            yield BgqTerm(
                "alltoallv", 1, nodes, sending, max(1.0, min(sending, receivers * ranks)), 1 << size_power
            )
        for size in BUFFER_BYTES:
            for part in range(1, 31):
                writers = nodes * 4.2 * (part / 30) ** 2 + 1
                yield BgqTerm("lock", 1, nodes, writers, 1, size)
                yield BgqTerm("partial", 1, nodes, writers, 1, size)
            for per_pset in (4, 16, 64):
                yield BgqTerm("full", 1, nodes, (per_pset + 1) * 8 * nodes / 128, 1, size)
