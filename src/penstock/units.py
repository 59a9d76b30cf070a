"""Sizes and times as people write them, and the few constants everyone shares."""

from __future__ import annotations

import math
import re

from penstock.errors import UsageError

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
MB = 10**6
PAGE_BYTES = 4096
# What a knob or a counter is measured in, where that is bytes by another name.
UNIT_BYTES = {"bytes": 1, "pages": PAGE_BYTES, "KiB": KIB, "MiB": MIB}

_NUMBER = r"(?P<number>[0-9]+(?:\.[0-9]+)?)"
_SIZE = re.compile(_NUMBER + r"\s*(?P<unit>[A-Za-z]*)")
_BINARY = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_DURATION = re.compile(_NUMBER + r"\s*(?P<unit>ms|s|m|h|d|)")
_SECONDS = {"": 1.0, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parse_size(text: str) -> int:
    """Bytes written as `4`, `4k`, `4GiB` (powers of 1024) or `4GB` (powers of 1000).

    >>> parse_size("4"), parse_size("4k"), parse_size("4KiB"), parse_size("4KB")
    (4, 4096, 4096, 4000)
    >>> parse_size("1.5m")
    1572864
    """
    match = _SIZE.fullmatch(text.strip())
    factor = _size_factor(match["unit"]) if match else None
    if match is None or factor is None:
        raise UsageError(f"size {text!r} is not a number with an optional k/m/g, KiB/MiB/GiB or KB/MB/GB")
    size = float(match["number"]) * factor
    if not math.isfinite(size) or size >= 2**63:
        raise UsageError(f"size {text!r} is too large")
    return int(match["number"]) * factor if match["number"].isdigit() else round(size)


def _size_factor(unit: str) -> int | None:
    letters = unit.lower()
    if letters == "b":
        return 1
    if letters in _BINARY:
        return int(1024 ** _BINARY[letters])
    if letters[0] in _BINARY and letters[1:] == "ib":
        return int(1024 ** _BINARY[letters[0]])
    if letters[0] in _BINARY and letters[1:] == "b":
        return int(1000 ** _BINARY[letters[0]])
    return None


def parse_duration(text: str) -> float:
    """Seconds written as `90`, `500ms`, `10m`, `8h` or `2d`.

    >>> parse_duration("500ms"), parse_duration("10m")
    (0.5, 600.0)
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None and _DURATION.fullmatch(text.strip().removeprefix("-")):
        raise UsageError(f"duration {text!r} is negative")
    if match is None:
        raise UsageError(f"duration {text!r} is not a number with an optional ms, s, m, h or d")
    seconds = float(match["number"]) * _SECONDS[match["unit"]]
    if not math.isfinite(seconds):
        raise UsageError(f"duration {text!r} is too large")
    return seconds


def format_size(size_bytes: float) -> str:
    """A size for people, in powers of 1024.

    >>> format_size(4096), format_size(1.5 * MIB), format_size(12)
    ('4 KiB', '1.5 MiB', '12 B')
    """
    for unit, factor in (("TiB", 1 << 40), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if abs(size_bytes) >= factor:
            return f"{size_bytes / factor:.4g} {unit}"
    return f"{size_bytes:.4g} B"


def counted(count: int, noun: str) -> str:
    """A number of things, for sentences.

    >>> counted(1, "node"), counted(2, "node")
    ('1 node', '2 nodes')
    """
    return f"{count} {noun}{'s' * (count != 1)}"


def format_duration(seconds: float) -> str:
    """A time in the two units that say most about it.

    >>> format_duration(0.25), format_duration(59), format_duration(600), format_duration(3725)
    ('0.2 s', '59 s', '10 min', '1 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    for large, small, size in (("min", "s", 60), ("h", "min", 3600), ("d", "h", 86400)):
        if seconds < {"min": 3600, "h": 86400}.get(large, float("inf")):
            step = {"min": 1, "h": 60, "d": 3600}[large]
            whole, rest = divmod(round(seconds / step), size // step)
            return " ".join(
                [f"{whole} {large}"] * bool(whole) + [f"{rest} {small}"] * bool(rest or not whole)
            )
    raise AssertionError(seconds)
