"""The mounts from the kernel's table. Reading the table never blocks; accessing a mount of a dead server does.

Users choose the paths and names of their own mounts. The kernel escapes blank, tab, newline and backslash, and
nothing else. So the table is bytes, its lines end at newlines alone, and a line that cannot be parsed costs no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.errors import DataError
from penstock.observe.kernelfs import LARGEST_TABLE_BYTES, KernelFs, read_once
from penstock.snapshot import Problem

_TABLE = "proc/self/mountinfo"
_OCTAL = re.compile(rb"\\([0-3][0-7]{2})")
_DEVICE = re.compile(rb"[0-9]{1,9}:[0-9]{1,9}")


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of the table. `device` is the number that names the mount's other kernel files."""

    device: str
    path: str
    kind: str
    source: str
    options: Mapping[str, str] = field(hash=False)

    @property
    def minor(self) -> int:
        """The second half of the device number: the name of a FUSE connection."""
        return int(self.device.partition(":")[2])

    @property
    def user(self) -> int | None:
        """The uid that a FUSE mount was made by; None for other kinds."""
        uid = self.options.get("user_id", "")
        return int(uid) if uid.isascii() and uid.isdigit() else None


@dataclass(frozen=True, slots=True)
class MountTable:
    """The mounts in the kernel's order, and one problem for the lines that could not be parsed."""

    mounts: tuple[Mount, ...]
    problems: tuple[Problem, ...] = ()

    def in_sight(self) -> tuple[Mount, ...]:
        """One mount per device and place: hidden mounts are left out, and a device counts once.

        Of several mounts at one place the last is visible.
        """
        at_place = {mount.path: mount for mount in self.mounts}
        by_device: dict[str, Mount] = {}
        for mount in at_place.values():
            by_device.setdefault(mount.device, mount)
        return tuple(by_device.values())


def read_mounts(fs: KernelFs) -> MountTable:
    """The table below a root. Raises OSError when it cannot be read."""
    return parse_mounts(read_once(fs.path(_TABLE), LARGEST_TABLE_BYTES))


def parse_mounts(table: bytes) -> MountTable:
    """Every mount. What the table's users wrote is decoded only after it was taken apart."""
    mounts: list[Mount] = []
    bad: list[bytes] = []
    for line in table.split(b"\n"):
        try:
            mounts += [_mount(line)] if line else []
        except DataError:
            bad.append(line)
    if not bad:
        return MountTable(tuple(mounts))
    what = f"{len(bad)} lines are" if len(bad) > 1 else "a line is"
    return MountTable(tuple(mounts), (Problem(f"/{_TABLE}", f"{what} not understood: {bad[0][:80]!r}"),))


def _mount(line: bytes) -> Mount:
    """`36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: optional fields vary."""
    head, dash, tail = line.partition(b" - ")
    first, last = head.split(b" "), tail.split(b" ")
    if not dash or len(first) < 6 or len(last) < 2 or not _DEVICE.fullmatch(first[2]):
        raise DataError("not a line of a mount table")
    own = unescape(last[2]) if len(last) > 2 else ""
    options = dict(option.partition("=")[::2] for option in own.split(",") if option)
    return Mount(first[2].decode("ascii"), unescape(first[4]), unescape(last[0]), unescape(last[1]), options)


def unescape(word: bytes) -> str:
    r"""A path as text. The kernel writes blanks and the like as octal numbers.

    Newline and tab stay escaped, and so do bytes that are no UTF-8: a path is a name here, and is never opened.

    >>> unescape(rb"/mnt/my\040data"), unescape(b"/mnt/\xff")
    ('/mnt/my data', '/mnt/\\xff')
    """
    real = _OCTAL.sub(lambda match: match[0] if (code := int(match[1], 8)) < 32 else bytes([code]), word)
    return real.decode("utf-8", "backslashreplace")
