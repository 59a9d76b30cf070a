"""How kernels are compiled: one decorator, so that the same source also runs as plain Python.

Set `NUMBA_DISABLE_JIT=1` (numba's own switch) to run every kernel uncompiled; the trace is identical, only
slower. Where numba is not installed the kernels run as plain Python too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:

    def kernel(function: Callable[P, R]) -> Callable[P, R]:
        """Compile a function on first use and keep the machine code on disk."""
        ...

else:
    try:
        from numba import njit
    except ImportError:

        def kernel(function):
            """Leave the function as it is: numba is not installed."""
            return function

    else:
        import penstock.simulate._worldtype  # noqa: F401  (teaches numba what a World is)

        kernel = njit(cache=True)
