"""The memory of a node, and how much of it may be dirty."""

from __future__ import annotations

import os
from pathlib import Path

from penstock.units import MIB, PAGE_BYTES

# A Lustre client's own limit for all its targets together.
_CLIENT_LIMIT_MIB = "sys/fs/lustre/max_dirty_mb"


def memory(root: str | Path) -> tuple[int, int | None]:
    """Total and available bytes as the node's kernel counts them.

    If the tree does not say, the total is this machine's own, and the available memory is unknown.
    """
    try:
        text = (Path(root) / "proc/meminfo").read_text(encoding="ascii")
        rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        total = int(rows["MemTotal"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        total = 0
    if total <= 0:
        return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES, None
    try:
        available = int(rows["MemAvailable"].split()[0]) * 1024
    except (ValueError, KeyError, IndexError):
        return total, None
    return total, available if 0 <= available <= total else None


def dirty_budget_mib(root: str | Path, ratio: float) -> float:
    """The most that all dirty limits may add up to: this share of memory, or the client's own limit if that is
    less.
    """
    share_mib = ratio * memory(root)[0] / MIB
    try:
        return min(share_mib, int((Path(root) / _CLIENT_LIMIT_MIB).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return share_mib
