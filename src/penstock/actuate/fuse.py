"""The actuator of FUSE mounts of network file systems."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.actuate.journal import Journal
from penstock.actuate.journalled import JournalledActuator, TargetWish
from penstock.actuate.knob_errors import TargetGoneError
from penstock.actuate.knobfiles import KnobFiles
from penstock.actuate.mountfiles import MountFiles
from penstock.actuate.system import SYSTEM, System
from penstock.errors import DataError
from penstock.knobs import KnobSpace, Setting
from penstock.observe.fuse.daemon_search import DaemonSearch
from penstock.observe.fuse.observer import ROOTS, FuseScope
from penstock.observe.fuse.source import knob_files, target_of
from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import Mount, MountTable, read_mounts
from penstock.snapshot import Target
from penstock.spaces import fuse as fuse_space
from penstock.target_kinds import FUSE

_NAME = re.compile(r"fuse\.[\w.-]+-\d+:\d+-\d+")


class FuseActuator(JournalledActuator):
    """Sets the kernel's knobs of FUSE mounts below a root."""

    def __init__(
        self,
        root: str | Path,
        journal: Journal,
        *,
        system: System = SYSTEM,
        scope: FuseScope = ROOTS,
    ) -> None:
        super().__init__(journal, fuse_space())
        self._fs = KernelFs(root)
        self._root = (system, str(root))
        self._scope = scope
        self._search = DaemonSearch(self._fs, search_s=scope.search_s)

    def targets(self) -> tuple[Target, ...]:
        """Every mount whose daemon is known."""
        try:
            return tuple(target for target, _ in self._served(read_mounts(self._fs)))
        except OSError:
            return ()

    def target_named(self, name: str) -> Target | None:
        """The mount of this name, there or not."""
        if _NAME.fullmatch(name) is None:
            return None
        there = (target for target in self.targets() if target.name == name)
        return next(there, Target(name, fs="(unmounted)", mount=name, kind=FUSE))

    def open(self, target: Target) -> MountFiles:
        """The files of a mount. Raises `TargetGoneError` if it is gone or was replaced by another.

        Raises OSError if the mount table cannot be read, and `DataError` while no daemon of the mount is found. It
        may still be the same mount then, so its originals are kept.
        """
        table = read_mounts(self._fs)
        served = self._served(table)
        for known, mount in served:
            if known.name == target.name:
                return MountFiles(self._root, target.name, knob_files(mount.device, mount.minor))
        found = {mount.device for _, mount in served}
        if any(_may_be(target, mount) and mount.device not in found for mount in table.mounts):
            raise DataError(f"{target.name}: it is mounted, but its daemon was not found; try again later")
        raise TargetGoneError(f"{target.name} is gone (unmounted)")

    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The kernel's bounds, the same for all mounts."""
        return self.whole

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal, with the congestion threshold changed along with the requests in flight."""
        if "flight" not in goal or "congested" in wish.wanted or "congested" in wish.entry.manual:
            return goal
        return self.whole.settle(wish.before, goal).only("congested", *goal)

    def _served(self, table: MountTable) -> list[tuple[Target, Mount]]:
        mounts = [mount for mount in table.in_sight() if self._scope.covers(mount)]
        daemons = self._search.find(mounts)
        return [(target_of(mount, daemons[mount]), mount) for mount in mounts if mount in daemons]


def _may_be(target: Target, mount: Mount) -> bool:
    """Whether a target can be this mount: only the start of its daemon is left to compare."""
    return target.name.startswith(f"{mount.kind}-{mount.device}-")
