"""The parameters of a write pattern on a system, with the names that the paper gives them.

Loads are in 10^6 bytes. Values that depend on the job's location are counted. Values that depend on random striping
are expectations in closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.errors import UsageError
from penstock.plan.storage import STAGES, Gpfs, Lustre, StorageSystem
from penstock.plan.write.location import in_use
from penstock.plan.write.occupancy import expected_peak, expected_servers, expected_targets
from penstock.plan.write.pattern import WritePattern
from penstock.units import MB

Floats = npt.NDArray[np.float64]
PARAMETERS = {
    "gpfs": (
        "m",
        "n",
        "K",
        "n_sub",
        "n_b",
        "n_l",
        "n_io",
        "s_b",
        "s_l",
        "s_io",
        "n_d",
        "n_s",
        "n_nsd",
        "n_nsds",
    ),
    "lustre": ("m", "n", "K", "n_r", "s_r", "n_ost", "n_oss", "s_ost", "s_oss"),
}


def parameters(system: StorageSystem, pattern: WritePattern) -> dict[str, float]:
    """Every parameter of the system's kind, in the order of `PARAMETERS`."""
    found: dict[str, float] = {
        "m": pattern.nodes,
        "n": pattern.cores,
        "K": pattern.burst_bytes / MB,
    }
    for stage, letter in STAGES[system.kind].items():
        found[f"n_{letter}"], found[f"s_{letter}"] = in_use(system, stage, pattern.locations)
    if system.lustre is not None:
        found.update(_lustre(system.lustre, pattern))
    elif system.gpfs is not None:
        found.update(_gpfs(system.gpfs, pattern))
    return {name: float(found[name]) for name in PARAMETERS[system.kind]}


def table(system: StorageSystem, patterns: Sequence[WritePattern]) -> dict[str, Floats]:
    """The parameters of many patterns, each as one array."""
    rows = [parameters(system, pattern) for pattern in patterns]
    return {name: np.array([row[name] for row in rows]) for name in PARAMETERS[system.kind]}


def _lustre(layout: Lustre, pattern: WritePattern) -> Mapping[str, float]:
    bursts, size = pattern.bursts, pattern.burst_bytes
    width = stripe_width(layout, size, pattern.stripes)
    even, most = size / width / MB, heaviest_share_bytes(layout, size, pattern.stripes) / MB
    on_target = expected_peak(bursts, width, layout.osts)
    on_server = expected_peak(bursts, width, layout.osses)
    return {
        "n_ost": expected_targets(bursts, width, layout.osts),
        "n_oss": expected_servers(bursts, width, layout.osts, layout.osses),
        "s_ost": (on_target - 1) * even + most,
        "s_oss": (on_server - 1) * even + most,
    }


def stripe_width(layout: Lustre, burst_bytes: int, stripes: int) -> int:
    """The number of OSTs one burst really uses: a short burst ends before its last stripe.

    >>> stripe_width(Lustre(osts=8, osses=2), 3 << 20, 4)
    3
    """
    return min(stripes, layout.osts, -(-burst_bytes // layout.stripe_size))


def heaviest_share_bytes(layout: Lustre, burst_bytes: int, stripes: int) -> int:
    """What one burst puts on the first of its OSTs, which never gets less than another.

    >>> heaviest_share_bytes(Lustre(osts=8, osses=2), 5 << 20, 4) >> 20
    2
    """
    pieces = -(-burst_bytes // layout.stripe_size)
    width = stripe_width(layout, burst_bytes, stripes)
    rounds, into = divmod(pieces - 1, width)
    if into == 0:
        return burst_bytes - (pieces - 1 - rounds) * layout.stripe_size
    return (rounds + 1) * layout.stripe_size


def _gpfs(layout: Gpfs, pattern: WritePattern) -> Mapping[str, float]:
    bursts, size = pattern.bursts, pattern.burst_bytes
    disks = min(layout.nsds, -(-size // layout.block_size))
    return {
        "n_sub": subblocks(layout, size),
        "n_d": disks,
        "n_s": min(layout.servers, disks),
        "n_nsd": expected_targets(bursts, disks, layout.nsds),
        "n_nsds": expected_servers(bursts, disks, layout.nsds, layout.servers),
    }


def subblocks(layout: Gpfs, burst_bytes: int) -> int:
    """The subblocks that the last, partial block of a burst is kept in; none when it ends on a block.

    >>> subblocks(Gpfs(nsds=336, servers=48), 8 << 20), subblocks(Gpfs(nsds=336, servers=48), (8 << 20) + 1)
    (0, 1)
    """
    return -(-(burst_bytes % layout.block_size) * layout.subblocks // layout.block_size)


def require_lustre(system: StorageSystem, stripes: int | None) -> int:
    """The stripe count in force: the one asked for, else the file system's default; GPFS has none."""
    if system.lustre is None:
        if stripes is not None:
            raise UsageError(f"--stripes {stripes}: {system.name} is GPFS, which stripes by itself")
        return 1
    return system.lustre.stripe_count if stripes is None else stripes
