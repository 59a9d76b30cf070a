"""The observer of kernel NFS mounts, versions 3 and 4."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.observe import bdi
from penstock.observe.dirty_pages import DirtyPages, parse_dirty_pages
from penstock.observe.kept_files import KeptFiles, unread
from penstock.observe.kernelfs import LARGEST_TABLE_BYTES, KernelFs, read_once
from penstock.observe.mounts import Mount, read_mounts
from penstock.observe.nfs.mountstats import KINDS, NfsMount, parse_mountstats
from penstock.observe.nfs.sunrpc import Transport, read_transports
from penstock.observe.passes import MountObserver, ObservedSource, Reading
from penstock.snapshot import Problem, Target, TargetSnapshot
from penstock.spaces import BY_RATIO
from penstock.target_kinds import NFS
from penstock.units import KIB

# A mount's age is given in whole seconds, so the time of mounting is known to about one second.
SAME_MOUNT_S = 2
_SESSION_SLOTS = "sys/module/nfs/parameters/max_session_slots"
_TABLE_SLOTS = "proc/sys/sunrpc/tcp_max_slot_table_entries"


def target_of(mount: Mount, mounted_s: int) -> Target:
    """The target of a mount. Its name ends with the time of mounting, so a new mount is another target."""
    name = f"nfs-{mount.device}-{mounted_s}"
    return Target(name, fs=mount.path, mount=name, kind=NFS)


class NfsObserver(MountObserver):
    """Observes all NFS mounts. They share one kernel file, so all are read at once."""

    system = "nfs"

    def scan(self, known: Mapping[str, ObservedSource]) -> tuple[dict[str, ObservedSource], list[Problem]]:
        """One source for all mounts, while there are any."""
        table = read_mounts(self.fs)
        mounts = [mount for mount in table.in_sight() if mount.kind in KINDS]
        if not mounts:
            return {}, [*table.problems]
        source = known.get(NfsSource.name)
        if not isinstance(source, NfsSource):
            source = NfsSource(self.fs, self.clock)
        source.mounts = {mount.path: mount for mount in mounts}
        return {source.name: source}, [*table.problems]


class NfsSource(ObservedSource):
    """Reads all NFS mounts of a node."""

    name = "nfs"

    def __init__(self, fs: KernelFs, clock: Callable[[], float]) -> None:
        self.mounts: dict[str, Mount] = {}
        self._fs, self._clock = fs, clock
        self._files = KeptFiles(fs)
        self._targets: dict[str, Target] = {}

    def read(self) -> Sequence[Reading | Problem] | None:
        """A reading of every mount. A mount whose block cannot be parsed becomes a problem of its own."""
        t_s = self._clock()
        try:
            parsed = parse_mountstats(read_once(self._fs.path("proc/self/mountstats"), LARGEST_TABLE_BYTES))
            uptime_s = float(self._files.text("uptime", "proc/uptime").split()[0])
            node = self._node_dirty()
        except OSError as error:
            return [unread(self._fs, self.name, error)]
        except (DataError, ValueError, IndexError) as error:
            return [Problem(self.name, f"discarded: {error}")]
        transports = read_transports(self._fs)
        found: list[Reading | Problem] = []
        seen: set[str] = set()
        for item in parsed:
            mount = self.mounts.get(item.path)
            if mount is None or mount.device in seen:
                continue
            seen.add(mount.device)
            if isinstance(item, NfsMount):
                found.append(
                    self._reading(t_s, mount, item, round(uptime_s) - item.age_s, (node, transports))
                )
            else:
                found.append(Problem(item.path, item.why))
        # A mount that appeared or vanished since the table was read shows here first.
        return found if seen == {mount.device for mount in self.mounts.values()} else None

    def close(self) -> None:
        """Release all descriptors."""
        self._files.close()

    def _reading(
        self,
        t_s: float,
        mount: Mount,
        said: NfsMount,
        mounted_s: int,
        node: tuple[DirtyPages, Sequence[Transport]],
    ) -> Reading | Problem:
        target = self._target(mount, mounted_s)
        try:
            setting = self._setting(mount, said)
            gauges = self._gauges(mount, said, *node)
        except OSError as error:
            return unread(self._fs, target.name, error)
        except DataError as error:
            return Problem(target.name, f"discarded: {error}")
        counts = said.counts
        asked = {
            "app.read_bytes": float(counts.app_read + counts.direct_read),
            "app.write_bytes": float(counts.app_write + counts.direct_write),
        }
        snapshot = TargetSnapshot(target, t_s, setting, _counters(said), gauges, epoch=target.name, state="")
        return Reading(snapshot, asked)

    def _target(self, mount: Mount, mounted_s: int) -> Target:
        """The same target as before, unless the mount was mounted again since."""
        known = self._targets.get(mount.device)
        if known is None or abs(int(known.name.rpartition("-")[2]) - mounted_s) > SAME_MOUNT_S:
            known = self._targets[mount.device] = target_of(mount, mounted_s)
        return known

    def _setting(self, mount: Mount, said: NfsMount) -> Setting:
        ahead = self._files.text(f"ahead {mount.device}", f"{bdi.KNOBS}/{mount.device}/read_ahead_kb")
        slots = _SESSION_SLOTS if said.options.get("vers", "").startswith("4.") else _TABLE_SLOTS
        dirty = self._files.text("dirty_bytes", "proc/sys/vm/dirty_bytes")
        ratio = self._files.text("dirty_ratio", "proc/sys/vm/dirty_ratio")
        return Setting(
            ahead=bdi.parse_number(ahead, "read_ahead_kb"),
            dirty_bytes=bdi.parse_number(dirty, "dirty_bytes") or BY_RATIO,
            dirty_ratio=bdi.parse_number(ratio, "dirty_ratio"),
            rsize=said.size("rsize") // KIB,
            wsize=said.size("wsize") // KIB,
            rpc_slots=bdi.parse_number(read_once(self._fs.path(slots)).decode("ascii", "replace"), slots),
        )

    def _gauges(
        self, mount: Mount, said: NfsMount, node: DirtyPages, transports: Sequence[Transport]
    ) -> dict[str, float]:
        """Dirty data of the mount if the kernel reports it, otherwise of the node; and slots in use."""
        dirty, limit = node.dirty_bytes, node.limit_bytes
        try:
            place = f"{bdi.STATS}/{mount.device}/stats"
            dirty = bdi.parse_bdi_stats(
                read_once(self._fs.path(place)).decode("ascii", "replace")
            ).dirty_bytes
        except (OSError, DataError):
            pass
        server = said.options.get("addr", mount.options.get("addr", ""))
        mine = [transport for transport in transports if transport.server == server]
        slots = {"flight.slots": float(sum(transport.slots for transport in mine))} if mine else {}
        return {"dirty.bytes": float(dirty), "dirty.limit_bytes": float(limit), **slots}

    def _node_dirty(self) -> DirtyPages:
        return parse_dirty_pages(
            self._files.text("meminfo", "proc/meminfo"), self._files.text("vmstat", "proc/vmstat")
        )


def _counters(said: NfsMount) -> dict[str, float]:
    """Requests, their bytes, and their time on the wire without the wait for a slot."""
    read, write = said.operation("READ"), said.operation("WRITE")
    return {
        "read.rpcs": float(read.count),
        "read.bytes": float(said.counts.server_read),
        "read.usec": read.rtt_ms * 1000.0,
        "write.rpcs": float(write.count),
        "write.bytes": float(said.counts.server_write),
        "write.usec": write.rtt_ms * 1000.0,
    }
