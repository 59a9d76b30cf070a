"""A small process: what only starting needed is let go once everything is at hand."""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.decide.policies._base import RPC_KNOBS
from penstock.ports import Predictor
from penstock.spaces import LUSTRE
from penstock.window import DIRECTIONS

_MAPS = Path("/proc/self/maps")
_COMPILER = "libllvmlite"
# From <linux/mman.h>: reclaim these pages now. Contents stay: what is touched again is read again.
_MADV_PAGEOUT = 21


def settle(predictor: Predictor | None) -> None:
    """Ask the model once, so that no later interval waits for a compiler, and then let the compiler go.

    The objects made so far live as long as the process and are taken out of the garbage collector's rounds.
    """
    if predictor is not None:
        for direction in DIRECTIONS:
            predictor.outlooks(direction, [()], LUSTRE.grid(*RPC_KNOBS))
    gc.collect()
    gc.freeze()
    _page_out_compiler()


def _page_out_compiler() -> None:
    """Return the compiler's code to the kernel's page cache; a kernel that cannot do so keeps it mapped."""
    try:
        maps = _MAPS.read_text(encoding="utf-8", errors="replace")
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, length in _compiler_ranges(maps):
        madvise(start, length, _MADV_PAGEOUT)


def _compiler_ranges(maps: str) -> Iterator[tuple[int, int]]:
    """Where the compiler's library lies and is never written."""
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and _COMPILER in os.path.basename(fields[5]) and "w" not in fields[1]:  # noqa: PTH119
            start, end = (int(bound, 16) for bound in fields[0].split("-"))
            yield start, end - start
