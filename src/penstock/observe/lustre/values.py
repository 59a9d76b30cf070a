"""Files that hold one value."""

from __future__ import annotations

from penstock.errors import DataError
from penstock.observe.lustre.stats import check_whole

# The length of the largest 64-bit number with a newline. Longer texts are not counters, and slow to convert.
_LONGEST = 21


def is_count(text: str) -> bool:
    """Whether a word is a non-negative integer of a size the kernel can print."""
    return text.isascii() and text.isdigit() and len(text) < _LONGEST


def parse_count(text: bytes, what: str) -> int:
    """A file of one non-negative integer on a line of its own.

    >>> parse_count(b"1024\\n", "max_pages_per_rpc")
    1024
    """
    if text[-1:] == b"\n" and text[:-1].isdigit() and len(text) <= _LONGEST:
        return int(text)
    check_whole(text, what)
    raise DataError(f"{what}: {text[:40]!r} is not a count")


def parse_megabytes(text: bytes, what: str) -> int:
    """A limit in MiB, which some versions print with a fraction; rounded to the nearest.

    >>> parse_megabytes(b"490\\n", "max_dirty_mb"), parse_megabytes(b"1.5\\n", "max_dirty_mb")
    (490, 2)
    """
    if text[-1:] == b"\n" and text[:-1].isdigit() and len(text) <= _LONGEST:
        return int(text)
    check_whole(text, what)
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 2**31:
        raise DataError(f"{what}: {text[:40]!r} is not a size in MB")
    return round(value)
