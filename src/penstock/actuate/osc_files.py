"""The knob files of one Lustre data path, and what its connection says."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from penstock.actuate.knob_errors import TargetGoneError
from penstock.actuate.knobfiles import READ
from penstock.actuate.lustre_files import LustreFiles, LustrePlaces
from penstock.actuate.system import System
from penstock.errors import DataError, UsageError
from penstock.observe.lustre.imports import find_connection, find_value
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


class OscPlaces(LustrePlaces):
    """The directories of data paths below a root."""

    def __init__(self, system: System, root: str) -> None:
        super().__init__(system, root, "osc", _NAME)


@dataclass(frozen=True, slots=True)
class Connection:
    """The bounds that the target's connection states; None if it cannot be read."""

    generation: int | None = None
    brw_pages: int | None = None
    chunk_pages: int = 1


class OscFiles(LustreFiles):
    """One data path.

    >>> OscFiles(OscPlaces(System(), "/"), "lustre-OST0000-osc-ff1100010179b000").command("pages", 256)
    'lctl set_param osc.lustre-OST0000-osc-ff1100010179b000.max_pages_per_rpc=256'
    """

    def __init__(self, places: OscPlaces, name: str) -> None:
        super().__init__(places, check_name(name), name, KNOB_FILES)

    def parsed(self, knob_id: str, text: bytes) -> int:
        """Some versions print a fraction."""
        return round(float(text)) if b"." in text else int(text)

    def connection(self) -> Connection:
        """Bounds and identity of the connection, as far as this user may read them."""
        try:
            _, fd = self.open_file("import", READ)
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
