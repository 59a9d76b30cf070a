"""A write pattern: m nodes, each with n processes, each writing one burst of K bytes to its own file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.plan.storage import StorageSystem
from penstock.plan.write.location import check_nodes

MAX_BURST_BYTES = 1 << 50


@dataclass(frozen=True, slots=True, eq=False)
class WritePattern:
    """What a job writes and from where. `stripes` is the Lustre stripe count; GPFS ignores it.

    `transfer_bytes` is what one call writes; None if unknown, which models treat as the whole burst.
    """

    locations: npt.NDArray[np.int64]
    cores: int
    burst_bytes: int
    stripes: int = 1
    transfer_bytes: int | None = None

    @property
    def call_bytes(self) -> int:
        """What one call writes: never more than the burst."""
        return min(self.burst_bytes, self.transfer_bytes or self.burst_bytes)

    @property
    def nodes(self) -> int:
        """The number of compute nodes that write (m)."""
        return int(self.locations.size)

    @property
    def bursts(self) -> int:
        """The number of bursts of one write (m n)."""
        return self.nodes * self.cores

    @property
    def total_bytes(self) -> int:
        """Everything one write moves (m n K)."""
        return self.bursts * self.burst_bytes


def check_pattern(system: StorageSystem, pattern: WritePattern, *, oversubscribed: bool = False) -> None:
    """Refuse a pattern that its system cannot run, naming the value and the bound."""
    check_nodes(system, pattern.nodes)
    most = system.compute.cores_per_node
    if pattern.cores < 1 or (pattern.cores > most and not oversubscribed):
        raise UsageError(f"--cores {pattern.cores}: {system.name} has 1 to {most} cores a node")
    if not 1 <= pattern.burst_bytes <= MAX_BURST_BYTES:
        raise UsageError(f"--burst {pattern.burst_bytes}: a burst has 1 byte to 1 PiB")
    if pattern.transfer_bytes is not None and pattern.transfer_bytes < 1:
        raise UsageError(f"--transfer {pattern.transfer_bytes}: a call writes at least 1 byte")
    if system.lustre is not None and not 1 <= pattern.stripes <= system.lustre.osts:
        raise UsageError(f"--stripes {pattern.stripes}: {system.name} has 1 to {system.lustre.osts} OSTs")
