"""Directories for the time of one measurement."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import AccessError


@contextmanager
def scratch(
    prefix: str, parent: Path | None = None, left_behind: Callable[[str], object] = bool
) -> Iterator[Path]:
    """A new directory, removed at the end with all it holds.

    What cannot be removed never hides the result: `left_behind` is told in one line. Python's own
    TemporaryDirectory ends in a RecursionError there (3.11).
    """
    try:
        home = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError as error:
        where = parent if parent is not None else "the directory for temporary files (TMPDIR)"
        raise AccessError(f"{where}: cannot make a directory here: {error.strerror}") from None
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if home.exists():
            left_behind(f"{home} could not be removed; remove it by hand")
