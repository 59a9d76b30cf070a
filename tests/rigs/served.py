"""A served client in a process of its own, for tests that want real system calls and real errno.

The client behind the tree does steady work whatever its knobs say, so that tests need no simulator.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.emulate.faultcontrol import CONTROL_FILE
from penstock.emulate.mount import unmount
from penstock.emulate.realtime import serve_mounted, serve_plain
from penstock.emulate.served_client import Direction, MetadataFigures, MountFigures, OscFigures, Sums
from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.treelayout import LAYOUTS, load_layout
from penstock.knobs import Setting

_RPCS_PER_S, _RPC_BYTES, _RPC_USEC = 200, 1 << 20, 5000
_PATIENCE_S = 300.0


class SteadyClient:
    """So many RPCs of one size a second on every target, half of them reads."""

    def __init__(self) -> None:
        self._t_s = 0.0
        self.applied: dict[int, Setting] = {}
        self.applied_metadata: tuple[int, int, int] | None = None
        self.applied_readahead: Setting | None = None

    def metadata(self) -> MetadataFigures:
        """As many creates as look-ups, each of both closed or unlinked."""
        each = _repeated(int(self._t_s * _RPCS_PER_S / 2), _RPC_USEC)
        return MetadataFigures(each, each, each, each)

    def apply_metadata(self, rpcs: int, mod_rpcs: int, statahead: int) -> None:
        self.applied_metadata = (rpcs, mod_rpcs, statahead)

    def apply_readahead(self, setting: Setting) -> None:
        self.applied_readahead = setting

    def run_until(self, t_s: float) -> None:
        self._t_s = t_s

    def osc(self, index: int) -> OscFigures:
        """The same for every target."""
        count = int(self._t_s * _RPCS_PER_S / 2)
        side = Direction(
            size=_repeated(count, _RPC_BYTES),
            usec=_repeated(count, _RPC_USEC),
            in_flight=1,
            pages_bins=[0] * 8 + [count],
            flight_bins=[0, count],
        )
        return OscFigures(side, side, dirty_bytes=4 << 20, grant_bytes=64 << 20)

    def mount(self) -> MountFigures:
        """As many calls as RPCs."""
        calls = _repeated(int(self._t_s * _RPCS_PER_S / 2), _RPC_BYTES)
        return MountFigures(calls, calls)

    def apply(self, index: int, setting: Setting) -> None:
        """Remember what was put in force."""
        self.applied[index] = setting


class SpitefulClient(SteadyClient):
    """A steady reader that does a tenth of its work on a target whose knobs are not as they were at first.

    It only reads, because the shipped policy tries next to nothing where somebody writes.
    """

    #: How much of its work it does where the knobs were moved.
    moved_times = 0.1

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[int, Setting] = {}
        self._work_s: dict[int, float] = {}

    def run_until(self, t_s: float) -> None:
        """Let time pass; whose knobs were moved gains less of it."""
        for index in self._first.keys() | self.applied.keys() | self._work_s.keys():
            moved = self.applied.get(index) not in (None, self._first.get(index))
            done_s = self._work_s.get(index, self._t_s)
            self._work_s[index] = done_s + (t_s - self._t_s) * (self.moved_times if moved else 1.0)
        super().run_until(t_s)

    def osc(self, index: int) -> OscFigures:
        """As much as was done on that target."""
        now_s, self._t_s = self._t_s, self._work_s.setdefault(index, self._t_s)
        try:
            return replace(super().osc(index), write=Direction(), dirty_bytes=0)
        finally:
            self._t_s = now_s

    def mount(self) -> MountFigures:
        """As many calls as RPCs of the mean target."""
        now_s = self._t_s
        self._t_s = sum(self._work_s.values()) / len(self._work_s) if self._work_s else now_s
        try:
            return replace(super().mount(), write=Sums())
        finally:
            self._t_s = now_s

    def apply(self, index: int, setting: Setting) -> None:
        """Remember the first setting and the last."""
        self._first.setdefault(index, setting)
        super().apply(index, setting)


class GenerousClient(SpitefulClient):
    """A reader that does twice its work on a target whose knobs are not as they were at first."""

    moved_times = 2.0


def _repeated(count: int, value: int) -> Sums:
    return Sums(count, value, value, count * value, count * value * value) if count else Sums()


@dataclass(frozen=True, slots=True)
class Served:
    """A running tree."""

    root: Path
    process: subprocess.Popen[str]

    def control(self, command: str) -> None:
        """Make something happen to the client."""
        with (self.root / CONTROL_FILE).open("w", encoding="ascii") as file:
            file.write(command)

    def fresh(self) -> Served:
        """The same tree without faults and with a mount that nobody touched."""
        self.control("clear\nremount\n")
        return self

    def osc(self, ost: str = "OST0000") -> str:
        """The directory name of a data path."""
        names = (path.name for path in (self.root / "sys/fs/lustre/osc").iterdir())
        return next(name for name in names if f"-{ost}-" in name)


def why_not() -> str | None:
    """Why this machine cannot mount a tree; None where it can."""
    if not Path("/dev/fuse").exists() or shutil.which("fusermount3") is None:
        return "needs FUSE: /dev/fuse and the Debian package fuse3"
    return None


@contextlib.contextmanager
def served(
    directory: Path,
    *,
    layout: str = "2.17",
    osts: int = 2,
    ram_gib: float = 4.0,
    plain: bool = False,
    spiteful: bool = False,
    generous: bool = False,
) -> Iterator[Served]:
    """Serve a steady client below a directory for the length of a `with` block."""
    directory.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", __file__, str(directory), "--layout", layout]
    command += ["--osts", str(osts), "--ram-gib", str(ram_gib), *(["--plain"] if plain else [])]
    command += ["--spiteful"] if spiteful else []
    command += ["--generous"] if generous else []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        if process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{directory}: the served client did not start")
        yield Served(directory, process)
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            unmount(directory)
        if process.stdout is not None:
            process.stdout.close()


def main() -> None:
    """The process behind `served`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--layout", choices=LAYOUTS, default="2.17")
    parser.add_argument("--osts", type=int, default=2)
    parser.add_argument("--ram-gib", type=float, default=4.0)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--spiteful", action="store_true")
    parser.add_argument("--generous", action="store_true")
    asked = parser.parse_args()
    client = GenerousClient() if asked.generous else SpitefulClient() if asked.spiteful else SteadyClient()
    node = ServedNode(NodePlan(load_layout(asked.layout), asked.osts, asked.ram_gib), client)
    serve = serve_plain if asked.plain else serve_mounted
    serve(node, asked.directory, _say_ready)


def _say_ready() -> None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()


def wait_for(condition: Callable[[], bool], seconds: float = _PATIENCE_S, *, every_s: float = 0.02) -> None:
    """Ask a callable again and again; return once it says true, raise TimeoutError when it never does."""
    end_s = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end_s:
            raise TimeoutError("what was waited for did not happen")
        time.sleep(every_s)


if __name__ == "__main__":
    main()
