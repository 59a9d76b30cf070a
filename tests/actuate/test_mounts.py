"""Setting knobs of FUSE and NFS mounts, on trees of plain files laid out like the kernel's."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.crashes import in_small_process, survives

from penstock.actuate.fuse import FuseActuator
from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.journalled import JournalledActuator
from penstock.actuate.knob_errors import TargetGoneError
from penstock.actuate.nfs import NfsActuator
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.actuate.recovery import restore_all, verify_all
from penstock.actuate.system import System
from penstock.errors import KnobError
from penstock.knobs import Setting
from penstock.observe.fuse.observer import ROOTS
from penstock.testing.actuators import Rig, check_actuator

FIXTURES = Path(__file__).parent.parent / "fixtures"
FUSE_TREE = FIXTURES / "fuse-6.18/glusterfs/idle"
NFS_SERIES = FIXTURES / "nfs-4.1/series"
# A busy machine may not let us look at all processes in a tenth of a second.
PATIENT = ROOTS.patient()
NFS_TABLE = "29 1 0:20 / / rw - ext4 /dev/vda rw\n48 29 0:50 / /mnt/n rw - nfs4 10.98.0.1:/x rw,vers=4.1\n"


def fuse_tree(root: Path) -> Path:
    return Path(shutil.copytree(FUSE_TREE, root, symlinks=True))


def nfs_tree(root: Path) -> Path:
    texts = {
        "proc/self/mountinfo": NFS_TABLE,
        "proc/self/mountstats": (NFS_SERIES / "idle.mountstats").read_text(),
        "proc/meminfo": (NFS_SERIES / "idle.meminfo").read_text(),
        "proc/vmstat": (NFS_SERIES / "idle.vmstat").read_text(),
        "proc/uptime": "5000.31 5.00\n",
        "sys/devices/virtual/bdi/0:50/read_ahead_kb": "128\n",
        "proc/sys/vm/dirty_bytes": "0\n",
        "proc/sys/vm/dirty_ratio": "20\n",
        "sys/module/nfs/parameters/max_session_slots": "64\n",
    }
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


Maker = Callable[[Path, Journal], JournalledActuator]
KINDS: dict[str, tuple[Callable[[Path], Path], Maker]] = {
    "fuse": (fuse_tree, FuseActuator),
    "nfs": (nfs_tree, NfsActuator),
}


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[str], Rig]:
    numbers: Iterator[int] = iter(range(100))

    def make(kind: str) -> Rig:
        home = tmp_path / f"{kind}{next(numbers)}"
        lay, build = KINDS[kind]
        root = lay(home / "root")
        actuator = build(root, Journal(home / "state", owner_of(root)))
        return Rig(actuator, actuator.targets()[0])

    return make


@pytest.mark.parametrize("kind", KINDS)
def test_actuator_obeys(kind: str, fresh: Callable[[str], Rig]) -> None:
    check_actuator(lambda: fresh(kind))


def test_more_requests_move_the_threshold_of_reading_ahead_along(fresh: Callable[[str], Rig]) -> None:
    rig = fresh("fuse")
    receipt = rig.actuator.set(rig.target, Setting(flight=64))
    assert receipt.exact
    assert (receipt.actual["flight"], receipt.actual["congested"]) == (64, 48)
    assert rig.actuator.restore(rig.target).actual["congested"] == 9


def test_an_administrators_value_is_left(fresh: Callable[[str], Rig], tmp_path: Path) -> None:
    rig = fresh("fuse")
    rig.actuator.set(rig.target, Setting(flight=64, ahead=1024))
    (ahead,) = tmp_path.glob("*/root/sys/devices/virtual/bdi/*/read_ahead_kb")
    ahead.write_text("4096\n")
    receipt = rig.actuator.set(rig.target, Setting(ahead=2048))
    assert "administrator" in (receipt.error or "")
    restored = rig.actuator.restore(rig.target).actual
    assert (restored["ahead"], restored["flight"], restored["congested"]) == (4096, 12, 9)


def test_what_acts_at_the_next_mount_is_not_set(fresh: Callable[[str], Rig]) -> None:
    rig = fresh("nfs")
    receipt = rig.actuator.set(rig.target, Setting(rsize=256))
    assert receipt.actual == rig.get()
    assert "at the next mount" in (receipt.error or "")


def test_node_wide_knobs_need_consent_and_a_single_mount(fresh: Callable[[str], Rig], tmp_path: Path) -> None:
    rig = fresh("nfs")
    assert rig.actuator.space(rig.target).searched == ("ahead",)
    assert "node-wide" in (rig.actuator.set(rig.target, Setting(dirty_bytes=64 << 20)).error or "")
    root = nfs_tree(tmp_path / "asked")
    asked = NfsActuator(root, Journal(tmp_path / "s", owner_of(root)), node_knobs=frozenset({"dirty_bytes"}))
    (target,) = asked.targets()
    assert asked.space(target).searched == ("ahead", "dirty_bytes")
    second = (NFS_SERIES / "idle.mountstats").read_text().replace("/mnt/n ", "/mnt/m ")
    with (root / "proc/self/mountstats").open("a") as stats:
        stats.write(second)
    (root / "proc/self/mountinfo").write_text(
        NFS_TABLE + NFS_TABLE.splitlines(True)[1].replace("0:50", "0:51").replace("/n ", "/m ")
    )
    shutil.copytree(root / "sys/devices/virtual/bdi/0:50", root / "sys/devices/virtual/bdi/0:51")
    assert asked.space(target).searched == ("ahead",)


def test_a_mount_made_anew_does_not_get_the_old_ones_originals(tmp_path: Path) -> None:
    root = nfs_tree(tmp_path / "root")
    journal = Journal(tmp_path / "s", owner_of(root))
    actuator = NfsActuator(root, journal)
    (target,) = actuator.targets()
    actuator.set(target, Setting(ahead=1024))
    (root / "proc/uptime").write_text("9000.31 5.00\n")
    with pytest.raises(TargetGoneError):
        actuator.get(target)
    assert restore_all(root, tmp_path / "s").gone == (target.name,)
    assert (root / "sys/devices/virtual/bdi/0:50/read_ahead_kb").read_text() == "1024\n"


@pytest.mark.parametrize("table", ["mountstats", "mountinfo"])
def test_an_nfs_mount_that_cannot_be_read_keeps_its_originals(tmp_path: Path, table: str) -> None:
    root, state = nfs_tree(tmp_path / "root"), tmp_path / "s"
    actuator = NfsActuator(root, Journal(state, owner_of(root)))
    (target,) = actuator.targets()
    actuator.set(target, Setting(ahead=1024))
    (root / f"proc/self/{table}").rename(tmp_path / table)
    outcome = restore_all(root, state)
    assert (outcome.gone, len(outcome.failed)) == ((), 1)
    (tmp_path / table).rename(root / f"proc/self/{table}")
    assert [str(moved.change) for moved in restore_all(root, state).moved] == ["ahead 1024 -> 128"]


def test_the_same_mount_is_found_a_second_later_by_another_process(tmp_path: Path) -> None:
    root = nfs_tree(tmp_path / "root")
    actuator = NfsActuator(root, Journal(tmp_path / "s", owner_of(root)))
    (target,) = actuator.targets()
    actuator.set(target, Setting(ahead=1024))
    (root / "proc/uptime").write_text("5000.99 5.00\n")
    outcome = restore_all(root, tmp_path / "s")
    assert [str(moved.change) for moved in outcome.moved] == ["ahead 1024 -> 128"]


def test_links_are_not_followed_when_writing(tmp_path: Path) -> None:
    root = fuse_tree(tmp_path / "root")
    device = next((root / "sys/devices/virtual/bdi").iterdir())
    (tmp_path / "victim").write_text("128\n")
    (device / "read_ahead_kb").unlink()
    (device / "read_ahead_kb").symlink_to(tmp_path / "victim")
    actuator = FuseActuator(root, Journal(tmp_path / "s", owner_of(root)), scope=PATIENT)
    (target,) = actuator.targets()
    assert actuator.set(target, Setting(ahead=1024)).error
    assert (tmp_path / "victim").read_text() == "128\n"


def tuned_fuse(tmp_path: Path) -> tuple[Path, Path, str]:
    """A tree and a state directory in which an agent died after it changed a FUSE mount."""
    root, state = fuse_tree(tmp_path / "root"), tmp_path / "s"
    actuator = FuseActuator(root, Journal(state, owner_of(root)), scope=PATIENT)
    (target,) = actuator.targets()
    assert actuator.set(target, Setting(ahead=1024)).exact
    return root, state, target.name


@pytest.mark.parametrize("place", ["/fd", "/fdinfo/", "/stat", "/proc", "/mountinfo"])
def test_originals_survive_a_shortage_of_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    root, state, name = tuned_fuse(tmp_path)

    def short(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *rest: Any, **more: Any) -> Any:
            text = str(path)
            if text.startswith(str(root)) and (text.endswith(place) or (place[-1] == "/" and place in text)):
                raise OSError(errno.ENFILE, os.strerror(errno.ENFILE), text)
            return real(path, *rest, **more)

        return call

    with monkeypatch.context() as patch:
        for call in ("scandir", "listdir", "open"):
            patch.setattr(os, call, short(getattr(os, call)))
        outcome = restore_all(root, state)
    assert (outcome.gone, len(outcome.failed)) == ((), 1)
    assert set(Journal(state, owner_of(root)).entries) == {name}
    assert [str(moved.change) for moved in restore_all(root, state).moved] == ["ahead 1024 -> 128"]


def test_a_mount_without_a_daemon_keeps_its_originals_until_it_is_gone(tmp_path: Path) -> None:
    root, state, name = tuned_fuse(tmp_path)
    (fds,) = root.glob("proc/[0-9]*/fd")
    fds.rename(tmp_path / "fd")
    assert "its daemon was not found" in restore_all(root, state).failed[0]
    assert set(Journal(state, owner_of(root)).entries) == {name}
    table = root / "proc/self/mountinfo"
    table.write_text("".join(line for line in table.read_text().splitlines(True) if "gluster" not in line))
    assert restore_all(root, state).gone == (name,)


def test_a_target_that_cannot_be_verified_is_a_note_beside_the_others(tmp_path: Path) -> None:
    root, state, name = tuned_fuse(tmp_path)
    table = (root / "proc/self/mountinfo").read_text()
    nfs_tree(root)
    (root / "proc/self/mountinfo").write_text(table + NFS_TABLE.splitlines(True)[1])
    nfs = NfsActuator(root, Journal(state, owner_of(root)))
    nfs.set(nfs.targets()[0], Setting(ahead=1024))
    (fds,) = root.glob("proc/[0-9]*/fd")
    fds.rename(tmp_path / "fd")
    found = verify_all(root, state)
    assert [difference.knob_id for difference in found.differences] == ["ahead"]
    assert any(line.startswith("echo 128 > /sys/devices/virtual/bdi/0:50/") for line in found.rollback)
    assert found.unread == (name,)
    assert [note.startswith(f"not verified: {name}: it is mounted") for note in found.notes] == [True]


def test_verify_looks_for_daemons_no_longer_than_it_is_told(tmp_path: Path) -> None:
    root, state, name = tuned_fuse(tmp_path)
    assert verify_all(root, state).unread == ()
    assert verify_all(root, state, search_s=0.0).unread == (name,)


def test_one_actuator_serves_all_kinds_and_undoes_all(tmp_path: Path) -> None:
    root = fuse_tree(tmp_path / "root")
    table = (root / "proc/self/mountinfo").read_text()
    nfs_tree(root)
    (root / "proc/self/mountinfo").write_text(table + NFS_TABLE.splitlines(True)[1])
    state = tmp_path / "s"
    actuator = NodeActuator(root, Journal(state, owner_of(root)), Reach().patient())
    kinds = {target.fs: target for target in actuator.targets()}
    assert set(kinds) == {"/mnt/gluster", "/mnt/n"}
    before = {fs: actuator.get(target) for fs, target in kinds.items()}
    receipts = actuator.set_all([(target, Setting(ahead=1024)) for target in kinds.values()])
    assert all(receipt.exact for receipt in receipts)
    found = verify_all(root, state)
    assert len(found.differences) == 2
    assert any(line.startswith("echo 128 > /sys/devices/virtual/bdi/0:50/") for line in found.rollback)
    assert not restore_all(root, state).failed
    assert {fs: actuator.get(target) for fs, target in kinds.items()} == before
    with pytest.raises(KnobError):
        actuator.set(kinds["/mnt/n"], Setting(pages=4))


@pytest.fixture
def memory() -> Iterator[Path]:
    """A directory where syncing costs nothing: there are hundreds of crashes."""
    place = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=place if place.is_dir() else None) as directory:
        yield Path(directory)


def kill_and_restore(memory: Path) -> None:
    root = fuse_tree(memory / "root")
    knob_files = [
        *(root / "sys/fs/fuse/connections").glob("*/*"),
        *(root / "sys/devices/virtual/bdi").glob("*/*"),
    ]
    original = {path: path.read_text() for path in knob_files}
    for calls in range(1, 2000):
        state = memory / f"s{calls}"

        def work(system: System, state: Path = state) -> None:
            mine = FuseActuator(root, Journal(state, owner_of(root), system), system=system, scope=PATIENT)
            mine.set(mine.targets()[0], Setting(ahead=1024, flight=64, dirty_ppm=50_000))

        finished = survives(work, calls)
        restore_all(root, state)
        assert {path: path.read_text() for path in knob_files} == original, (
            f"killed after system call {calls}"
        )
        if finished:
            break
    assert calls > 50


@pytest.mark.slow
def test_set_killed_after_any_system_call_is_undone_by_one_restore(memory: Path) -> None:
    """Each knob of a FUSE mount moves and follows; wherever the process dies, one restore gives all back."""
    in_small_process(kill_and_restore, memory)
