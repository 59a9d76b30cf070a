"""A Blue Gene/Q whose measured results are those that the paper counts; its own measurements were never published.

Links, storage targets and caches are the paper's. What crowding, locking, small streams and full caches cost was
searched for (`benchmarks/collective_study/calibrate.py`) until the paper's 33 instances came out as the paper counts
them: what the default is worth, and what chance is worth. How well methods do had no part in that search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.plan.collective.bgq.operations import CORES, PARTITION_NODES, BgqTerm

Floats = npt.NDArray[np.float64]

IO_NODES_PER_PARTITION = 4
LINK_BYTES_PER_S = 4e9
TARGET_BYTES_PER_S = 40 * 250e6
CACHE_BYTES = 4e9
LATENCY_S = 4e-6
STORAGE = ("lock", "full", "partial")
#: Writers per I/O node that crowding is counted in.
CROWD = 64


@dataclass(frozen=True, slots=True)
class BgqMachine:
    """What elemental operations cost beyond what links and targets carry.

    Writers of an I/O node slow each other down by 1 + `crowding` (writers / 64) ^ `crowding_power`. The first round
    meets empty caches (`first_share` of the usual time) and takes locks (`lock_s` writers ^ `lock_power`). A round
    that fills more than `overflow_from` of the caches waits for them (`overflow`, `overflow_power`). Aggregators
    placed uniformly lose up to `far`. `spread` is how far measured runs lie around the formulas.
    """

    stream_bytes_per_s: float
    crowding: float
    crowding_power: float
    lock_s: float
    lock_power: float
    overflow: float
    overflow_from: float
    overflow_power: float
    first_share: float
    message_s: float
    far: float = 0.69
    far_writers: float = 1.5
    spread: float = 0.05

    def seconds(self, terms: Sequence[BgqTerm], *, topology_aware: bool = True) -> Floats:
        """What each operation takes once."""
        names = np.array([term.operation for term in terms])
        nodes, senders, receivers, size = (
            np.array([getattr(term, name) for term in terms], dtype=np.float64)
            for name in ("nodes", "senders", "receivers", "bytes")
        )
        found = np.where(names == "allreduce", _allreduce_s(nodes, size), _alltoall_s(nodes, size))
        shuffled = self._shuffle_s(nodes, senders, receivers, size)
        found = np.where(names == "alltoallv", shuffled, found)
        far = 0.0 if topology_aware else self.far * np.exp(-senders / nodes / self.far_writers)
        found = np.where(names == "lock", self._first_s(nodes, senders, size) * (1 + far), found)
        later = np.isin(names, STORAGE[1:])
        return np.where(later, self._later_s(nodes, senders, size) * (1 + far), found)

    def _shuffle_s(self, nodes: Floats, senders: Floats, receivers: Floats, size: Floats) -> Floats:
        served = senders / np.maximum(receivers, 1) * size / 1.2e9
        through = senders * size / (nodes * 2e9)
        return LATENCY_S * nodes * CORES / 6 + served + through + self.message_s * receivers * (size > 8)

    def _moved_s(self, nodes: Floats, writers: Floats, size: Floats) -> Floats:
        io_nodes = nodes * IO_NODES_PER_PARTITION / PARTITION_NODES
        rate = np.minimum(io_nodes * LINK_BYTES_PER_S, TARGET_BYTES_PER_S)
        crowd = 1 + self.crowding * (writers / (io_nodes * CROWD)) ** self.crowding_power
        return np.maximum(writers * size * crowd / rate, size / self.stream_bytes_per_s)

    def _first_s(self, nodes: Floats, senders: Floats, size: Floats) -> Floats:
        writers = np.maximum(senders, 1)
        return self.first_share * self._moved_s(nodes, writers, size) + self.lock_s * writers**self.lock_power

    def _later_s(self, nodes: Floats, senders: Floats, size: Floats) -> Floats:
        writers = np.maximum(senders, 1)
        caches = nodes * IO_NODES_PER_PARTITION / PARTITION_NODES * CACHE_BYTES
        beyond = np.maximum(writers * size / caches - self.overflow_from, 0)
        return self._moved_s(nodes, writers, size) * (1 + self.overflow * beyond**self.overflow_power)


def _allreduce_s(nodes: Floats, size: Floats) -> Floats:
    depth = np.log2(nodes * CORES)
    return LATENCY_S * depth + size * depth / 2e9


def _alltoall_s(nodes: Floats, size: Floats) -> Floats:
    ranks = nodes * CORES
    return LATENCY_S * ranks / 8 + size * ranks / 1.5e9
