"""Reads one FUSE mount in every pass: its connection, its backing device, its daemon."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.observe import bdi
from penstock.observe.fuse.daemon import Daemon, parse_moved, parse_start
from penstock.observe.kept_files import KeptFiles, unread
from penstock.observe.kernelfs import GONE, KernelFs
from penstock.observe.mounts import Mount
from penstock.observe.passes import ObservedSource, Reading
from penstock.snapshot import Problem, Target, TargetSnapshot
from penstock.target_kinds import FUSE
from penstock.units import PAGE_BYTES

CONNECTIONS = "sys/fs/fuse/connections"
KNOB_IDS = ("flight", "congested", "ahead", "dirty_ppm")


def knob_files(device: str, minor: int) -> dict[str, tuple[tuple[str, int], ...]]:
    """Where each knob of a mount may be, the preferred place first, and the factor between the units.

    The dirty limit is kept in millionths of the node's limit. The kernel also shows bytes, but these drift with free
    memory.
    """
    home = f"{bdi.KNOBS}/{device}"
    return {
        "flight": ((f"{CONNECTIONS}/{minor}/max_background", 1),),
        "congested": ((f"{CONNECTIONS}/{minor}/congestion_threshold", 1),),
        "ahead": ((f"{home}/read_ahead_kb", 1),),
        "dirty_ppm": ((f"{home}/max_ratio_fine", 1), (f"{home}/max_ratio", 10_000)),
    }


def target_of(mount: Mount, daemon: Daemon) -> Target:
    """The target of a mount. Its name ends with the daemon's start time, so a new mount is another target."""
    name = f"{mount.kind}-{mount.device}-{daemon.started}"
    return Target(name, fs=mount.path, mount=name, kind=FUSE)


class FuseSource(ObservedSource):
    """Reads one mount."""

    def __init__(self, fs: KernelFs, mount: Mount, daemon: Daemon, clock: Callable[[], float]) -> None:
        self.target = target_of(mount, daemon)
        self.name = self.target.name
        self.mount, self.daemon = mount, daemon
        self._fs, self._clock = fs, clock
        self._files = KeptFiles(fs)
        self._knob_files = knob_files(mount.device, mount.minor)
        self._read_bytes = 0
        self._talk_bytes = 0

    def read(self) -> Sequence[Reading | Problem] | None:
        """Its snapshot, or a `Problem` if a file is missing or cannot be parsed."""
        t_s = self._clock()
        try:
            if parse_start(self._files.text("stat", f"proc/{self.daemon.pid}/stat")) != self.daemon.started:
                return None
            return [self._reading(t_s)]
        except OSError as error:
            return self._failed(error)
        except DataError as error:
            return [Problem(self.name, f"discarded: {error}")]

    def close(self) -> None:
        """Release all descriptors."""
        self._files.close()

    def _reading(self, t_s: float) -> Reading:
        stats = bdi.parse_bdi_stats(self._files.text("stats", f"{bdi.STATS}/{self.mount.device}/stats"))
        moved = parse_moved(self._files.text("io", f"proc/{self.daemon.pid}/io"))
        waiting = self._files.text("waiting", f"{CONNECTIONS}/{self.mount.minor}/waiting")
        self._count(moved.written_bytes - stats.written_bytes)
        snapshot = TargetSnapshot(
            self.target,
            t_s,
            Setting({knob_id: self._knob(knob_id) for knob_id in KNOB_IDS}),
            {"read.bytes": float(self._read_bytes), "write.bytes": float(stats.written_bytes)},
            {
                "dirty.bytes": float(stats.dirty_bytes),
                "dirty.limit_bytes": float(stats.limit_bytes),
                "flight.requests": float(bdi.parse_number(waiting, "waiting")),
            },
            epoch=self.daemon.started,
            state="",
        )
        return Reading(snapshot, {"app.write_bytes": float(stats.dirtied_bytes)})

    def _count(self, unwritten_bytes: int) -> None:
        """Count as read what the daemon wrote (to the kernel, or to the server) beyond data that was written.

        That can decrease briefly, while written data is on its way and not counted yet. Less than a page is no data:
        the daemon asks its server for names and attributes, which shall not look like work that begins.
        """
        grown = unwritten_bytes - self._talk_bytes - self._read_bytes
        if 0 < grown < PAGE_BYTES:
            self._talk_bytes += grown
        elif grown > 0:
            self._read_bytes += grown

    def _knob(self, knob_id: str) -> int:
        places = dict(self._knob_files[knob_id])
        value = bdi.parse_number(self._files.text(knob_id, *places), knob_id)
        return value * places[self._files.place(knob_id)]

    def _failed(self, error: OSError) -> Sequence[Problem] | None:
        self.close()
        if error.errno in GONE and not self._fs.names(f"{bdi.KNOBS}/{self.mount.device}"):
            return None
        return [unread(self._fs, self.name, error)]
