"""Readahead as a target of its mount: what applications read, and what the wire carried for that."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.knobs import Setting
from penstock.knobs.target_kind import DATA, METADATA, READAHEAD
from penstock.observe.collector import LustreObserver
from penstock.observe.lustre.layout import READAHEAD_KNOBS, llite_target, osc_target
from penstock.observe.lustre.mount_readahead import ReadaheadParser, with_carried
from penstock.snapshot import NodeSnapshot, TargetSnapshot
from penstock.target_kinds import LUSTRE_READAHEAD
from penstock.testing.observers import check_observer, check_tree_untouched
from penstock.window import Void, VoidReason, Window, windows

FIXTURES = Path(__file__).parent.parent / "fixtures"
MOUNT = "lustre-ff1100010dabc800"
STATS = FIXTURES / f"lustre-2.15.8/tree/sys/kernel/debug/lustre/llite/{MOUNT}/stats"


def seen_at(t_s: float, read: float, carried: float, epoch: str = "1") -> list[TargetSnapshot]:
    """A mount and one of its data paths."""
    target, path = llite_target(MOUNT, LUSTRE_READAHEAD), osc_target("lustre-OST0000-osc-ff1100010dabc800")
    assert target is not None
    assert path is not None
    counters = {"read.bytes": read, "read.rpcs": read / 1e6, "read.usec": 0.0}
    return [
        TargetSnapshot(target, t_s, Setting(ahead_total=122), counters),
        TargetSnapshot(path, t_s, Setting(pages=1024), {"read.bytes": carried}, epoch=epoch),
    ]


def parser() -> ReadaheadParser:
    target = llite_target(MOUNT, LUSTRE_READAHEAD)
    assert target is not None
    return ReadaheadParser(target, READAHEAD_KNOBS)


def test_parser_counts_what_applications_read_and_how_long_that_took() -> None:
    found = parser().parse(0.0, (STATS.read_bytes(), b"122\n", b"30\n", b"30\n", b"30\n"))
    assert found.setting == Setting(ahead_total=122, ahead_file=30, ahead_whole=30, ahead_async=30)
    assert found.counters == {"read.bytes": 167772160.0, "read.rpcs": 160.0, "read.usec": 9837253.0}


def test_parser_tells_what_was_not_printed_from_what_could_not_be_read() -> None:
    unread = parser().parse(0.0, (None, b"122\n", None, b"x\n", b"30\n"))
    assert all(math.isnan(value) for value in unread.counters.values())
    assert unread.setting == Setting(ahead_total=122, ahead_async=30)
    head = b"snapshot_time 1.0 secs.nsecs\nstart_time 1.0 secs.nsecs\n"
    assert set(parser().parse(0.0, (head, *[b"1\n"] * 4)).counters.values()) == {0.0}


def test_carried_bytes_are_those_of_the_mounts_data_paths() -> None:
    before = NodeSnapshot(0.0, tuple(with_carried(seen_at(0.0, 0.0, 0.0))))
    after = NodeSnapshot(1.0, tuple(with_carried(seen_at(1.0, 4e7, 5e7))))
    found = {one.target.kind.name: one for one in windows(before, after)}
    mount = found["readahead"]
    assert isinstance(mount, Window)
    assert mount.metrics["read.bytes"] == 4e7
    assert mount.metrics[mount.target.kind.carried] == 5e7


def test_window_is_void_where_a_data_path_came_or_began_anew() -> None:
    whole = with_carried(seen_at(0.0, 0.0, 1e6))
    for later in (seen_at(1.0, 1e6, 2e6, epoch="2"), seen_at(1.0, 1e6, 2e6)[:1]):
        (found,) = [
            one
            for one in windows(NodeSnapshot(0.0, tuple(whole)), NodeSnapshot(1.0, tuple(with_carried(later))))
            if one.target.kind == LUSTRE_READAHEAD
        ]
        assert isinstance(found, Void)
        assert found.reason is VoidReason.RESTARTED


def test_a_whole_mount_takes_no_share_of_what_its_data_paths_carry() -> None:
    mounts = ({MOUNT: {"app.read_bytes": 0.0}}, {MOUNT: {"app.read_bytes": 4e7}})
    before = NodeSnapshot(0.0, tuple(with_carried(seen_at(0.0, 0.0, 0.0))), mounts[0])
    after = NodeSnapshot(1.0, tuple(with_carried(seen_at(1.0, 4e7, 5e7))), mounts[1])
    found = {one.target.kind.name: one for one in windows(before, after)}
    path, mount = found["data-path"], found["readahead"]
    assert isinstance(path, Window)
    assert isinstance(mount, Window)
    assert path.metrics["app.read_bytes"] == 4e7
    assert "app.read_bytes" not in mount.metrics


@pytest.mark.parametrize("version", ["2.15.8", "2.17.57"])
def test_observer_suite_accepts_readahead(version: str, tmp_path: Path) -> None:
    root = tmp_path / "client"
    shutil.copytree(FIXTURES / f"lustre-{version}" / "tree", root)

    def make() -> LustreObserver:
        observer = LustreObserver(root)
        observer.kinds = (DATA, READAHEAD)
        return observer

    check_observer(make)
    check_tree_untouched(make, root)
    seen = make().observe()
    assert {one.target.kind.name for one in seen.targets} == {"data-path", "readahead"}
    (mount,) = [one for one in seen.targets if one.target.kind == LUSTRE_READAHEAD]
    assert set(mount.setting) == set(READAHEAD_KNOBS)
    carried = sum(one.counters.get("read.bytes", 0.0) for one in seen.targets if one is not mount)
    assert mount.counters["read.carried_bytes"] == carried > 0
    other = LustreObserver(root)
    other.kinds = (DATA, METADATA)
    assert "readahead" not in {one.target.kind.name for one in other.observe().targets}


def test_snapshots_of_other_targets_are_left_as_they_are() -> None:
    path = seen_at(0.0, 0.0, 0.0)[1]
    assert with_carried([path, replace(path, t_s=1.0)]) == [path, replace(path, t_s=1.0)]
