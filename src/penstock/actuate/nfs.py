"""The actuator of kernel NFS mounts: readahead per mount, and the node's dirty limit if that was opted in to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from penstock.actuate.journal import Journal
from penstock.actuate.journalled import JournalledActuator, TargetWish
from penstock.actuate.knob_errors import TargetGoneError
from penstock.actuate.knobfiles import KnobFiles
from penstock.actuate.mountfiles import MountFiles, Places
from penstock.actuate.system import SYSTEM, System
from penstock.errors import DataError
from penstock.knobs import KnobSpace, Setting
from penstock.observe import bdi
from penstock.observe.kernelfs import KernelFs, read_once
from penstock.observe.mounts import read_mounts
from penstock.observe.nfs.mountstats import KINDS
from penstock.observe.nfs.observer import SAME_MOUNT_S, NfsObserver
from penstock.snapshot import Target, TargetSnapshot
from penstock.spaces import BY_RATIO
from penstock.spaces import nfs as nfs_space
from penstock.target_kinds import NFS

_NAME = re.compile(r"nfs-(?P<device>\d+:\d+)-(?P<mounted_s>\d+)")
_FIXED = ("rsize", "wsize", "rpc_slots")
_DIRTY_BYTES, _DIRTY_RATIO = "proc/sys/vm/dirty_bytes", "proc/sys/vm/dirty_ratio"


class NfsFiles(MountFiles):
    """The files of one NFS mount. Without a limit in bytes, the node's dirty limit counts as the largest value."""

    def read(self, knob_id: str) -> tuple[int, bool]:
        value, whole = super().read(knob_id)
        return (BY_RATIO, whole) if knob_id == "dirty_bytes" and value == 0 else (value, whole)

    def write(self, knob_id: str, value: int) -> None:
        """Write one value. To remove the limit in bytes, the ratio is written next, so nothing is written here."""
        if knob_id != "dirty_bytes" or value != BY_RATIO:
            super().write(knob_id, value)

    def command(self, knob_id: str, value: int) -> str:
        """A command that writes the file; none for the limit in bytes, which disappears when the ratio is set."""
        return "" if knob_id == "dirty_bytes" and value == BY_RATIO else super().command(knob_id, value)


class NfsActuator(JournalledActuator):
    """Sets NFS mounts below a root. `node_knobs` names the node-wide knobs that may be set, none by default.

    A node-wide knob belongs to no mount. It is set only if there is a single mount to judge it by.
    """

    def __init__(
        self,
        root: str | Path,
        journal: Journal,
        *,
        system: System = SYSTEM,
        node_knobs: frozenset[str] = frozenset(),
    ) -> None:
        self._fs = KernelFs(root)
        self._root = (system, str(root))
        self._node_knobs = node_knobs & {"dirty_bytes"}
        super().__init__(journal, nfs_space(self._original_ratio(journal), self._node_knobs))
        self._observer = NfsObserver(root, rescan_s=0.0)

    def targets(self) -> tuple[Target, ...]:
        """Every mount there is now."""
        return tuple(seen.target for seen in self._seen())

    def target_named(self, name: str) -> Target | None:
        """The mount of this name, there or not."""
        if _NAME.fullmatch(name) is None:
            return None
        seen = self._find(name)
        return Target(name, fs=seen.target.fs if seen else "(unmounted)", mount=name, kind=NFS)

    def open(self, target: Target) -> NfsFiles:
        """The files of a mount. Raises `TargetGoneError` if it is gone or was replaced by another.

        Raises OSError or `DataError` if it is mounted but cannot be read now: its originals are kept then.
        """
        seen = self._find(target.name)
        if seen is None:
            self._require_read(target.name)
            raise TargetGoneError(f"{target.name} is gone (unmounted)")
        fixed = {knob_id: seen.setting[knob_id] for knob_id in _FIXED}
        return NfsFiles(self._root, target.name, _places(target.name), fixed)

    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The kernel's bounds. Node-wide knobs are included only if no other mount would be affected."""
        alone = len(self._seen()) == 1
        return self.whole if alone else nfs_space(self.whole["dirty_ratio"].default, frozenset())

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal, with the ratio that applies once there is no limit in bytes."""
        if goal.get("dirty_bytes") != BY_RATIO:
            return goal
        return goal.replace(dirty_ratio=wish.entry.original["dirty_ratio"])

    def _original_ratio(self, journal: Journal) -> int:
        """The ratio that applies without a limit in bytes: the present one, or the one before we set a limit."""
        for entry in journal.entries.values():
            if "dirty_ratio" in entry.original:
                return entry.original["dirty_ratio"]
        try:
            return bdi.parse_number(
                read_once(self._fs.path(_DIRTY_RATIO)).decode("ascii", "replace"), _DIRTY_RATIO
            )
        except (OSError, DataError):
            return 0

    def _seen(self) -> tuple[TargetSnapshot, ...]:
        return self._observer.observe().targets

    def _require_read(self, name: str) -> None:
        """Refuse to call a mount gone while its device is in the mount table, but its counters cannot be read."""
        match = _NAME.fullmatch(name)
        read = {known["device"] for seen in self._seen() if (known := _NAME.fullmatch(seen.target.name))}
        for mount in read_mounts(self._fs).mounts:
            if match and mount.kind in KINDS and mount.device == match["device"] and mount.device not in read:
                raise DataError(f"{name}: it is mounted, but its counters could not be read; try again later")

    def _find(self, name: str) -> TargetSnapshot | None:
        """The mount with this device, unless it was mounted again since. Its age is known to the second only."""
        match = _NAME.fullmatch(name)
        for seen in self._seen() if match else ():
            known = _NAME.fullmatch(seen.target.name)
            if match and known and known["device"] == match["device"]:
                near = abs(int(known["mounted_s"]) - int(match["mounted_s"]))
                return seen if near <= SAME_MOUNT_S else None
        return None


def _places(name: str) -> Mapping[str, Places]:
    device = name.split("-")[1]
    return {
        "ahead": ((f"{bdi.KNOBS}/{device}/read_ahead_kb", 1),),
        "dirty_bytes": ((_DIRTY_BYTES, 1),),
        "dirty_ratio": ((_DIRTY_RATIO, 1),),
    }
