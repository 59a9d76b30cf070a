"""The observer of FUSE mounts of network file systems."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.errors import DataError
from penstock.observe.fuse.daemon import Daemon, find_daemons, read_start
from penstock.observe.fuse.source import CONNECTIONS, FuseSource
from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import Mount, in_sight, read_mounts
from penstock.observe.passes import MountObserver, ObservedSource
from penstock.snapshot import Problem

# Daemons known to use a server over a network. Local ones gain nothing from these knobs.
NETWORK_KINDS = frozenset(
    f"fuse.{kind}"
    for kind in ("glusterfs", "ceph-fuse", "sshfs", "s3fs", "rclone", "juicefs", "mfs", "seaweedfs", "davfs2")
)


def fuse_mounts(fs: KernelFs, kinds: frozenset[str] = NETWORK_KINDS) -> tuple[Mount, ...]:
    """The FUSE mounts of these kinds below a root. Raises OSError."""
    return tuple(mount for mount in in_sight(read_mounts(fs)) if mount.kind in kinds)


class FuseObserver(MountObserver):
    """Observes every FUSE mount of the given kinds."""

    system = "fuse"

    def __init__(
        self, root: str | Path = "/", kinds: frozenset[str] = NETWORK_KINDS, **options: object
    ) -> None:
        super().__init__(root, **options)  # type: ignore[arg-type]
        self._kinds = kinds

    def scan(self, known: Mapping[str, ObservedSource]) -> tuple[dict[str, ObservedSource], list[Problem]]:
        """The present mounts. Daemons are looked up only for new mounts."""
        there = {mount.device: mount for mount in fuse_mounts(self.fs, self._kinds)}
        kept = {
            source.mount.device: source
            for source in known.values()
            if isinstance(source, FuseSource)
            and there.get(source.mount.device) == source.mount
            and _still_serves(self.fs, source.daemon)
        }
        new = [mount for device, mount in there.items() if device not in kept]
        daemons = find_daemons(self.fs, frozenset(mount.minor for mount in new)) if new else {}
        found: dict[str, ObservedSource] = {source.name: source for source in kept.values()}
        problems = []
        for mount in new:
            daemon = daemons.get(mount.minor)
            if daemon is None:
                problems.append(Problem(mount.path, self._why_no_daemon(mount)))
                continue
            source = FuseSource(self.fs, mount, daemon, self.clock)
            found[source.name] = source
        return found, problems

    def _why_no_daemon(self, mount: Mount) -> str:
        if not self.fs.names(f"{CONNECTIONS}/{mount.minor}"):
            return "its connection is not shown (mount -t fusectl none /sys/fs/fuse/connections)"
        return "its daemon was not found (needs root and a kernel that names connections in fdinfo)"


def _still_serves(fs: KernelFs, daemon: Daemon) -> bool:

    try:
        return read_start(fs, daemon.pid) == daemon.started
    except (OSError, DataError):
        return False
