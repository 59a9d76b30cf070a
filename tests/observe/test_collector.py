"""The observer on a client that misbehaves: what FAULTS asks of reading, row by row."""

from __future__ import annotations

import math
import os
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from tests.observe.conftest import Client, stats_text
from tests.rigs.served import wait_for

from penstock.knobs import Setting
from penstock.observe.collector import LustreObserver
from penstock.observe.kernelfs import DescriptorBudget, KernelFs
from penstock.ratios import carat_metrics
from penstock.snapshot import NodeSnapshot
from penstock.spaces import LUSTRE
from penstock.window import Void, VoidReason, Window, windows

ONE = "scratch-OST0000-osc-ff01"
TWO = "scratch-OST0001-osc-ff01"
NOBODY = 65534


@pytest.fixture
def pair(client: Client) -> Client:
    client.osc(ONE)
    client.osc(TWO)
    return client


def names(seen: NodeSnapshot) -> list[str]:
    return [item.target.name for item in seen.targets]


def observer(client: Client, deadline_s: float = 5.0) -> LustreObserver:
    return LustreObserver(client.root, deadline_s=deadline_s, rescan_s=0.0)


@contextmanager
def unprivileged() -> Iterator[None]:
    """Root reads everything, so become nobody for a while."""
    privileged = os.geteuid() == 0
    if privileged:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if privileged:
            os.seteuid(0)


def descriptors(client: Client, name: str) -> dict[int, str]:
    """This process's descriptors on files of a target, with the files' names."""
    found = {}
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            path = entry.readlink()
            if path.is_relative_to(client.root) and path.parent.name == name:
                found[int(entry.name)] = path.name.removesuffix(" (deleted)")
    return found


def make_unreadable(taken: Iterable[int]) -> None:
    """Reads through these descriptors fail from now on, as they do once the kernel has removed a file."""
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    for fd in taken:
        os.dup2(memory, fd)
    os.close(memory)


def end_reads(pipe: Path) -> None:
    """Let whoever waits for a writer of this pipe see its end."""
    with suppress(OSError):
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))


def test_observer_reads_the_captured_clients(captured: Path) -> None:
    seen = LustreObserver(captured / "tree").observe()
    assert [item.target.resource for item in seen.targets] == ["OST0000", "OST0001"]
    assert seen.problems == ()
    first = seen.targets[0]
    if captured.name.endswith("2.15.8"):
        assert first.setting == Setting(pages=1024, flight=8, dirty=490)
        assert first.gauges == {"dirty.bytes": 0, "grant.bytes": 205570048, "brw.bytes": 4194304}
        assert first.counters["read.usec"] == 11127459
        assert seen.mounts["lustre-ff1100010dabc800"]["app.write_bytes"] == 376438784
    else:
        assert first.setting == Setting(pages=256, flight=8, dirty=490)
        assert first.counters["write.rpcs"] == 3107
        assert seen.mounts["lustre-ff1100010179b000"]["readahead.hits"] == 261904
    assert (first.state, first.active) == ("FULL", True)


def test_observer_makes_a_window_of_what_moved(pair: Client) -> None:
    watcher = observer(pair)
    before = watcher.observe()
    pair.stats(ONE).write_text(stats_text(3))
    first, second = windows(before, watcher.observe())
    assert isinstance(first, Window)
    assert first.metrics["read.bytes"] == 2 * 4194304
    assert carat_metrics(first, LUSTRE)["write.page_utilisation"] == 1.0
    assert isinstance(second, Window)
    assert second.metrics["read.bytes"] == 0


def test_observer_leaves_a_blocking_target_behind(pair: Client) -> None:  # row 9
    pair.stats(ONE).unlink()
    os.mkfifo(pair.stats(ONE))
    watcher = observer(pair, deadline_s=2.0)
    seen = watcher.observe()
    assert names(seen) == [TWO]
    assert any(p.source == ONE and "blocks" in p.message for p in seen.problems)
    threads = threading.active_count()
    for _ in range(5):
        assert names(watcher.observe()) == [TWO]
    assert threading.active_count() == threads, "threads pile up"
    alias = pair.root / "pipe"
    os.link(pair.stats(ONE), alias)
    pair.stats(ONE).unlink()
    pair.stats(ONE).write_text(stats_text(1))

    def is_back() -> bool:
        end_reads(alias)
        return names(watcher.observe()) == [ONE, TWO]

    wait_for(is_back)
    watcher.close()


