"""The process behind a FUSE mount: its identity, and how many bytes went through it.

The kernel counts no bytes per FUSE mount. But it counts the bytes that the daemon moves through system calls. Every
byte that an application reads is written by the daemon to the kernel once; every byte written is read from the kernel
once.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import DataError
from penstock.observe.kernelfs import KernelFs, read_once

_CONNECTION = "fuse_connection:"


@dataclass(frozen=True, slots=True)
class Daemon:
    """A process and its start time in ticks since boot, which together identify it."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class Moved:
    """What a process read and wrote through system calls since it started."""

    read_bytes: int
    written_bytes: int


def read_start(fs: KernelFs, pid: int) -> int:
    """When a process started. Raises OSError or `DataError`."""
    return parse_start(read_once(fs.path(f"proc/{pid}/stat")).decode("utf-8", "replace"))


def parse_connection(fdinfo: str) -> int | None:
    """The connection of an open /dev/fuse; None where the kernel does not say."""
    for line in fdinfo.split("\n"):
        if line.startswith(_CONNECTION):
            value = line[len(_CONNECTION) :].strip()
            return int(value) if value.isdigit() else None
    return None


def parse_start(stat: str) -> int:
    """The 22nd field of `/proc/PID/stat`; the second, the name, may hold blanks and brackets."""
    fields = stat.rpartition(")")[2].split()
    try:
        return int(fields[19])
    except (IndexError, ValueError):
        raise DataError("stat of a process has no start time") from None


def parse_moved(io: str) -> Moved:
    """`/proc/PID/io`. Raises `DataError`."""
    rows = dict(line.split(":", 1) for line in io.split("\n") if ":" in line)
    try:
        return Moved(int(rows["rchar"]), int(rows["wchar"]))
    except (KeyError, ValueError) as error:
        raise DataError(f"io of a process: no usable row {error}") from None
