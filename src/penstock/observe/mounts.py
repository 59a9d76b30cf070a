"""The mounts from the kernel's table. Reading the table never blocks; accessing a mount of a dead server does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.observe.kernelfs import KernelFs, read_once

_TABLE = "proc/self/mountinfo"
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table. `device` is the number that names the mount's other kernel files."""

    device: str
    path: str
    kind: str
    source: str
    options: Mapping[str, str]

    @property
    def minor(self) -> int:
        """The second half of the device number: the name of a FUSE connection."""
        return int(self.device.partition(":")[2])


def read_mounts(fs: KernelFs) -> tuple[Mount, ...]:
    """The table below a root. Raises OSError when it cannot be read."""
    return parse_mounts(read_once(fs.path(_TABLE)).decode("utf-8", "replace"))


def parse_mounts(text: str) -> tuple[Mount, ...]:
    """Every mount in the kernel's order. Of several mounts at one place the last is visible."""
    return tuple(_mount(line) for line in text.splitlines() if line.strip())


def in_sight(mounts: tuple[Mount, ...]) -> tuple[Mount, ...]:
    """One mount per device and place: hidden mounts are left out, and a device counts once."""
    at_place = {mount.path: mount for mount in mounts}
    by_device: dict[str, Mount] = {}
    for mount in at_place.values():
        by_device.setdefault(mount.device, mount)
    return tuple(by_device.values())


def _mount(line: str) -> Mount:
    """`36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: optional fields vary."""
    head, dash, tail = line.partition(" - ")
    first, last = head.split(" "), tail.split(" ")
    if not dash or len(first) < 6 or len(last) < 2 or not re.fullmatch(r"\d+:\d+", first[2]):
        raise DataError(f"not a line of a mount table: {line[:80]!r}")
    own = last[2] if len(last) > 2 else ""
    options = dict(option.partition("=")[::2] for option in own.split(",") if option)
    return Mount(first[2], unescape(first[4]), last[0], unescape(last[1]), options)


def unescape(word: str) -> str:
    r"""The real path. The kernel writes blanks and the like as octal numbers.

    >>> unescape(r"/mnt/my\040data")
    '/mnt/my data'
    """
    return _OCTAL.sub(lambda match: chr(int(match[1], 8)), word)
