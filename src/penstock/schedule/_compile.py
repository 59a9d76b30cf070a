"""Numba where it is installed; plain Python, slower and just as exact, where it is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

try:
    import numba

    COMPILED = True
except ImportError:
    COMPILED = False


def compiled(kernel: Kernel) -> Kernel:
    """The kernel, machine code on first use, cached on disk, free of the interpreter lock."""
    if not COMPILED:
        return kernel
    try:
        return cast(Kernel, numba.njit(cache=True, nogil=True)(kernel))
    except RuntimeError:
        # Neither the package's directory nor the user's can be written: compile anew each time.
        return cast(Kernel, numba.njit(nogil=True)(kernel))
