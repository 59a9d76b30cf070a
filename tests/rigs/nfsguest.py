"""What the NFS test does inside its guest: a server and a client of kernel NFS, and Penstock on the client.

`main` runs as root in the guest and leaves one JSON document with everything the test on the host looks at.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.rigs.agents import AgentProcess, ThisMachine, agent
from tests.rigs.guest import SHARE
from tests.rigs.served import wait_for

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.nfs import NfsActuator
from penstock.actuate.node_actuator import NodeActuator
from penstock.agent.discovery import discover
from penstock.agent.startup import LOG_FILE
from penstock.knobs import Setting
from penstock.observe.nfs.observer import NfsObserver
from penstock.snapshot import Target
from penstock.testing.actuators import Rig, check_actuator
from penstock.testing.observers import check_observer
from penstock.units import MIB
from penstock.window import Window, windows

MODULES = ("nfsv4", "nfsv3", "nfsd", "sch_netem")
RESULT = "result.json"
_EXPORT, _MOUNT = Path("/export"), Path("/n")
_FILE_MIB = 8
_PATIENCE_S = 600.0
# Emulated on a busy host, one interval may take longer than an agent may hang.
_CONFIG = "interval_s = 0.5\nwatchdog_s = 1800\n[guard]\njitter_s = 0\ndwell_s = 0.5\n"


def main() -> None:
    """Everything, one step after the other, each on the mount that the one before left."""
    serve_and_mount()
    result: dict[str, Any] = {"found": [asdict(finding) for finding in _discover()]}
    check_observer(NfsObserver, lambda: _write(_MOUNT / "little", 1))
    _check_actuator()
    result |= readahead() | dirty_limit() | tuning()
    (Path(SHARE) / RESULT).write_text(json.dumps(result), encoding="utf-8")


def serve_and_mount() -> None:
    """Export a directory in memory and mount it over a loopback with a round trip of ten milliseconds."""
    for place in (_EXPORT, _MOUNT, Path("/var/lib/nfs")):
        place.mkdir(parents=True, exist_ok=True)
    for memory in ("/var/lib/nfs", str(_EXPORT)):
        _sh("mount", "-t", "tmpfs", "none", memory)
    Path("/var/lib/nfs/v4recovery").mkdir()
    for table in ("etab", "rmtab"):
        Path("/var/lib/nfs", table).touch()
    _sh("mount", "-t", "nfsd", "none", "/proc/fs/nfsd")
    _sh("rpcbind", "-w")
    _sh("exportfs", "-o", "rw,fsid=0,no_root_squash,no_subtree_check,insecure", f"127.0.0.1:{_EXPORT}")
    # Short leases: nobody waits for a grace period that nobody needs.
    _sh("rpc.nfsd", "-G", "10", "-L", "10", "4")
    _sh("rpc.mountd")
    _sh("mount", "-t", "nfs4", "-o", "vers=4.1", "127.0.0.1:/", str(_MOUNT))
    _write(_MOUNT / "data", _FILE_MIB)
    _sh("tc", "qdisc", "add", "dev", "lo", "root", "netem", "delay", "5ms")


def readahead() -> dict[str, Any]:
    """Counters to metrics to a live change to its effect: the same file read at two settings."""
    actuator = NfsActuator("/", Journal("/run/readahead", owner_of("/")))
    target = _target(actuator)
    found: dict[str, Any] = {}
    for name, ahead in (("narrow", 128), ("wide", 4096)):
        receipt = actuator.set(target, Setting(ahead=ahead))
        seen = _read_once()
        found[name] = {
            "exact": receipt.exact,
            "read_bytes": seen.metrics["read.bytes"],
            "asked_bytes": seen.metrics.get("app.read_bytes"),
            "in_flight": seen.metrics["read.usec"] / 1e6 / seen.seconds,
            "setting": dict(seen.setting),
        }
    found["restored"] = dict(actuator.restore(target).actual)
    return {"readahead": found}


def dirty_limit() -> dict[str, Any]:
    """How much dirty data a writer piles up with the node's own limit, and with one that was set."""
    actuator = NfsActuator("/", Journal("/run/dirty", owner_of("/")), node_knobs=frozenset({"dirty_bytes"}))
    target = _target(actuator)
    before = actuator.get(target)
    found = {"free_bytes": _most_dirty()}
    receipt = actuator.set(target, Setting(dirty_bytes=16 * MIB))
    found |= {"limited_bytes": _most_dirty(), "ratio_meanwhile": receipt.actual["dirty_ratio"]}
    after = actuator.restore(target).actual
    return {"dirty": {**found, "exact": receipt.exact, "restored": after == before}}


