"""A write pattern: m nodes, each with n processes, each writing one burst of K bytes to its own file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.plan.location import check_nodes
from penstock.plan.system import System

MAX_BURST_BYTES = 1 << 50


@dataclass(frozen=True, slots=True, eq=False)
class WritePattern:
    """What a job writes and from where. `stripes` is the Lustre stripe count; GPFS ignores it."""

    locations: npt.NDArray[np.int64]
    cores: int
    burst_bytes: int
    stripes: int = 1

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


def check_pattern(system: System, pattern: WritePattern, *, oversubscribed: bool = False) -> None:
    """Refuse a pattern that its system cannot run, naming the value and the bound."""
    check_nodes(system, pattern.nodes)
    most = system.compute.cores_per_node
    if pattern.cores < 1 or (pattern.cores > most and not oversubscribed):
        raise UsageError(f"--cores {pattern.cores}: {system.name} has 1 to {most} cores a node")
    if not 1 <= pattern.burst_bytes <= MAX_BURST_BYTES:
        raise UsageError(f"--burst {pattern.burst_bytes}: a burst has 1 byte to 1 PiB")
    if system.lustre is not None and not 1 <= pattern.stripes <= system.lustre.osts:
        raise UsageError(f"--stripes {pattern.stripes}: {system.name} has 1 to {system.lustre.osts} OSTs")
