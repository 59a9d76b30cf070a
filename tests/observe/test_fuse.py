"""FUSE mounts, read from captures of a real GlusterFS mount."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import DataError
from penstock.observe.bdi import parse_bdi_stats
from penstock.observe.fuse.daemon import parse_connection, parse_moved, parse_start
from penstock.observe.fuse.daemon_search import LONGEST_WAIT_S, DaemonSearch
from penstock.observe.fuse.observer import ROOTS, FuseObserver, FuseScope
from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import Mount
from penstock.testing.observers import check_observer, check_tree_untouched
from penstock.units import MIB
from penstock.window import Window, windows

CAPTURES = Path(__file__).parent.parent / "fixtures/fuse-6.18"
TREES = CAPTURES / "glusterfs"
# A busy machine may not let us look at all processes in a tenth of a second.
PATIENT = ROOTS.patient()
PID = next(path.name for path in (TREES / "idle/proc").iterdir() if path.name.isdigit())
DEVICE = next((TREES / "idle/sys/devices/virtual/bdi").iterdir()).name


def lay(root: Path, moment: str) -> None:
    """Make a tree as the kernel's at one moment."""
    shutil.copytree(
        TREES / moment, root, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("fd")
    )
    if not (root / f"proc/{PID}/fd").exists():
        shutil.copytree(TREES / moment / f"proc/{PID}/fd", root / f"proc/{PID}/fd", symlinks=True)


def step_clock() -> Callable[[], float]:
    now = iter(range(1, 1000))
    return lambda: float(next(now))


def test_bdi_stats_tell_dirty_data_and_its_limit() -> None:
    found = parse_bdi_stats((CAPTURES / "bdi-stats").read_text())
    assert found.dirty_bytes == 64 * 1024
    assert found.limit_bytes == 28340 * 1024
    assert found.written_bytes == 6226624 * 1024


def test_bdi_stats_without_a_row_are_refused() -> None:
    text = (CAPTURES / "bdi-stats").read_text().replace("BdiWritten:", "Written:")
    with pytest.raises(DataError, match="BdiWritten"):
        parse_bdi_stats(text)


def mount_of(device: str) -> Mount:
    return Mount(device, "/mnt/gluster", "fuse.glusterfs", "x", {"user_id": "0"})


def test_a_daemon_is_found_by_its_connection() -> None:
    search = DaemonSearch(KernelFs(TREES / "idle"), search_s=PATIENT.search_s)
    there, absent = mount_of(DEVICE), mount_of("0:9999")
    assert search.find([there, absent])[there].pid == int(PID)
    assert set(search.find([there, absent])) == {there}
    assert not search.unfinished(absent)
    assert parse_connection("pos:\t0\nflags:\t0100002\n") is None


class Counting(KernelFs):
    """Counts how often all processes were listed."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.walks = 0

    def names(self, relative: str) -> tuple[str, ...]:
        self.walks += relative == "proc"
        return super().names(relative)


def test_a_daemon_that_is_not_there_is_looked_for_ever_more_rarely() -> None:
    now, fs = [0.0], Counting(TREES / "idle")
    search = DaemonSearch(fs, clock=lambda: now[0])
    gone = mount_of("0:9999")
    for _ in range(2 * 3600):
        assert search.find([gone]) == {}
        now[0] += 0.5
    assert fs.walks <= 7 + 3600 / LONGEST_WAIT_S
    new = mount_of(DEVICE)
    assert new in search.find([gone, new]), "a new mount does not wait for an old one"


def test_search_for_a_daemon_ends_at_its_deadline_and_goes_on_later(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    for pid in range(1, 400):
        fds = tmp_path / f"proc/{10_000_000 + pid}/fd"
        fds.mkdir(parents=True)
        (fds / "3").symlink_to("/dev/null")
    ticks = iter(range(10**9))
    looks = [0.0]

    def clock() -> float:
        looks[0] = next(ticks) / 1000
        return looks[0]

    search, wanted = DaemonSearch(KernelFs(tmp_path), clock, search_s=0.05), mount_of("0:9999")
    calls = 0
    while search.unfinished(wanted):
        before = looks[0]
        search.find([wanted])
        assert looks[0] - before < 0.1, "one call looks at few processes"
        calls += 1
        assert calls < 100_000
    assert calls > 10


def test_a_process_that_the_deadline_cut_is_looked_at_again(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    fds = tmp_path / f"proc/{PID}/fd"
    for number in range(1000, 1100):
        (fds / str(number)).symlink_to("/dev/null")
    ticks, wanted = iter(range(10**9)), mount_of("0:9999")
    search = DaemonSearch(KernelFs(tmp_path), lambda: next(ticks) / 1000, search_s=0.05)
    for _ in range(200):
        assert search.find([wanted]) == {}
        assert search.unfinished(wanted), "its only process was never seen whole"


def test_files_without_a_name_do_not_hold_up_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel cannot tell a path beyond its limit, and users can open such files."""
    lay(tmp_path, "idle")
    (tmp_path / "proc/77/fd").mkdir(parents=True)
    (tmp_path / "proc/77/fd/3").symlink_to("/deep")
    real = os.readlink

    def readlink(path: str) -> str:
        if path.endswith("/77/fd/3"):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path)
        return real(path)

    monkeypatch.setattr(os, "readlink", readlink)
    search, absent = DaemonSearch(KernelFs(tmp_path), search_s=PATIENT.search_s), mount_of("0:9999")
    assert search.find([mount_of(DEVICE), absent])[mount_of(DEVICE)].pid == int(PID)
    assert not search.unfinished(absent)


