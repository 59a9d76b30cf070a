"""The backing device of a mount: the kernel's count of dirty data, and the knobs for its limit and for readahead.

Every mount with a page cache has one, for any file system. It is named by the mount's device number.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import DataError
from penstock.units import KIB

# The targets of the links in /sys/class/bdi, because the actuator does not follow links.
KNOBS = "sys/devices/virtual/bdi"
STATS = "sys/kernel/debug/bdi"
_WANTED = ("BdiWriteback", "BdiReclaimable", "BdiDirtyThresh", "BdiDirtied", "BdiWritten")


@dataclass(frozen=True, slots=True)
class BdiStats:
    """Dirty data of one mount now, its limit, and what was dirtied and written since it was mounted; in bytes."""

    writeback_bytes: int
    reclaimable_bytes: int
    limit_bytes: int
    dirtied_bytes: int
    written_bytes: int

    @property
    def dirty_bytes(self) -> int:
        """Data that applications wrote and the server does not have yet, whether it is on its way or not."""
        return self.writeback_bytes + self.reclaimable_bytes


def parse_bdi_stats(text: str) -> BdiStats:
    """`/sys/kernel/debug/bdi/DEVICE/stats`. Rows we do not know are ignored. Raises `DataError`."""
    rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    try:
        figures = [_kilobytes(rows[name]) for name in _WANTED]
    except (KeyError, ValueError) as error:
        raise DataError(f"bdi stats: no usable row {error}") from None
    return BdiStats(*figures)


def _kilobytes(text: str) -> int:
    figure, unit = text.split()
    if unit != "kB" or int(figure) < 0:
        raise ValueError(text.strip())
    return int(figure) * KIB


def parse_number(text: str, what: str) -> int:
    """A file that holds one whole number. Raises `DataError` that names it."""
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{what}: {text[:40]!r} is not a whole number") from None
