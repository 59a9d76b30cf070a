"""The node's cap on dirty memory: whatever is decided target by target, the sum stays within it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from penstock.units import MIB, PAGE_BYTES

_LUSTRE_LIMIT = "sys/fs/lustre/max_dirty_mb"


def memory(root: str | Path) -> tuple[int, int | None] | None:
    """Total and available bytes, as the node's kernel counts them; None where it does not say."""
    try:
        text = (Path(root) / "proc/meminfo").read_text(encoding="ascii")
        rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        total = int(rows["MemTotal"].split()[0]) * 1024
    except (OSError, ValueError, KeyError, IndexError):
        return None
    try:
        available = int(rows["MemAvailable"].split()[0]) * 1024
    except (ValueError, KeyError, IndexError):
        return (total, None) if total > 0 else None
    return (total, available if 0 <= available <= total else None) if total > 0 else None


def memory_bytes(root: str | Path) -> int:
    """The node's memory; this machine's own where the tree does not tell."""
    found = memory(root)
    return found[0] if found else os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES


def node_limit_mib(root: str | Path, ram_bytes: int) -> int:
    """The node-wide dirty limit: Lustre's own where it says so, else half the memory, its default."""
    try:
        return int((Path(root) / _LUSTRE_LIMIT).read_text(encoding="ascii"))
    except (OSError, ValueError):
        return max(1, ram_bytes // 2 // MIB)


def allowed(wanted: int, original: int, others: int, limit: int) -> int:
    """What one target may have beside the others: never more than fits, never less than it had.

    >>> allowed(wanted=512, original=64, others=1700, limit=1956)
    256
    >>> allowed(wanted=512, original=64, others=1950, limit=1956)
    64
    """
    return min(wanted, max(original, limit - others))


def scaled(wanted: Mapping[str, int], limit: int) -> dict[str, int]:
    """Limits scaled down in proportion until their sum fits; a sum that fits is left alone.

    >>> scaled({"a": 512, "b": 1536}, 1024)
    {'a': 256, 'b': 768}
    """
    total = sum(wanted.values())
    if total <= limit:
        return dict(wanted)
    return {name: value * limit // total for name, value in wanted.items()}
