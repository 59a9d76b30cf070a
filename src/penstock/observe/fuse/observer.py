"""The observer of FUSE mounts of network file systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.observe.fuse.daemon_search import SEARCH_S, DaemonSearch
from penstock.observe.fuse.source import CONNECTIONS, FuseSource
from penstock.observe.mounts import Mount, read_mounts
from penstock.observe.passes import MountObserver, ObservedSource
from penstock.snapshot import Problem

# Daemons known to use a server over a network. Local ones gain nothing from these knobs.
NETWORK_KINDS = frozenset(
    f"fuse.{kind}"
    for kind in ("glusterfs", "ceph-fuse", "sshfs", "s3fs", "rclone", "juicefs", "mfs", "seaweedfs", "davfs2")
)


@dataclass(frozen=True, slots=True)
class FuseScope:
    """Which FUSE mounts count: by kind, and by the uid that mounted them. None stands for all.

    A user's own mount has any name its owner likes, and its daemon answers as its owner likes.
    """

    kinds: frozenset[str] | None = NETWORK_KINDS
    users: frozenset[int] | None = frozenset({0})
    devices: frozenset[str] | None = None
    #: What one search for daemons may take.
    search_s: float = SEARCH_S

    def covers(self, mount: Mount) -> bool:
        """Whether a mount counts."""
        known = mount.kind.startswith("fuse.") if self.kinds is None else mount.kind in self.kinds
        mine = self.users is None or mount.user in self.users
        return known and mine and (self.devices is None or mount.device in self.devices)

    def patient(self) -> FuseScope:
        """The same mounts for whoever has no interval to keep: one search may look at all processes."""
        return replace(self, search_s=PATIENT_S)


ROOTS = FuseScope()
PATIENT_S = 30.0


def named_in(targets: Iterable[str], search_s: float = PATIENT_S) -> FuseScope:
    """The mounts of these targets alone, whatever a configuration says by now: what was tuned must be restored."""
    devices = frozenset(name.rpartition("-")[0].rpartition("-")[2] for name in targets)
    return FuseScope(None, None, devices, search_s)


class FuseObserver(MountObserver):
    """Observes every FUSE mount in a scope."""

    system = "fuse"

    def __init__(self, root: str | Path = "/", scope: FuseScope = ROOTS, **options: object) -> None:
        super().__init__(root, **options)  # type: ignore[arg-type]
        self._scope = scope
        self._search = DaemonSearch(self.fs, search_s=scope.search_s)

    def scan(self, known: Mapping[str, ObservedSource]) -> tuple[dict[str, ObservedSource], list[Problem]]:
        """The present mounts. Daemons are looked up only for new mounts."""
        table = read_mounts(self.fs)
        there = [mount for mount in table.in_sight() if self._scope.covers(mount)]
        kept = {source.mount: source for source in known.values() if isinstance(source, FuseSource)}
        daemons = self._search.find(there)
        found: dict[str, ObservedSource] = {}
        problems = [*table.problems]
        for mount in there:
            daemon, source = daemons.get(mount), kept.get(mount)
            if daemon is None:
                problems.append(Problem(mount.path, self._why_no_daemon(mount)))
                continue
            if source is None or source.daemon != daemon:
                source = FuseSource(self.fs, mount, daemon, self.clock)
            found[source.name] = source
        return found, problems

    def _why_no_daemon(self, mount: Mount) -> str:
        if not self.fs.names(f"{CONNECTIONS}/{mount.minor}"):
            return "its connection is not shown (mount -t fusectl none /sys/fs/fuse/connections)"
        if self._search.unfinished(mount):
            return "its daemon was not found yet: many processes have many files open"
        return "its daemon was not found (needs root and a kernel that names connections in fdinfo)"