def test_observer_reads_what_it_may() -> None:  # row 10
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        root.chmod(0o755)
        client = Client(root)
        client.osc(ONE)
        (root / "sys/kernel/debug").chmod(0)
        with unprivileged():
            seen = LustreObserver(root).observe()
        (root / "sys/kernel/debug").chmod(0o755)
    (item,) = seen.targets
    assert item.setting == Setting(pages=1024, flight=8, dirty=490)
    assert math.isnan(item.counters["read.bytes"])
    assert item.state == "FULL"
    messages = {problem.message for problem in seen.problems}
    assert "stats: Permission denied (debugfs is for root alone)" in messages


def test_observer_says_that_unread_counters_are_unknown_not_idle(pair: Client) -> None:
    pair.stats(ONE).unlink()
    pair.stats(ONE).mkdir()
    watcher = observer(pair)
    first, _ = windows(watcher.observe(), watcher.observe())
    assert isinstance(first, Window)
    assert carat_metrics(first, LUSTRE)["read.bytes"] is None
    assert carat_metrics(first, LUSTRE)["read.page_utilisation"] is None


def test_observer_drops_an_unmounted_target(pair: Client) -> None:  # row 13
    watcher = LustreObserver(pair.root, rescan_s=1e9)
    watcher.observe()
    taken = descriptors(pair, ONE)
    assert len(taken) == 8
    make_unreadable(taken)
    pair.unmount(ONE)
    assert names(watcher.observe()) == [TWO]
    assert names(watcher.observe()) == [TWO]
    assert not any(Path(f"/proc/self/fd/{fd}").exists() for fd in taken)
    watcher.close()


def test_observer_keeps_a_target_whose_files_vanish_one_by_one(pair: Client) -> None:  # row 13
    watcher = observer(pair)
    watcher.observe()
    (pair.root / "proc/fs/lustre/osc" / ONE / "import").unlink()
    (pair.root / "sys/fs/lustre/osc" / ONE / "active").unlink()
    pair.stats(ONE).unlink()
    vanished = [fd for fd, file in descriptors(pair, ONE).items() if file in ("import", "active", "stats")]
    assert len(vanished) == 3
    make_unreadable(vanished)
    seen = watcher.observe()
    assert names(seen) == [ONE, TWO]
    assert math.isnan(seen.targets[0].counters["read.bytes"])


def test_observer_takes_a_remount_for_a_new_target(pair: Client) -> None:  # row 14
    watcher = observer(pair)
    before = watcher.observe()
    pair.unmount(ONE)
    pair.unmount(TWO)
    renamed = ONE.replace("ff01", "ff02")
    pair.osc(renamed)
    after = watcher.observe()
    assert names(after) == [renamed]
    assert windows(before, after) == ()


def test_observer_finds_a_file_system_that_comes_later(client: Client) -> None:  # row 15
    now_s = [0.0]
    client.root.mkdir()
    watcher = LustreObserver(client.root, rescan_s=1.0, clock=lambda: now_s[0])
    assert names(watcher.observe()) == []
    client.osc(ONE)
    found_at = None
    for second in range(1, 200):
        now_s[0] = float(second)
        if names(watcher.observe()):
            found_at = second
            break
    assert found_at is not None
    assert found_at <= 4, "the first looks come soon"


def test_observer_looks_ever_more_rarely_while_there_is_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:  # row 15
    listed: set[float] = set()

    def names_noted(fs: KernelFs, directory: str) -> Sequence[str]:
        listed.add(now_s[0])
        return listing(fs, directory)

    listing = KernelFs.names
    monkeypatch.setattr(KernelFs, "names", names_noted)
    now_s = [0.0]
    client.root.mkdir()
    watcher = LustreObserver(client.root, rescan_s=1.0, clock=lambda: now_s[0])
    for second in range(1000):
        now_s[0] = float(second)
        watcher.observe()
    assert 10 < len(listed) < 40


