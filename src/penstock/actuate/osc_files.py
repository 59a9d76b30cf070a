"""The knob files of one Lustre data path.

Only the three files of the allow-list are ever opened for writing, and only below a directory whose name is that of a
client data path. No symbolic link is followed on the way. One value is one write(2): pwrite fails on 2.15's procfs,
and several parameters in one write hide which of them failed.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType, TracebackType

from penstock.actuate.knob_errors import GONE, TargetGoneError
from penstock.actuate.knobfiles import DIRECTORY, READ, KnobFiles, walk
from penstock.actuate.system import System
from penstock.errors import DataError, UsageError
from penstock.observe.lustre.imports import find_connection, find_value
from penstock.observe.lustre.layout import PLACES
from penstock.units import PAGE_BYTES

KNOB_FILES: Mapping[str, str] = MappingProxyType(
    {"pages": "max_pages_per_rpc", "flight": "max_rpcs_in_flight", "dirty": "max_dirty_mb"}
)
# Introduced with the version that refuses fewer than 16 pages.
_SIGN_OF_FLOOR, _FLOOR_PAGES = "max_mb_per_rpc_read", 16
_NAME = re.compile(r"[A-Za-z0-9_-]{1,32}-OST[0-9a-fA-F]{4}-osc-[0-9a-f]{4,32}")


def check_name(name: str) -> str:
    """The name itself, if it is that of a client data path.

    Any other name is refused before it becomes part of a path.

    >>> check_name("lustre-OST0000-osc-ff1100010179b000")
    'lustre-OST0000-osc-ff1100010179b000'
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(f"{name!r} is not the name of a Lustre client data path (FS-OSTxxxx-osc-INSTANCE)")
    return name


class OscPlaces:
    """The directories of data paths below a root. Each is opened once, without following any link."""

    def __init__(self, system: System, root: str) -> None:
        self.system = system
        self._root = root
        self._fds: dict[str, int] = {}

    def names(self) -> tuple[str, ...]:
        """The names of all client data paths there are now."""
        found = self._try_names()
        if not found and self._fds:
            self.close()
            found = self._try_names()
        return tuple(sorted(found))

    def open(self, name: str) -> list[tuple[str, int]]:
        """The directories of one data path and their paths; none if it is gone."""
        found = self._try_open(name)
        if not found and self._fds:
            # The module may have been loaded again since, with new directories.
            self.close()
            found = self._try_open(name)
        return found

    def close(self) -> None:
        """Close the directories. The next use opens them again."""
        while self._fds:
            self.system.close(self._fds.popitem()[1])

    def __del__(self) -> None:
        self.close()

    def _try_names(self) -> set[str]:
        found: set[str] = set()
        for place in PLACES:
            try:
                fd = self.system.open(".", os.O_RDONLY | os.O_DIRECTORY, 0, self._place(place))
            except OSError:
                continue
            try:
                found.update(name for name in self.system.names(fd) if _NAME.fullmatch(name))
            finally:
                self.system.close(fd)
        return found

    def _try_open(self, name: str) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        for place in PLACES:
            try:
                found.append(
                    (f"{place}/osc/{name}", self.system.open(name, DIRECTORY, 0, self._place(place)))
                )
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.ENOTCONN, errno.EIO):
                    for _, fd in found:
                        self.system.close(fd)
                    raise
        return found

    def _place(self, place: str) -> int:
        if place not in self._fds:
            self._fds[place] = walk(self.system, self._root, f"{place}/osc")
        return self._fds[place]


@dataclass(frozen=True, slots=True)
class Connection:
    """The bounds that the target's connection states; None if it cannot be read."""

    generation: int | None = None
    brw_pages: int | None = None
    chunk_pages: int = 1


class OscFiles(KnobFiles):
    """One data path. Its directories are open for the duration of a `with` block."""

    knob_ids = tuple(KNOB_FILES)

    def __init__(self, places: OscPlaces, name: str) -> None:
        self.name = check_name(name)
        self.system = places.system
        self._all = places
        self._places: list[tuple[str, int]] = []

    def __enter__(self) -> OscFiles:
        self._places = self._all.open(self.name)
        if not self._places:
            raise TargetGoneError(f"{self.name} is gone (unmounted?)")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._places:
            self.system.close(self._places.pop()[1])

    def open_knob(self, knob_id: str, flags: int) -> tuple[str, int]:
        """Where a knob's file is, and a descriptor of it."""
        return self._open(KNOB_FILES[knob_id], flags)

    def parsed(self, knob_id: str, text: bytes) -> int:
        """Some versions print a fraction."""
        return round(float(text)) if b"." in text else int(text)

    def command(self, knob_id: str, value: int) -> str:
        """One `lctl` line: lctl hides the failure of all but its last parameter, so each knob gets its own.

        >>> OscFiles(OscPlaces(System(), "/"), "lustre-OST0000-osc-ff1100010179b000").command("pages", 256)
        'lctl set_param osc.lustre-OST0000-osc-ff1100010179b000.max_pages_per_rpc=256'
        """
        return f"lctl set_param osc.{self.name}.{KNOB_FILES[knob_id]}={value}"

    def connection(self) -> Connection:
        """Bounds and identity of the connection, as far as this user may read them."""
        try:
            _, fd = self._open("import", READ)
            text = self.read_open(fd)
            _, generation, brw_bytes = find_connection(text)
        except (OSError, DataError, TargetGoneError):
            return Connection()
        chunk = find_value(text, b" grant_block_size:")
        chunk_pages = max(1, int(chunk) // PAGE_BYTES) if chunk.isdigit() else 1
        return Connection(generation, brw_bytes // PAGE_BYTES if brw_bytes else None, chunk_pages)

    def pages_floor(self) -> int:
        """The smallest max_pages_per_rpc that this client accepts, determined from its files, not from its
        version.
        """
        for _, directory in self._places:
            try:
                self.system.close(self.system.open(_SIGN_OF_FLOOR, os.O_PATH | os.O_NOFOLLOW, 0, directory))
            except OSError:
                continue
            return _FLOOR_PAGES
        return 1

    def _open(self, file: str, flags: int) -> tuple[str, int]:
        for place, directory in self._places:
            path = f"{place}/{file}"
            try:
                fd = self.system.open(file, flags, 0, directory)
            except OSError as error:
                if error.errno in GONE:
                    continue
                raise OSError(error.errno, error.strerror, f"/{path}") from None
            if stat.S_ISREG(self.system.fstat(fd).st_mode):
                return path, fd
            self.system.close(fd)
            raise DataError(f"/{path}: not a regular file")
        raise TargetGoneError(f"{self.name}: {file} is gone (unmounted)")
