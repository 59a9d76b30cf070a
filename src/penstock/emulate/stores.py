"""What the kernel makes of a text written to a knob: a value, a rounding, or an errno.

Every rule was seen on a real client (2.15.8 and 2.17.57) or read in its source; the recorded answers are
replayed against this in the tests.
"""

from __future__ import annotations

import errno
import os
import re
from dataclasses import dataclass
from fractions import Fraction

from penstock.units import GIB, KIB, MIB, PAGE_BYTES

_NUMBER = re.compile(r"(?P<blank>\s*)(?P<whole>[0-9]+)(?:\.(?P<part>[0-9]+))?(?P<unit>[A-Za-z]*)\s*")
_FACTORS = {"": 1, "B": 1} | {
    spelling: base**power
    for power, letter in enumerate("KMGTPE", 1)
    for base, spelling in ((1024, letter), (1024, f"{letter}iB"), (1000, f"{letter}B".replace("KB", "kB")))
}
_INTEGER = re.compile(r"\+?(?P<digits>0[xX][0-9a-fA-F]+|[0-9]+)\n?")
_DEFAULT_DIRTY_MIB = 2000


def refuse(number: int) -> OSError:
    """The error a store answers with."""
    return OSError(number, os.strerror(number))


def visible_bytes(ram_gib: float) -> int:
    """The memory a kernel counts as its own (MemTotal) on a node with that much.

    A whole number of GiB is what is plugged in: the page map takes a 64th and firmware and kernel image some
    119 MiB, as seen on the recorded 4 GiB guests (4007120 kB). Anything else is taken as MemTotal itself.

    >>> visible_bytes(4.0) // 1024, visible_bytes(3.5) // 1024
    (4007120, 3670016)
    """
    total = int(ram_gib * GIB)
    return total - total // 64 - 121648 * KIB if ram_gib == int(ram_gib) else total // KIB * KIB


@dataclass(frozen=True, slots=True)
class Rules:
    """How one version reads what is written, on a node with this much memory."""

    modern: bool
    ram_bytes: int

    @property
    def pages_floor(self) -> int:
        """The fewest pages an RPC may have."""
        return 16 if self.modern else 1

    @property
    def dirty_cut_mib(self) -> int:
        """An eighth of memory, rounded up to whole MiB."""
        return max(1, -(-(self.ram_bytes // PAGE_BYTES // 8) * PAGE_BYTES // MIB))

    def default_dirty_mib(self) -> int:
        """max_dirty_mb of a fresh mount."""
        return min(_DEFAULT_DIRTY_MIB, self.dirty_cut_mib)

    def pages(self, text: str, brw_pages: int, chunk_pages: int) -> int:
        """max_pages_per_rpc: pages, or bytes where a unit or the sheer size says so."""
        match = _NUMBER.fullmatch(text)
        if match is None or (match["blank"] and not self.modern) or match["unit"] not in _FACTORS:
            raise refuse(errno.EINVAL)
        number = _fraction(match)
        is_bytes = bool(match["unit"]) or (number > 16384 if self.modern else number >= MIB)
        pages = int(number * _FACTORS[match["unit"]]) // PAGE_BYTES if is_bytes else int(number)
        if pages < self.pages_floor:
            raise refuse(errno.ERANGE)
        pages = -(-pages // chunk_pages) * chunk_pages
        if pages > brw_pages:
            raise refuse(errno.ERANGE)
        return pages

    def flight(self, text: str) -> int:
        """max_rpcs_in_flight: an integer in any base C knows."""
        value = _integer(text, any_base=True)
        if not 1 <= value <= 256:
            raise refuse(errno.ERANGE)
        return value

    def dirty(self, text: str) -> int:
        """max_dirty_mb: plain MiB, since 2.17 also with units, rounded up."""
        value = parse_rounded_mib(text) if self.modern else _integer(text, any_base=False)
        if value >= 2048 or value * MIB > self.ram_bytes // 4:
            raise refuse(errno.ERANGE)
        return value

    def adjusted_dirty(self, pages: int, flight: int, dirty_mib: int) -> int:
        """What storing an RPC knob, or connecting, makes of max_dirty_mb."""
        covering = -(-pages * flight * PAGE_BYTES // MIB)
        raised = max(dirty_mib, covering) if dirty_mib else _DEFAULT_DIRTY_MIB
        return min(raised, self.dirty_cut_mib)


def parse_megabytes(text: str) -> int:
    """Pages from a size in MiB with an optional fraction or unit (max_mb_per_rpc_read)."""
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"] not in _FACTORS:
        raise refuse(errno.EINVAL)
    size = _fraction(match) * (_FACTORS[match["unit"]] if match["unit"] else MIB)
    return int(size // PAGE_BYTES)


def parse_rounded_mib(text: str) -> int:
    """A size in MiB with an optional fraction or unit, rounded up to whole MiB.

    >>> parse_rounded_mib("1.5M"), parse_rounded_mib("2")
    (2, 2)
    """
    match = _NUMBER.fullmatch(text)
    if match is None or match["unit"] not in _FACTORS:
        raise refuse(errno.EINVAL)
    return -int(-(_fraction(match) * (_FACTORS[match["unit"]] if match["unit"] else MIB)) // MIB)


def parse_plain(text: str) -> int:
    """An integer as most of the kernel's files take it."""
    return _integer(text, any_base=True)


def _fraction(match: re.Match[str]) -> Fraction:
    return Fraction(f"{match['whole']}.{match['part'] or 0}")


def _integer(text: str, *, any_base: bool) -> int:
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise refuse(errno.EINVAL)
    digits = match["digits"]
    try:
        if not any_base:
            value = int(digits, 10)
        elif digits[:2] in ("0x", "0X"):
            value = int(digits, 16)
        else:
            value = int(digits, 8) if len(digits) > 1 and digits[0] == "0" else int(digits)
    except ValueError:
        raise refuse(errno.EINVAL) from None
    if value >= 2**32:
        raise refuse(errno.ERANGE)
    return value
