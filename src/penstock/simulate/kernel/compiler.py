"""How kernels are compiled: one decorator, so that the same source also runs as plain Python.

Set `NUMBA_DISABLE_JIT=1` (numba's own switch) to run every kernel uncompiled; the trace is identical, only
slower. Where numba is not installed the kernels can be imported, but nothing is simulated: see `require_compiler`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from penstock.errors import require_extra

P = ParamSpec("P")
R = TypeVar("R")

if TYPE_CHECKING:

    def kernel(function: Callable[P, R]) -> Callable[P, R]:
        """Compile a function that only other kernels call."""
        ...

    def entry(function: Callable[P, R]) -> Callable[P, R]:
        """Compile a function that Python calls too."""
        ...

    def prefetch(items: object, index: int) -> None:
        """Begin to fetch the cache line of `field[i]` or `array[i]`, without waiting; changes nothing."""

    _MISSING: ImportError | None

else:

    def prefetch(items, index):
        """Do nothing: there is no way to fetch ahead uncompiled."""

    try:
        from numba import config, njit, types
    except ImportError as error:
        _MISSING = error

        def kernel(function):
            """Leave the function as it is: numba is not installed."""
            return function

        entry = kernel

    else:
        _MISSING = None
        from penstock.simulate.kernel._worldtype import WORLD, fetch_line

        if not config.DISABLE_JIT:
            prefetch = fetch_line

        _KINDS = {
            "World": WORLD,
            "int": types.int64,
            "float": types.float64,
            "bool": types.boolean,
            "None": types.void,
        }

        def _compiled(function, **options):
            if config.DISABLE_JIT:
                return function
            kinds = {name: _KINDS[kind] for name, kind in function.__annotations__.items()}
            returned = kinds.pop("return")
            options = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
            return njit(returned(*kinds.values()), **options)(function)

        def kernel(function):
            """Compile for exactly the annotated types, once, and keep the machine code on disk.

            There is no way in from Python (compiled, such a call crashes): the code that unpacks Python's
            arguments would take longer to compile than most kernels.
            """
            return _compiled(function, no_cpython_wrapper=True)

        def entry(function):
            """Compile a kernel that Python calls too."""
            return _compiled(function)


def require_compiler() -> None:
    """Refuse to simulate uncompiled where nobody chose to: what takes a second would take many minutes."""
    if _MISSING is not None:
        raise require_extra("demo", _MISSING)
