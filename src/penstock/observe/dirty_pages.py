"""The node's dirty pages and their limit, for mounts without figures of their own."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import DataError
from penstock.units import KIB, PAGE_BYTES


@dataclass(frozen=True, slots=True)
class DirtyPages:
    """Dirty data of all file systems of a node, and the limit at which writers must wait."""

    dirty_bytes: int
    limit_bytes: int


def parse_dirty_pages(meminfo: str, vmstat: str) -> DirtyPages:
    """From `/proc/meminfo` and `/proc/vmstat`. Raises `DataError` when either lacks its rows."""
    sizes = dict(line.split(":", 1) for line in meminfo.splitlines() if ":" in line)
    counts = dict(line.split(None, 1) for line in vmstat.splitlines() if " " in line)
    try:
        dirty = sum(int(sizes[name].split()[0]) for name in ("Dirty", "Writeback")) * KIB
        limit = int(counts["nr_dirty_threshold"]) * PAGE_BYTES
    except (KeyError, ValueError, IndexError) as error:
        raise DataError(f"meminfo or vmstat: no usable row {error}") from None
    return DirtyPages(dirty, limit)