@pytest.mark.parametrize("state", ["DISCONN", "CONNECTING", "EVICTED", "RECOVER", "REPLAY"])
def test_observer_voids_windows_while_the_import_is_down(pair: Client, state: str) -> None:  # row 16
    watcher = observer(pair)
    before = watcher.observe()
    path = pair.root / "proc/fs/lustre/osc" / ONE / "import"
    path.write_text(f"import:\n    state: {state}\n    generation: 1\n")
    first, second = windows(before, watcher.observe())
    assert isinstance(first, Void)
    assert first.reason is VoidReason.DISCONNECTED
    assert isinstance(second, Window)


def test_observer_voids_windows_of_an_inactive_target(pair: Client) -> None:  # row 16
    watcher = observer(pair)
    before = watcher.observe()
    (pair.root / "sys/fs/lustre/osc" / ONE / "active").write_text("0\n")
    first, _ = windows(before, after := watcher.observe())
    assert isinstance(first, Void)
    assert first.reason is VoidReason.INACTIVE
    assert not after.targets[0].active


def test_observer_takes_a_reconnect_for_a_new_beginning(pair: Client) -> None:  # row 17
    watcher = observer(pair)
    before = watcher.observe()
    (pair.root / "proc/fs/lustre/osc" / ONE / "import").write_text(
        "import:\n    state: FULL\n    generation: 2\n"
    )
    (pair.root / "proc/fs/lustre/osc" / ONE / "max_pages_per_rpc").write_text("256\n")
    first, _ = windows(before, after := watcher.observe())
    assert isinstance(first, Void)
    assert first.reason is VoidReason.RESTARTED
    assert after.targets[0].setting["pages"] == 256


def test_observer_voids_windows_over_a_counter_reset(pair: Client) -> None:  # row 22
    watcher = observer(pair)
    before = watcher.observe()
    pair.stats(ONE).write_text(stats_text(5, since="2.0"))
    first, _ = windows(before, watcher.observe())
    assert isinstance(first, Void)
    assert first.reason is VoidReason.RESTARTED


@pytest.mark.parametrize("garbage", ["-5", "x", "1e9", "99999999999999999999999999999999999999999999999x"])
def test_observer_skips_a_garbled_counter_and_says_so(pair: Client, garbage: str) -> None:  # row 23
    watcher = observer(pair)
    before = watcher.observe()
    text = stats_text(2).replace("read_bytes                2", f"read_bytes                {garbage}")
    pair.stats(ONE).write_text(text)
    first, _ = windows(before, after := watcher.observe())
    assert isinstance(first, Window)
    assert "read.bytes" not in first.metrics
    assert first.metrics["write.bytes"] == 4194304
    assert any(p.source == ONE and "read_bytes" in p.message for p in after.problems)


def test_observer_discards_a_snapshot_cut_inside_a_line(pair: Client) -> None:  # row 24
    watcher = observer(pair)
    watcher.observe()
    pair.stats(ONE).write_text(stats_text(2)[:-20])
    seen = watcher.observe()
    assert names(seen) == [TWO]
    assert any(p.source == ONE and "cut off" in p.message for p in seen.problems)
    pair.stats(ONE).write_text(stats_text(2))
    assert names(watcher.observe()) == [ONE, TWO]


def test_observer_voids_both_windows_around_a_snapshot_that_lost_a_row(pair: Client) -> None:  # row 24
    watcher = observer(pair)
    seen = [watcher.observe()]
    for text in (stats_text(2)[: stats_text(2).index("ost_read")], stats_text(3), stats_text(4)):
        pair.stats(ONE).write_text(text)
        seen.append(watcher.observe())
    found = [windows(before, after)[0] for before, after in pairwise(seen)]
    assert [type(item) for item in found] == [Void, Void, Window]
    assert isinstance(found[0], Void)
    assert found[0].reason is VoidReason.ROW_LOST


def test_observer_ignores_what_is_new(pair: Client) -> None:  # row 25
    pair.stats(ONE).write_text(
        stats_text(2) + "quantum_bytes  3 samples [qubits] 1 2 3 4 5 6\nnew section:\n - x\n"
    )
    path = pair.root / "proc/fs/lustre/osc" / ONE / "import"
    path.write_text(
        "import:\n    colour: { state of: mind }\n    state: FULL\n    generation: 1\n    x: [ y ]\n"
    )
    pair.write(f"sys/fs/lustre/osc/{ONE}/brand_new_knob", "7\n")
    seen = observer(pair).observe()
    assert seen.problems == ()
    assert seen.targets[0].counters["read.rpcs"] == 2
    assert seen.targets[0].state == "FULL"


