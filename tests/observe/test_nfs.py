"""Kernel NFS, read from captures of real mounts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.errors import DataError
from penstock.observe.dirty_pages import parse_dirty_pages
from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import parse_mounts
from penstock.observe.nfs.mountstats import NfsMount, Unreadable, parse_mountstats
from penstock.observe.nfs.observer import NfsObserver
from penstock.observe.nfs.sunrpc import parse_transport, read_transports
from penstock.ratios import carat_metrics
from penstock.spaces import BY_RATIO, nfs
from penstock.testing.observers import check_observer, check_tree_untouched
from penstock.units import MIB
from penstock.window import Window, windows

SERIES = Path(__file__).parent.parent / "fixtures/nfs-4.1/series"
MOUNTINFO = (
    "29 1 0:20 / / rw - ext4 /dev/vda rw\n48 29 0:50 / /mnt/n rw,relatime - nfs4 10.98.0.1:/x rw,vers=4.1\n"
)
DEVICE = "sys/devices/virtual/bdi/0:50"


def lay(root: Path, moment: str) -> None:
    """Make a tree as the kernel's at one moment of the captured series."""
    (root / DEVICE).mkdir(parents=True, exist_ok=True)
    (root / "proc/self").mkdir(parents=True, exist_ok=True)
    (root / "proc/sys/vm").mkdir(parents=True, exist_ok=True)
    (root / "sys/module/nfs/parameters").mkdir(parents=True, exist_ok=True)
    shutil.copy(SERIES / f"{moment}.mountstats", root / "proc/self/mountstats")
    for file in ("meminfo", "vmstat"):
        shutil.copy(SERIES / f"{moment}.{file}", root / "proc" / file)
    age_s = only_mount(root).age_s
    texts = {
        "proc/self/mountinfo": MOUNTINFO,
        "proc/uptime": f"{age_s + 100}.31 5.00\n",
        f"{DEVICE}/read_ahead_kb": "128\n",
        "proc/sys/vm/dirty_bytes": "0\n",
        "proc/sys/vm/dirty_ratio": "20\n",
        "sys/module/nfs/parameters/max_session_slots": "64\n",
    }
    for path, text in texts.items():
        (root / path).write_text(text)
    for block in (SERIES / f"{moment}.sunrpc_sysfs").read_text().split("\n\n"):
        place, _, text = block.strip().partition(":\n")
        if place:
            shown = root / place.lstrip("/")
            shown.parent.mkdir(parents=True, exist_ok=True)
            shown.write_text(text + "\n")


def only_mount(root: Path) -> NfsMount:
    (found,) = parse_mountstats((root / "proc/self/mountstats").read_bytes())
    assert isinstance(found, NfsMount)
    return found


def step_clock() -> Callable[[], float]:
    now = iter(range(1, 1000))
    return lambda: float(next(now))


def test_mountstats_tells_requests_bytes_and_times() -> None:
    (mount,) = parse_mountstats((SERIES / "seqwrite1m.mountstats").read_bytes())
    assert isinstance(mount, NfsMount)
    assert (mount.device, mount.path, mount.kind, mount.age_s) == ("10.98.0.1:/x", "/mnt/n", "nfs4", 754)
    write = mount.operation("WRITE")
    assert (write.count, write.timeouts, write.queue_ms, write.rtt_ms) == (128709, 0, 11860739, 846974)
    assert mount.counts.server_write == 14459883520
    assert (mount.size("rsize"), mount.size("wsize")) == (1048576, 1048576)
    assert len(mount.transports) == 1
    assert mount.operation("NO_SUCH").count == 0


def test_mountstats_reads_version_3_and_several_connections() -> None:
    found = parse_mountstats((SERIES.parent.parent / "nfs-6.1/mountstats").read_bytes())
    kinds = {mount.path: mount for mount in found if isinstance(mount, NfsMount)}
    assert kinds["/n3"].options["vers"] == "3"
    assert kinds["/n3"].operation("READ").count > 0
    assert len(kinds["/n"].transports) == 2


def test_mountstats_ignores_fields_it_does_not_know() -> None:
    text = (SERIES / "idle.mountstats").read_text()
    grown = text.replace(" 61\n", " 61 7 8 9\n").replace("\tage:", "\tnovelty:\t1 2 3\n\tage:")
    assert parse_mountstats(grown.encode()) == parse_mountstats(text.encode())


