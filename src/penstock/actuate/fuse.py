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
from penstock.observe.fuse.daemon import Daemon, find_daemons, read_start
from penstock.observe.fuse.observer import NETWORK_KINDS, fuse_mounts
from penstock.observe.fuse.source import knob_files, target_of
from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import Mount
from penstock.snapshot import Target
from penstock.spaces import fuse as fuse_space

_NAME = re.compile(r"fuse\.[\w.-]+-\d+:\d+-\d+")


class FuseActuator(JournalledActuator):
    """Sets the kernel's knobs of FUSE mounts below a root."""

    def __init__(
        self,
        root: str | Path,
        journal: Journal,
        *,
        system: System = SYSTEM,
        kinds: frozenset[str] = NETWORK_KINDS,
    ) -> None:
        super().__init__(journal, fuse_space())
        self._fs = KernelFs(root)
        self._root = (system, str(root))
        self._kinds = kinds
        self._daemons: dict[int, Daemon] = {}

    def targets(self) -> tuple[Target, ...]:
        """Every mount whose daemon is known."""
        return tuple(target for target, _ in self._served())

    def target_named(self, name: str) -> Target | None:
        """The mount of this name, there or not."""
        if _NAME.fullmatch(name) is None:
            return None
        there = (target for target in self.targets() if target.name == name)
        return next(there, Target(name, fs="(unmounted)", mount=name))

    def open(self, target: Target) -> MountFiles:
        """The files of a mount. Raises `TargetGoneError` if it is gone or was replaced by another."""
        for known, mount in self._served():
            if known.name == target.name:
                return MountFiles(self._root, target.name, knob_files(mount.device, mount.minor))
        raise TargetGoneError(f"{target.name} is gone (unmounted)")

    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The kernel's bounds, the same for all mounts."""
        return self.whole

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal, with the congestion threshold changed along with the requests in flight."""
        if "flight" not in goal or "congested" in wish.wanted or "congested" in wish.entry.manual:
            return goal
        return self.whole.settle(wish.before, goal).only("congested", *goal)

    def _served(self) -> list[tuple[Target, Mount]]:
        try:
            mounts = fuse_mounts(self._fs, self._kinds)
        except (OSError, DataError):
            return []
        self._daemons = {minor: daemon for minor, daemon in self._daemons.items() if self._lives(daemon)}
        new = frozenset(mount.minor for mount in mounts) - self._daemons.keys()
        if new:
            self._daemons.update(find_daemons(self._fs, new))
        return [
            (target_of(mount, self._daemons[mount.minor]), mount)
            for mount in mounts
            if mount.minor in self._daemons
        ]

    def _lives(self, daemon: Daemon) -> bool:
        try:
            return read_start(self._fs, daemon.pid) == daemon.started
        except (OSError, DataError):
            return False
