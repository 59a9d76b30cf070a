"""Whatever we, administrators, servers and the kernel do in any order, and wherever we are killed:
one restore leaves originals and administrators' values, nothing else."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.actuate.system import System
from penstock.emulate.layout import load_layout
from penstock.emulate.node import Plan, ServedNode
from penstock.emulate.tree import File
from penstock.knobs import Setting
from penstock.testing.served import SteadyClient

FILES = {"pages": "max_pages_per_rpc", "flight": "max_rpcs_in_flight", "dirty": "max_dirty_mb"}
OURS = {"pages": (16, 64, 256, 512, 1024), "flight": (1, 8, 16, 256), "dirty": (32, 64, 490, 900)}
THEIRS = {"pages": (300, 301), "flight": (77, 78), "dirty": (123, 124)}


class KilledError(BaseException):
    """The process is gone: nothing it does afterwards happens."""


class TreeSystem(System):
    """System calls answered by a served node in this process, and by the real system for the journal."""

    def __init__(self, node: ServedNode, root: str, calls: int = 10**9) -> None:
        self._node, self._root, self._left = node, root, calls
        self._open: dict[int, str | File] = {}
        self._next = 1 << 24

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_") and name != "close":
            self._left -= 1
            if self._left < 0:
                raise KilledError
        return super().__getattribute__(name)

    def open(self, path: str, flags: int, mode: int = 0o600, dir_fd: int | None = None) -> int:
        if dir_fd is None and path != self._root:
            return super().open(path, flags, mode)
        base = "" if dir_fd is None else self._open[dir_fd]
        found = base if path in (".", self._root) else f"{base}/{path}".strip("/")
        assert isinstance(found, str)
        tree = self._node.tree
        if found not in tree.directories and found not in tree.files:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        self._next += 1
        self._open[self._next] = found if found in tree.directories else tree.files[found]
        return self._next

    def close(self, fd: int) -> None:
        if self._open.pop(fd, None) is None:
            super().close(fd)

    def read(self, fd: int, size: int) -> bytes:
        file = self._open.get(fd)
        return file.text().encode() if isinstance(file, File) else super().read(fd, size)

    def write(self, fd: int, data: bytes) -> int:
        file = self._open.get(fd)
        if not isinstance(file, File):
            return super().write(fd, data)
        file.store(data.decode())
        return len(data)

    def fsync(self, fd: int) -> None:
        """Disks are not what is tested here."""

    def fstat(self, fd: int) -> os.stat_result:
        if isinstance(self._open.get(fd), File):
            return os.stat_result((stat.S_IFREG, *[0] * 9))
        return super().fstat(fd)

    def names(self, fd: int) -> Sequence[str]:
        directory = self._open[fd]
        assert isinstance(directory, str)
        return sorted(self._node.tree.directories[directory])


class Client(RuleBasedStateMachine):
    """A client that anybody may touch at any time."""

    @initialize(layout=st.sampled_from(["2.15", "2.17"]))
    def start(self, layout: str) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        root = Path(self.temporary.name) / "root"
        (root / "proc").mkdir(parents=True)
        (root / "proc/meminfo").write_text("MemTotal:        4007120 kB\n")
        self.root, self.state = str(root), Path(self.temporary.name) / "state"
        self.node = ServedNode(Plan(load_layout(layout), 1, 4.0), SteadyClient())
        self.untuned = ServedNode(Plan(load_layout(layout), 1, 4.0), SteadyClient())
        self.rightful: dict[str, set[int]] = {knob_id: set() for knob_id in FILES}
        self.remember()

    def now(self) -> Setting:
        return self.node.osc("OST0000").setting

    def remember(self) -> None:
        """A client that only others touched may hold such values."""
        for knob_id, value in self.untuned.osc("OST0000").setting.items():
            self.rightful[knob_id].add(value)

    def actuator(self, calls: int = 10**9) -> LustreActuator:
        system = TreeSystem(self.node, self.root, calls)
        return LustreActuator(self.root, Journal(self.state, owner_of(self.root), system), system=system)

    @rule(
        wanted=st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in OURS.items()}),
        calls=st.one_of(st.just(10**9), st.integers(1, 260)),
    )
    def tune(self, wanted: dict[str, int], calls: int) -> None:
        """We set some knobs, in a process that may be killed at any call."""
        try:
            mine = self.actuator(calls)
            mine.set(mine.targets()[0], Setting(wanted))
        except KilledError:
            pass

    @rule(knob_id=st.sampled_from(list(FILES)), which=st.integers(0, 1))
    def administrate(self, knob_id: str, which: int) -> None:
        """Somebody else sets a knob."""
        before = self.now()["dirty"]
        for node in (self.node, self.untuned):
            with contextlib.suppress(OSError):
                node.osc("OST0000").write(FILES[knob_id], str(THEIRS[knob_id][which]))
        if knob_id != "dirty" and before in THEIRS["dirty"]:
            # Their store may have raised their own max_dirty_mb further than it would have without our knobs.
            self.rightful["dirty"].add(self.now()["dirty"])
        self.remember()

    @rule(brw_pages=st.sampled_from([128, 256, 1024]))
    def reconnect(self, brw_pages: int) -> None:
        """The server comes back, perhaps with another bulk size."""
        for node in (self.node, self.untuned):
            node.osc("OST0000").reconnect(brw_pages)
        # Bulk sizes that came and went unseen cannot be known: as much of the original as fits is right.
        self.rightful["pages"] |= {min(value, brw_pages) for value in self.rightful["pages"]}
        self.remember()

    @rule(calls=st.one_of(st.just(10**9), st.integers(1, 200)))
    def restore(self, calls: int) -> None:
        """Restoring may be killed as well; the next one finishes the work."""
        held = {knob_id: value for knob_id, value in self.now().items() if value in THEIRS[knob_id]}
        try:
            restore_all(self.root, self.state, TreeSystem(self.node, self.root, calls))
        except KilledError:
            restore_all(self.root, self.state, TreeSystem(self.node, self.root))
        after = self.now()
        for knob_id, value in after.items():
            assert value in self.rightful[knob_id], (knob_id, value, self.rightful)
            assert knob_id not in held or value == held[knob_id], f"overwrote {knob_id}={held[knob_id]}"
        self.untuned.osc("OST0000").setting = after
        self.rightful = {knob_id: {value} for knob_id, value in after.items()}

    @invariant()
    def nothing_left_open(self) -> None:
        """Every rule leaves a client that can still be read."""
        if hasattr(self, "node"):
            assert set(self.now()) == set(FILES)

    def teardown(self) -> None:
        if hasattr(self, "temporary"):
            self.restore(10**9)
            self.temporary.cleanup()


TestClient = Client.TestCase
TestClient.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
