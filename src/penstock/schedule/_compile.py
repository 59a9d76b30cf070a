"""Compiles kernels with Numba if it is installed. Otherwise plain Python gives the same results more slowly."""

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
    """The kernel, compiled on first use, cached on disk, and run without the interpreter lock."""
    if not COMPILED:
        return kernel
    try:
        return cast(Kernel, numba.njit(cache=True, nogil=True)(kernel))
    except RuntimeError:
        # Neither the package's directory nor the user's is writable, so it is compiled anew each time.
        return cast(Kernel, numba.njit(nogil=True)(kernel))
