"""The actuators of a Lustre client's metadata: connections to metadata servers, and mounts.

Of a connection max_rpcs_in_flight is written before max_mod_rpcs_in_flight: lowering the first cuts the second, and
the second may not reach the first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from penstock.actuate.journal import Journal
from penstock.actuate.journalled import JournalledActuator, TargetWish
from penstock.actuate.knob_errors import TargetGoneError
from penstock.actuate.knobfiles import READ, KnobFiles
from penstock.actuate.lustre_files import LustreFiles, LustrePlaces
from penstock.actuate.system import SYSTEM, System
from penstock.errors import DataError
from penstock.knobs import KnobSpace, Setting
from penstock.observe.lustre.imports import find_value
from penstock.observe.lustre.layout import MDC_KNOBS, llite_mount, llite_target, mdc_target
from penstock.snapshot import Target
from penstock.spaces import MOD_RPCS
from penstock.spaces import mdc as mdc_space

_MDC = re.compile(r"[A-Za-z0-9_-]{1,32}-MDT[0-9a-fA-F]{4}-mdc-[0-9a-f]{4,32}")
_MOUNT = re.compile(r"[A-Za-z0-9_-]{1,32}-[0-9a-f]{4,32}")
_MOST_MOD_RPCS = 511


class MdcActuator(JournalledActuator):
    """Sets connections to metadata servers below a root."""

    def __init__(self, root: str | Path, journal: Journal, *, system: System = SYSTEM) -> None:
        super().__init__(journal, mdc_space(_MOST_MOD_RPCS))
        self._places = LustrePlaces(system, str(root), "mdc", _MDC)

    def targets(self) -> tuple[Target, ...]:
        """Every connection there is now."""
        found = (mdc_target(name) for name in self._places.names())
        return tuple(target for target in found if target is not None)

    def target_named(self, name: str) -> Target | None:
        """The connection of this name."""
        return mdc_target(name) if _MDC.fullmatch(name) else None

    def open(self, target: Target) -> LustreFiles:
        """The files of a connection."""
        if _MDC.fullmatch(target.name) is None:
            raise DataError(f"{target.name!r} is not the name of a connection to a metadata server")
        return LustreFiles(self._places, target.name, target.name, MDC_KNOBS)

    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The knobs within what the server allows this client to change at once."""
        return mdc_space(max(_server_limit(files), files.read("mod_rpcs")[0]))

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal, within what a knob allows that must stay as it is."""
        now = wish.before.replace(goal)
        if "rpcs" in wish.fixed and "mod_rpcs" in goal:
            return goal.replace(mod_rpcs=min(goal["mod_rpcs"], now["rpcs"] - 1))
        if "mod_rpcs" in wish.fixed and "rpcs" in goal:
            return goal.replace(rpcs=max(goal["rpcs"], now["mod_rpcs"] + 1))
        return goal


class LliteActuator(JournalledActuator):
    """Sets the knobs of one space in the directories of mounts below a root; `files` lists the file of each."""

    def __init__(
        self,
        root: str | Path,
        journal: Journal,
        space: KnobSpace,
        files: Mapping[str, str],
        *,
        system: System = SYSTEM,
    ) -> None:
        super().__init__(journal, space)
        self._files = files
        self._places = LustrePlaces(system, str(root), "llite", _MOUNT)

    def targets(self) -> tuple[Target, ...]:
        """Every mount there is now."""
        found = (llite_target(name, self.whole.kind) for name in self._places.names())
        return tuple(target for target in found if target is not None)

    def target_named(self, name: str) -> Target | None:
        """The mount's target of this name."""
        mount = llite_mount(name, self.whole.kind)
        return None if mount is None else llite_target(mount, self.whole.kind)

    def open(self, target: Target) -> LustreFiles:
        """The files of a mount."""
        if llite_mount(target.name, self.whole.kind) != target.mount:
            raise DataError(f"{target.name!r} is not the name of a mount's {self.whole.kind.name}")
        return LustreFiles(self._places, target.name, target.mount, self._files)

    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The kernel's bounds, the same for all mounts."""
        return self.whole


def _server_limit(files: KnobFiles) -> int:
    """How many requests that change something the server allows; what servers allow by default if it does not say."""
    if not isinstance(files, LustreFiles):
        return MOD_RPCS
    try:
        _, fd = files.open_file("import", READ)
        said = find_value(files.read_open(fd), b" max_mod_rpcs:")
    except (OSError, DataError, TargetGoneError):
        return MOD_RPCS
    return int(said) if said.isdigit() and int(said) > 0 else MOD_RPCS
