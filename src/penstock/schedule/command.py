"""The commands that apply an advice, and those that undo it."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.schedule.job import Job
from penstock.schedule.layout import Layout

POOL_NAME_LENGTH = 15
PREFIX = "ps_"
READABLE = 4
SMALL_FILE = "64M"
"""Files up to this size stay on one OST in the progressive layout."""


@dataclass(frozen=True, slots=True)
class Commands:
    """The commands for one advice: `user` without privileges, `admin` with a pool, `progressive` with small files on
    one OST.

    `save` stores the present layout in a file, if it was unknown when the advice was given. `undo` reverts any of
    them. Commands that begin with `lctl pool_` run on the MGS node as root, the others on a client.
    """

    user: tuple[str, ...]
    admin: tuple[str, ...]
    undo: tuple[str, ...]
    progressive: tuple[str, ...] = ()
    save: tuple[str, ...] = ()
    pool: str | None = None


def ost_commands(job: Job, fsname: str, pool: str, before: Layout | None) -> Commands:
    """Stripe new files of the job's directory over its OSTs. `before` is the layout to restore."""
    where, count = shlex.quote(job.directory or "DIRECTORY"), len(job.resources)
    indices = ",".join(map(str, job.resources))
    targets = " ".join(f"{fsname}-OST{index:04x}" for index in job.resources)
    kept = shlex.quote(f"{pool}.lyl")
    restore = f"lfs setstripe --yaml={kept} {where}"
    if before is not None:
        restore = shlex.join(["lfs", "setstripe", *before.options()]) + f" {where}"
    return Commands(
        user=(f"lfs setstripe -c {count} -o {indices} {where}",),
        admin=(
            f"lctl pool_new {fsname}.{pool}",
            f"lctl pool_add {fsname}.{pool} {targets}",
            f"lfs setstripe -c {count} -p {pool} {where}",
        ),
        undo=(
            restore,
            f"lctl pool_remove {fsname}.{pool} {targets}",
            f"lctl pool_destroy {fsname}.{pool}",
        ),
        progressive=(
            f"lfs setstripe -E {SMALL_FILE} -c 1 -o {job.resources[0]} -E -1 -c {count} -o {indices} {where}",
        ),
        save=() if before is not None else (f"lfs getstripe -d --raw --yaml {where} > {kept}",),
        pool=pool,
    )


def named_commands(names: Sequence[str], kind: str) -> Commands:
    """The environment that the job's script exports to its launcher, for I/O nodes and burst-buffer nodes."""
    variable = "PENSTOCK_IO_NODES" if kind == "io-node" else "PENSTOCK_BURST_BUFFER_NODES"
    listed = shlex.quote(",".join(names))
    return Commands((f"export {variable}={listed}",), (), (f"unset {variable}",))


def pool_name(job: str, taken: Collection[str] = ()) -> str:
    """A legal pool name of at most 15 characters that no other job has, and that looks like the job's.

    A short legal name is used as it is; any other is abbreviated and told apart by 40 bits of its hash.

    >>> pool_name("4711"), pool_name("climate_run_1"), pool_name("climate_run_2")
    ('ps_4711', 'ps_climhflzmx5z', 'ps_climsv3zj2yh')
    """
    legal = re.sub(r"[^A-Za-z0-9_]", "_", job)
    plain = PREFIX + legal
    if legal == job and len(plain) < POOL_NAME_LENGTH and plain not in taken:
        return plain
    salt = 0
    while True:
        digest = hashlib.sha256(f"{salt}/{job}".encode()).digest()[:5]
        tail = base64.b32encode(digest).decode().lower()
        name = PREFIX + legal[:READABLE].ljust(READABLE, "_") + tail
        if name not in taken:
            return name
        salt += 1
