"""The knob files of one mount. Their paths come from the kernel's tables.

Only files that a knob space names are ever opened for writing, and no symbolic link is followed on the way.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from penstock.actuate.knob_errors import GONE, TargetGoneError
from penstock.actuate.knobfiles import KnobFiles, walk
from penstock.actuate.system import System
from penstock.errors import DataError

# The places where a knob may be, the preferred one first, and the factor between the units.
Places = tuple[tuple[str, int], ...]


class MountFiles(KnobFiles):
    """One mount. `files` says where each knob may be. `fixed` has the values that only a new mount would change."""

    def __init__(
        self,
        root: tuple[System, str],
        name: str,
        files: Mapping[str, Places],
        fixed: Mapping[str, int] | None = None,
    ) -> None:
        self.system, self._root = root
        self.name = name
        self._files = files
        self._fixed = fixed or {}
        self.knob_ids = (*files, *self._fixed)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing stays open between two reads."""

    def read(self, knob_id: str) -> tuple[int, bool]:
        """A knob's value, and whether its file holds nothing else."""
        if knob_id in self._fixed:
            return self._fixed[knob_id], True
        value, whole = super().read(knob_id)
        return value * self._found(knob_id)[1], whole

    def spelled(self, knob_id: str, value: int) -> bytes:
        """The value in the file's own unit."""
        return b"%d\n" % (value // self._found(knob_id)[1])

    def command(self, knob_id: str, value: int) -> str:
        """A command that writes the file; none for a value that only a new mount would change."""
        if knob_id in self._fixed:
            return ""
        path, unit = self._found(knob_id)
        return f"echo {value // unit} > /{path}"

    def open_knob(self, knob_id: str, flags: int) -> tuple[str, int]:
        """Where a knob's file is, and a descriptor of it."""
        path, fd = self._open_first(knob_id, flags)
        if stat.S_ISREG(self.system.fstat(fd).st_mode):
            return path, fd
        self.system.close(fd)
        raise DataError(f"/{path}: not a regular file")

    def _open_first(self, knob_id: str, flags: int) -> tuple[str, int]:
        for path, _ in self._files[knob_id]:
            home, _, file = path.rpartition("/")
            try:
                directory = walk(self.system, self._root, home)
                try:
                    return path, self.system.open(file, flags, 0, directory)
                finally:
                    self.system.close(directory)
            except OSError as error:
                if error.errno not in GONE:
                    raise OSError(error.errno, error.strerror, f"/{path}") from None
        raise TargetGoneError(f"{self.name}: {knob_id} is gone (unmounted)")

    def _found(self, knob_id: str) -> tuple[str, int]:
        """The place in use. With a single place it need not be opened."""
        places = self._files[knob_id]
        if len(places) == 1:
            return places[0]
        path, fd = self._open_first(knob_id, 0)
        self.system.close(fd)
        return path, dict(places)[path]