def test_observer_survives_a_jumping_wall_clock(pair: Client) -> None:  # row 26
    watcher = observer(pair)
    before = watcher.observe()
    pair.stats(ONE).write_text(stats_text(2).replace("1000.000000000", "1.000000000"))
    first, _ = windows(before, watcher.observe())
    assert isinstance(first, Window)
    assert first.seconds > 0


def test_observer_ignores_what_is_no_client_data_path(pair: Client) -> None:  # row 38
    pair.osc("scratch-OST0000-osc-MDT0000")
    pair.osc("scratch-MDT0000-osp-MDT0001")
    pair.write("proc/fs/lustre/osc/num_refs", "2\n")
    assert names(observer(pair).observe()) == [ONE, TWO]


def test_observer_lets_one_bad_target_cost_nobody_else(pair: Client) -> None:
    bad = pair.root / "sys/fs/lustre/osc" / ONE
    for file in ("max_dirty_mb", "cur_dirty_bytes", "active"):
        (bad / file).write_bytes(b"\xff\x00 nonsense")
    seen = observer(pair).observe()
    assert names(seen) == [ONE, TWO]
    assert seen.targets[0].setting == Setting(pages=1024, flight=8)
    assert {p.source for p in seen.problems} == {ONE}
    assert seen.targets[1].setting["dirty"] == 490


def test_observer_keeps_its_descriptors_over_rescans_and_finds_what_was_missing(pair: Client) -> None:
    text = pair.stats(TWO).read_text()
    pair.stats(TWO).unlink()
    watcher = observer(pair)
    seen = watcher.observe()
    assert math.isnan(seen.targets[1].counters["read.bytes"])
    kept = descriptors(pair, ONE)
    assert len(kept) == 8
    pair.stats(TWO).write_text(text)
    assert watcher.observe().targets[1].counters["read.rpcs"] == 1
    assert descriptors(pair, ONE) == kept
    watcher.close()


def test_observer_refuses_a_text_without_end(pair: Client) -> None:
    pair.stats(ONE).write_bytes(b"x" * 3_000_000)
    watcher = observer(pair)
    seen = watcher.observe()
    assert names(seen) == [ONE, TWO]
    assert math.isnan(seen.targets[0].counters["read.bytes"])
    assert any(p.source == ONE and p.message == "stats: File too large" for p in seen.problems)
    assert len(watcher.probe().files) > 8
    watcher.close()


def test_observer_reads_all_targets_with_few_descriptors(
    pair: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = DescriptorBudget(3)
    monkeypatch.setattr("penstock.observe.kernelfs.DescriptorBudget", lambda: few)
    watcher = observer(pair)
    assert names(watcher.observe()) == names(watcher.observe()) == [ONE, TWO]
    assert len(descriptors(pair, ONE)) + len(descriptors(pair, TWO)) == 3
    watcher.close()
    assert few.left == 3


def test_observer_close_returns_every_descriptor(pair: Client) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    watcher = observer(pair)
    watcher.observe()
    watcher.close()
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_observer_only_peeks_at_idle_targets(pair: Client) -> None:
    watching = LustreObserver(pair.root, deadline_s=5.0, rescan_s=1e9, peek=True)
    for step in range(2, 10):
        pair.stats(ONE).write_text(stats_text(step))
        watching.observe()
    pair.write(f"sys/fs/lustre/osc/{TWO}/max_rpcs_in_flight", "77\n")
    flights = []
    for step in range(10, 26):
        pair.stats(ONE).write_text(stats_text(step))
        seen = watching.observe()
        assert names(seen)[0] == ONE, "busy targets come first"
        assert seen.targets[0].counters["read.rpcs"] == step
        flights.append(seen.targets[1].setting["flight"])
    assert flights[0] == 8, "an idle target's knobs are not read at every pass"
    assert flights[-1] == 77, "but now and then"
    pair.stats(TWO).write_text(stats_text(99))
    awake = {item.target.name: item for item in watching.observe().targets}[TWO]
    assert awake.counters["read.rpcs"] == 99
    watching.close()
