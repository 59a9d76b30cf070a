"""A live GlusterFS: one brick in memory, a client mount over a slow link, all on loopback; for tests and benchmarks.

The graphs of translators are those that glusterd writes for a volume with one brick; started from files of our own
the two processes need no daemon, no fixed port and no directory outside the test's.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.rigs.freeport import free_port
from tests.rigs.served import wait_for
from tests.rigs.slowlink import slow_link

# What glusterd stacks on one brick, bottom first: the server's side, then the client's.
_SERVER = (
    "features/access-control",
    "features/locks",
    "features/leases",
    "features/upcall",
    "performance/io-threads",
    "features/index",
    "debug/io-stats",
)
_CLIENT = (
    "cluster/distribute",
    "features/utime",
    "performance/write-behind",
    "performance/open-behind",
    "performance/quick-read",
    "performance/md-cache",
    "performance/io-threads",
    "debug/io-stats",
)
ROUND_TRIP_S = 0.001
_PATIENCE_S = 300.0


@dataclass(slots=True)
class GlusterMount:
    """A mounted client and the processes behind it."""

    path: Path
    brick: Path
    client: subprocess.Popen[bytes]
    server: subprocess.Popen[bytes]

    @property
    def minor(self) -> int:
        """The mount's device number, by which the kernel names its connection and its bdi."""
        return os.minor(_device(self.path))

    def knob(self, name: str) -> Path:
        """The file of one of the kernel's knobs for this mount."""
        if name in ("max_background", "congestion_threshold", "waiting"):
            return Path("/sys/fs/fuse/connections") / str(self.minor) / name
        return Path("/sys/devices/virtual/bdi") / f"0:{self.minor}" / name

    def kill_server(self) -> None:
        """The brick dies; the client's requests wait for it."""
        self.server.kill()
        self.server.wait()

    def unmount(self) -> None:
        """Take the mount away, whatever is going on in it."""
        subprocess.run(["umount", "-l", str(self.path)], check=False, capture_output=True)


def why_not() -> str | None:
    """Why this machine cannot run a live GlusterFS; None where it can."""
    if shutil.which("glusterfs") is None or shutil.which("glusterfsd") is None:
        return "needs the Debian packages glusterfs-server and glusterfs-client"
    if os.geteuid() != 0 or not Path("/dev/fuse").exists():
        return "needs root and /dev/fuse"
    return None


@contextlib.contextmanager
def mounted(directory: Path, round_trip_s: float = ROUND_TRIP_S) -> Iterator[GlusterMount]:
    """A GlusterFS mount below a directory for the length of a `with` block."""
    brick, path = directory / "brick", directory / "mount"
    for made in (brick, path):
        made.mkdir(parents=True)
    show_kernel_files()
    with contextlib.ExitStack() as stack:
        _mount_tmpfs(brick, stack)
        port = free_port()
        server = _serve(directory, brick, port, stack)
        near = stack.enter_context(slow_link(port, round_trip_s))
        client = _mount(directory, path, near, stack)
        mount = GlusterMount(path, brick, client, server)
        # Last in, first out: unmounting comes before the processes end, so nothing is left that hangs.
        stack.callback(mount.unmount)
        wait_for(lambda: _is_mounted(path), _PATIENCE_S)
        # The client tells the kernel its limits with its first answer.
        os.statvfs(path)
        yield mount


def show_kernel_files() -> None:
    """Make FUSE's control files and the statistics of mounts visible, as systemd does on ordinary machines."""
    for kind, place in (("fusectl", "/sys/fs/fuse/connections"), ("debugfs", "/sys/kernel/debug")):
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8")
        if f" {place} {kind} " not in mounts:
            # A neighbour may have been quicker, which is as good.
            subprocess.run(["mount", "-t", kind, "none", place], check=False, capture_output=True)


def _mount_tmpfs(brick: Path, stack: contextlib.ExitStack) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "none", str(brick)], check=True)
    stack.callback(subprocess.run, ["umount", "-l", str(brick)], check=False, capture_output=True)


def _serve(directory: Path, brick: Path, port: int, stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    volfile = directory / "brick.vol"
    volume_id = "6e9a1f0a-5f5e-4c53-9d0b-7e3f6a1b2c3d"
    os.setxattr(brick, "trusted.glusterfs.volume-id", bytes.fromhex(volume_id.replace("-", "")))
    bottom = ("storage/posix", {"directory": str(brick), "volume-id": volume_id})
    top = (
        "protocol/server",
        {
            "transport-type": "tcp",
            "transport.socket.bind-address": "127.0.0.1",
            "transport.socket.listen-port": str(port),
            "auth.addr.brick.allow": "127.0.0.1",
        },
    )
    volfile.write_text(_graph(bottom, _SERVER, top, {"features/index": {"index-base": f"{brick}/.index"}}))
    server = _start(["glusterfsd", "-f", str(volfile)], directory / "brick.log", stack)
    wait_for(lambda: _listens(port), _PATIENCE_S)
    return server


def _mount(directory: Path, path: Path, port: int, stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    volfile = directory / "client.vol"
    bottom = (
        "protocol/client",
        {
            "transport-type": "tcp",
            "remote-host": "127.0.0.1",
            "remote-port": str(port),
            "remote-subvolume": "brick",
            "ping-timeout": "42",
        },
    )
    volfile.write_text(_graph(bottom, _CLIENT))
    command = ["glusterfs", "-f", str(volfile), "--kernel-writeback-cache=yes", str(path)]
    return _start(command, directory / "client.log", stack)


def _graph(
    bottom: tuple[str, dict[str, str]],
    stacked: tuple[str, ...],
    top: tuple[str, dict[str, str]] | None = None,
    options: dict[str, dict[str, str]] | None = None,
) -> str:
    """A volume file: each translator upon the one before; the last of `stacked` is called `brick`."""
    layers = [bottom, *((kind, (options or {}).get(kind, {})) for kind in stacked), *([top] if top else [])]
    parts, below = [], ""
    for place, (kind, given) in enumerate(layers):
        name = "brick" if place == len(stacked) else f"layer-{place}"
        lines = [f"volume {name}", f"    type {kind}"]
        lines += [f"    option {key} {value}" for key, value in given.items()]
        lines += [f"    subvolumes {below}"] if below else []
        parts.append("\n".join([*lines, "end-volume", ""]))
        below = name
    return "\n".join(parts)


def _start(command: list[str], log: Path, stack: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([*command, "--no-daemon", "--log-file", str(log)], stderr=subprocess.DEVNULL)
    stack.callback(_end, process)
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def _is_mounted(path: Path) -> bool:
    text = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return any(line.split(" ")[4] == str(path) for line in text.splitlines())


def _device(path: Path) -> int:
    """The device of a mount, from the kernel's table: asking the mount itself may hang when its server died."""
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split(" ")
        if fields[4] == str(path):
            major, minor = fields[2].split(":")
            return os.makedev(int(major), int(minor))
    raise FileNotFoundError(f"{path}: not mounted")
