"""Keeps the process small: releases memory that only the start needed."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from penstock.knobs import Candidates
from penstock.ports import Predictor
from penstock.window import DIRECTIONS

_MAPS = Path("/proc/self/maps")
_COMPILER = "libllvmlite"
# From <linux/mman.h>: reclaim these pages now. Their contents are kept; a page is read again when it is touched.
_MADV_PAGEOUT = 21


def settling(predictor: Predictor | None, candidates: Sequence[Candidates]) -> Iterator[None]:
    """Call the model once for each set of candidates, so that the first decisions find everything prepared.

    Each step is short, because a slow core must observe in between. At the end all existing objects, which live as
    long as the process, are excluded from garbage collection.
    """
    if predictor is not None:
        for direction, each in itertools.product(DIRECTIONS, candidates):
            predictor.outlooks(direction, [()], each)
            yield
    gc.collect()
    gc.freeze()


def page_out_compiler() -> None:
    """Return the compiler's code to the page cache. If the kernel cannot do that, the code stays mapped."""
    try:
        maps = _MAPS.read_text(encoding="utf-8", errors="replace")
        madvise = ctypes.CDLL(None).madvise
    except (OSError, AttributeError):
        return
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, length in _compiler_ranges(maps):
        madvise(start, length, _MADV_PAGEOUT)


def _compiler_ranges(maps: str) -> Iterator[tuple[int, int]]:
    """The read-only address ranges of the compiler's library."""
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and _COMPILER in os.path.basename(fields[5]) and "w" not in fields[1]:  # noqa: PTH119
            start, end = (int(bound, 16) for bound in fields[0].split("-"))
            yield start, end - start
