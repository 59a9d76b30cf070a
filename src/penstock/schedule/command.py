"""Commands that carry an advice out, and those that undo it; printed, never run."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

POOL_NAME_LENGTH = 15


@dataclass(frozen=True, slots=True)
class Commands:
    """`user` needs no privilege, `admin` does the same with a pool; `undo` takes either back."""

    user: tuple[str, ...]
    admin: tuple[str, ...]
    undo: tuple[str, ...]


def ost_commands(job: str, resources: Sequence[int], directory: str, fsname: str) -> Commands:
    """Stripe new files of `directory` over these OSTs: by index, or through a pool of the job's own."""
    where, count = shlex.quote(directory), len(resources)
    indices = ",".join(map(str, resources))
    pool = pool_name(job)
    targets = " ".join(f"{fsname}-OST{index:04x}" for index in resources)
    return Commands(
        user=(f"lfs setstripe -c {count} -o {indices} {where}",),
        admin=(
            f"lctl pool_new {fsname}.{pool}",
            f"lctl pool_add {fsname}.{pool} {targets}",
            f"lfs setstripe -c {count} -p {pool} {where}",
        ),
        undo=(
            f"lfs setstripe -d {where}",
            f"lctl pool_remove {fsname}.{pool} {targets}",
            f"lctl pool_destroy {fsname}.{pool}",
        ),
    )


def named_commands(names: Sequence[str], kind: str) -> Commands:
    """For I/O nodes and burst-buffer nodes: what the job's script exports for its launcher to use."""
    variable = "PENSTOCK_IO_NODES" if kind == "io-node" else "PENSTOCK_BURST_BUFFER_NODES"
    listed = shlex.quote(",".join(names))
    return Commands((f"export {variable}={listed}",), (), (f"unset {variable}",))


def pool_name(job: str) -> str:
    """A legal pool name of at most 15 characters that still looks like the job.

    >>> pool_name("climate run/42 (final)")
    'ps_climate_run_'
    """
    return ("ps_" + re.sub(r"[^A-Za-z0-9_]", "_", job))[:POOL_NAME_LENGTH]