def test_one_odd_mount_does_not_cost_the_others() -> None:
    text = (SERIES / "idle.mountstats").read_text()
    broken = text.replace("/mnt/n ", "/mnt/odd ").replace("READ: 21192", "READ: many")
    odd, good = parse_mountstats((broken + text).encode())
    assert isinstance(odd, Unreadable)
    assert odd.path == "/mnt/odd"
    assert "many" in odd.why
    assert isinstance(good, NfsMount)


def test_cut_mountstats_is_a_problem_not_a_crash() -> None:
    text = (SERIES / "idle.mountstats").read_text()
    for end in range(100, len(text), 211):
        for found in parse_mountstats(text[:end].encode()):
            assert isinstance(found, NfsMount | Unreadable)


def test_transports_show_slots(tmp_path: Path) -> None:
    lay(tmp_path, "seqwrite1m")
    (transport,) = read_transports(KernelFs(tmp_path))
    assert (transport.server, transport.slots, transport.most_slots) == ("10.98.0.1", 2, 65536)
    with pytest.raises(DataError, match="num_reqs"):
        parse_transport("sending_q_len=0\npending_q_len=0\nbacklog_q_len=0\n", "")


def test_dirty_pages_of_the_node() -> None:
    found = parse_dirty_pages(
        (SERIES / "seqwrite1m.meminfo").read_text(), (SERIES / "seqwrite1m.vmstat").read_text()
    )
    assert (found.dirty_bytes, found.limit_bytes) == (956 * 1024, 512 * 4096)


def test_what_is_mounted_over_is_not_in_sight() -> None:
    over = "60 29 0:51 / /mnt/n rw - tmpfs none rw\n61 29 0:50 /sub /other rw - nfs4 10.98.0.1:/x rw\n"
    seen = parse_mounts((MOUNTINFO + over).encode()).in_sight()
    assert [(mount.device, mount.path) for mount in seen] == [
        ("0:20", "/"),
        ("0:51", "/mnt/n"),
        ("0:50", "/other"),
    ]


def test_observer_obeys(tmp_path: Path) -> None:
    moments = iter(["seqread8k", "randread8k", "seqwrite1m", "randwrite8k"] * 10)
    lay(tmp_path, "idle")
    check_tree_untouched(lambda: NfsObserver(tmp_path), tmp_path)
    check_observer(lambda: NfsObserver(tmp_path, clock=step_clock()), lambda: None)
    observer = NfsObserver(tmp_path, clock=step_clock())
    before = observer.observe()
    lay(tmp_path, next(moments))
    assert observer.observe().targets[0].target == before.targets[0].target


def test_windows_of_a_real_series_hold_the_metrics(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    observer = NfsObserver(tmp_path, clock=step_clock())
    before = observer.observe()
    lay(tmp_path, "seqwrite1m")
    after = observer.observe()
    (window,) = windows(before, after)
    assert isinstance(window, Window)
    assert window.target.fs == "/mnt/n"
    assert window.setting["ahead"] == 128
    assert window.setting["dirty_bytes"] == BY_RATIO
    assert window.metrics["write.bytes"] == 14459883520 - 14375215104
    assert window.metrics["app.write_bytes"] == 14495490048 - 14410555392
    found = carat_metrics(window, nfs())
    requests, moved = 128709 - 128557, 14459883520 - 14375215104
    assert found["write.page_utilisation"] == pytest.approx(moved / requests / MIB)
    assert found["write.channel_utilisation"] == pytest.approx((846974 - 846593) / 1000 / window.seconds / 64)
    assert found["write.page_latency_us"] == pytest.approx((846974 - 846593) * 1000 / (moved / 4096))
    assert found["dirty.utilisation"] == pytest.approx(956 * 1024 / (512 * 4096))
    assert found["cache_update_bytes"] is not None


def test_a_mount_made_anew_is_another_target(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    observer = NfsObserver(tmp_path, clock=step_clock())
    (before,) = observer.observe().targets
    (tmp_path / "proc/uptime").write_text("99999.00 1.00\n")
    (after,) = observer.observe().targets
    assert after.target.name != before.target.name
    assert after.target.fs == before.target.fs


def test_an_unmounted_mount_is_gone_and_no_mounts_are_no_problem(tmp_path: Path) -> None:
    lay(tmp_path, "idle")
    observer = NfsObserver(tmp_path, clock=step_clock(), rescan_s=1000)
    assert observer.observe().targets
    (tmp_path / "proc/self/mountstats").write_text("")
    (tmp_path / "proc/self/mountinfo").write_text(MOUNTINFO.splitlines(keepends=True)[0])
    observer.observe()
    seen = observer.observe()
    assert (seen.targets, seen.problems) == ((), ())
    observer.close()