def tuning() -> dict[str, Any]:
    """The agent beside a reader: it tunes, yields to the administrator, outlives its server and its mount."""
    state_dir = Path("/run/agent/state")
    state_dir.parent.mkdir()
    state_dir.with_suffix(".toml").write_text(_CONFIG, encoding="utf-8")
    ahead = _ahead_file()
    found: dict[str, Any] = {"ahead_before": int(ahead.read_text())}
    with (
        _reader(),
        agent(ThisMachine(), state_dir, "--mode", "tune", wait=False) as running,
        _telling(state_dir),
    ):
        # Emulated on a busy host, an agent takes a minute to start.
        wait_for(running.answers, _PATIENCE_S)
        wait_for(lambda: int(ahead.read_text()) != found["ahead_before"], _PATIENCE_S)
        # Only once it has read back its change can the agent tell its own value from somebody else's.
        wait_for(lambda: any(event["actual"] for event in running.events("decision")), _PATIENCE_S)
        found["tuned"] = True
        ahead.write_text("777\n", encoding="ascii")
        wait_for(lambda: _manual(state_dir) == {"ahead"}, _PATIENCE_S)
        found |= _lose_server(running) | _lose_mount(running)
        found["left_at"] = 777
        found["exit"] = running.stop(signal.SIGTERM)
    return {"tuning": found}


@contextlib.contextmanager
def _telling(state_dir: Path) -> Iterator[None]:
    """When waiting was in vain, the end of the agent's log tells why."""
    try:
        yield
    except TimeoutError as error:
        text = (state_dir / LOG_FILE).read_text(encoding="utf-8")
        raise TimeoutError(f"{error}; the log ends with {text[-4000:]}") from error


def _lose_server(running: AgentProcess) -> dict[str, Any]:
    _sh("rpc.nfsd", "0")
    time.sleep(3.0)
    began_s = time.monotonic()
    mode = running.ask("status")["mode"]
    return {"mode_without_server": mode, "answer_s": time.monotonic() - began_s}


def _lose_mount(running: AgentProcess) -> dict[str, Any]:
    _sh("umount", "-f", "-l", str(_MOUNT))
    wait_for(lambda: not running.ask("status")["targets"], _PATIENCE_S)
    return {"gone_after_unmount": True}


def _check_actuator() -> None:
    numbers = iter(range(1000))

    def make() -> Rig:
        _ahead_file().write_text("128\n", encoding="ascii")
        Path("/proc/sys/vm/dirty_ratio").write_text("20\n", encoding="ascii")
        directory = f"/run/law/{next(numbers)}"
        actuator = NfsActuator("/", Journal(directory, owner_of("/")), node_knobs=frozenset({"dirty_bytes"}))
        return Rig(actuator, _target(actuator))

    check_actuator(make)


def _discover() -> Iterator[Any]:
    yield from discover(Path("/"), NodeActuator("/", Journal("/run/found", owner_of("/"))), lambda _: True)


def _target(actuator: NfsActuator) -> Target:
    (target,) = actuator.targets()
    return target


def _read_once() -> Window:
    """One pass over the file, none of it cached, as a window."""
    Path("/proc/sys/vm/drop_caches").write_text("1\n", encoding="ascii")
    observer = NfsObserver(deadline_s=_PATIENCE_S)
    before = observer.observe()
    _sh("dd", f"if={_MOUNT}/data", "of=/dev/null", "bs=8k")
    (seen,) = windows(before, observer.observe())
    observer.close()
    if not isinstance(seen, Window):
        raise TypeError(f"nothing can be concluded: {seen}")
    return seen


def _most_dirty() -> float:
    """The largest amount of dirty data seen while a file is written."""
    observer = NfsObserver(deadline_s=_PATIENCE_S)
    writer = subprocess.Popen(
        ["dd", "if=/dev/zero", f"of={_MOUNT}/written", "bs=1M", "count=48"], stderr=subprocess.DEVNULL
    )
    most = 0.0
    while writer.poll() is None:
        most = max([most, *(seen.gauges["dirty.bytes"] for seen in observer.observe().targets)])
        time.sleep(0.05)
    observer.close()
    _sh("sync")
    return most


def _write(path: Path, mib: int) -> None:
    with path.open("wb") as file:
        for _ in range(mib):
            file.write(bytes(MIB))
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def _reader() -> Iterator[None]:
    """An application that reads the file again and again, opened anew each time; it may hang with its server."""
    loop = f"while :; do echo 1 > /proc/sys/vm/drop_caches; dd if={_MOUNT}/data of=/dev/null bs=8k; done"
    process = subprocess.Popen(["sh", "-c", loop], stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()


def _ahead_file() -> Path:
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split(" ")
        if fields[4] == str(_MOUNT):
            return Path("/sys/devices/virtual/bdi", fields[2], "read_ahead_kb")
    raise FileNotFoundError(_MOUNT)


def _manual(state_dir: Path) -> set[str]:
    entries = Journal(state_dir, owner_of("/")).entries.values()
    return {knob_id for entry in entries for knob_id in entry.manual}


def _sh(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