@pytest.mark.parametrize(("user", "seen"), [("0", 1), ("1001", 0), ("", 0), ("-1", 0), ("0x0", 0)])
def test_only_mounts_of_root_count_unless_told_otherwise(tmp_path: Path, user: str, seen: int) -> None:
    lay(tmp_path, "idle")
    table = tmp_path / "proc/self/mountinfo"
    table.write_text(table.read_text().replace("user_id=0", f"user_id={user}"))
    assert len(FuseObserver(tmp_path, PATIENT, clock=step_clock()).observe().targets) == seen
    told = FuseScope(users=frozenset({0, 1001}))
    assert len(FuseObserver(tmp_path, told.patient(), clock=step_clock()).observe().targets) == (
        user in ("0", "1001")
    )


def test_start_of_a_process_whose_name_has_brackets() -> None:
    assert parse_start("7 (a) b (c) S " + " ".join(str(n) for n in range(4, 30))) == 22
    with pytest.raises(DataError, match="start time"):
        parse_start("7 (x) S 1")
    with pytest.raises(DataError, match="wchar"):
        parse_moved("rchar: 1\n")


def test_observer_obeys(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    check_tree_untouched(lambda: FuseObserver(tmp_path, PATIENT), tmp_path)
    check_observer(lambda: FuseObserver(tmp_path, PATIENT, clock=step_clock()))


def test_bytes_written_and_read_are_told_apart(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    observer = FuseObserver(tmp_path, PATIENT, clock=step_clock())
    seen = [observer.observe()]
    for moment in ("written", "read"):
        lay(tmp_path, moment)
        seen.append(observer.observe())
    wrote, read = windows(seen[0], seen[1])[0], windows(seen[1], seen[2])[0]
    assert isinstance(wrote, Window)
    assert isinstance(read, Window)
    assert wrote.metrics["write.bytes"] == 64 * MIB
    assert wrote.metrics["app.write_bytes"] == 64 * MIB
    assert wrote.metrics["read.bytes"] < MIB
    assert read.metrics["write.bytes"] == 0
    assert 64 * MIB <= read.metrics["read.bytes"] < 65 * MIB


def test_what_a_daemon_says_to_its_server_is_no_data_read(tmp_path: Path) -> None:
    """Before an application reads, names are looked up: that must not look like slow reads."""
    lay(tmp_path, "idle")
    io = tmp_path / f"proc/{PID}/io"
    text = io.read_text()
    written = parse_moved(text).written_bytes
    observer = FuseObserver(tmp_path, PATIENT, clock=step_clock())
    seen = [observer.observe()]
    for more in (800, 1600, 1600 + MIB):
        io.write_text(text.replace(f"wchar: {written}", f"wchar: {written + more}"))
        seen.append(observer.observe())
    observer.close()
    read = [
        found.targets[0].counters["read.bytes"] - seen[0].targets[0].counters["read.bytes"] for found in seen
    ]
    assert read == [0, 0, 0, MIB]


def test_knobs_are_read_and_other_fuse_mounts_passed_over(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    (seen,) = FuseObserver(tmp_path, PATIENT, clock=step_clock()).observe().targets
    assert dict(seen.setting) == {"flight": 12, "congested": 9, "ahead": 128, "dirty_ppm": 10_000}
    assert seen.target.fs == "/mnt/gluster"
    assert seen.gauges["dirty.limit_bytes"] > 0


def test_an_older_kernel_keeps_the_dirty_limit_in_percent(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    (tmp_path / f"sys/devices/virtual/bdi/{DEVICE}/max_ratio_fine").unlink()
    (tmp_path / f"sys/devices/virtual/bdi/{DEVICE}/max_ratio").write_text("3\n")
    (seen,) = FuseObserver(tmp_path, PATIENT, clock=step_clock()).observe().targets
    assert seen.setting["dirty_ppm"] == 30_000


def test_what_is_missing_is_said_and_comes_back(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    stats = tmp_path / f"sys/kernel/debug/bdi/{DEVICE}/stats"
    text = stats.read_text()
    stats.unlink()
    observer = FuseObserver(tmp_path, PATIENT, clock=step_clock())
    seen = observer.observe()
    assert not seen.targets
    assert f"/sys/kernel/debug/bdi/{DEVICE}/stats" in seen.problems[0].message
    stats.write_text(text)
    assert observer.observe().targets


def test_a_new_daemon_is_a_new_target(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    observer = FuseObserver(tmp_path, PATIENT, clock=step_clock(), rescan_s=1000)
    (before,) = observer.observe().targets
    stat = tmp_path / f"proc/{PID}/stat"
    head, _, fields = stat.read_text().rpartition(")")
    later = fields.split()
    later[19] = "999999999"
    stat.write_text(f"{head}) {' '.join(later)}\n")
    observer.observe()
    (after,) = observer.observe().targets
    assert after.target.name != before.target.name
    observer.close()


def test_unmounted_is_gone_without_a_problem(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    observer = FuseObserver(tmp_path, PATIENT, clock=step_clock(), rescan_s=1000)
    assert observer.observe().targets
    for place in (f"sys/devices/virtual/bdi/{DEVICE}", f"sys/kernel/debug/bdi/{DEVICE}", f"proc/{PID}"):
        shutil.rmtree(tmp_path / place)
    observer.close()
    table = tmp_path / "proc/self/mountinfo"
    table.write_text("".join(line for line in table.read_text().splitlines(True) if "glusterfs" not in line))
    seen = observer.observe()
    assert (seen.targets, seen.problems) == ((), ())
