"""The measurements kept beside a log: read as they grow, thinned by means, none from what is damaged."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from penstock.agent.deciding import IntervalDecisions, IntervalInput
from penstock.agent.run_start import RunStart
from penstock.agent.settings import GuardSection
from penstock.agent.window_recording import WindowRecorder
from penstock.dash.recorded_points import RecordedPoints, joined, thinned
from penstock.dash.source import Point
from penstock.decide.guard import NodeView
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Void, VoidReason, Window

BUSY, QUIET = (Target(f"s-OST000{i}-osc-ff", "s", f"OST000{i}", "s-ff") for i in range(2))


def recorder(path: Path) -> WindowRecorder:
    start = RunStart("0.1.0", "weir", "", "survey", "abc", 1, 0.5, 600.0, GuardSection(), "")
    return WindowRecorder(path, 10**6, start, print)


def keep(into: WindowRecorder, now_s: float, moved: float) -> None:
    window = Window(BUSY, now_s - 0.5, now_s, Setting(pages=8), {"read.bytes": moved})
    void = Void(QUIET, now_s - 0.5, now_s, VoidReason.BACKWARDS)
    into.take(
        IntervalDecisions(IntervalInput(now_s, (window, void), ()), NodeView(), ()), (), lambda _: LUSTRE
    )
    into.flush()


def test_points_are_read_as_the_recording_grows_at_the_time_of_day(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl.gz"
    following, writing = RecordedPoints(path), recorder(path)
    assert following.read() == []
    now_s = time.monotonic()
    keep(writing, now_s, 5e5)
    (first,) = following.read()
    assert first.t_s == pytest.approx(time.time(), abs=60)
    assert (first.target, first.first_per_s, first.setting) == (BUSY.name, 1e6, {"pages": 8})
    keep(writing, now_s + 0.5, 1e6)
    (second,) = following.read()
    assert second.t_s - first.t_s == pytest.approx(0.5)
    assert following.read() == []
    assert len(RecordedPoints(path).read()) == 2
    assert RecordedPoints(path).read(since_s=second.t_s + 1e5) == []


def test_damaged_recording_gives_the_points_before_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "windows.jsonl.gz"
    keep(recorder(path), time.monotonic(), 5e5)
    path.write_bytes(path.read_bytes() + b"garbage")
    assert len(RecordedPoints(path).read()) == 1
    path.write_bytes(b"garbage")
    assert RecordedPoints(path).read() == []


def point(t_s: float, rate: float, pages: int = 1) -> Point:
    return Point(t_s, "a", rate, 0.0, {"pages": pages})


def test_thinning_keeps_the_mean_and_the_last_setting() -> None:
    points = [point(t, float(t), pages=t) for t in range(1000)]
    few = thinned(points, 10)
    assert len(few) == 10
    mean = sum(one.first_per_s for one in few) / len(few)
    assert mean == pytest.approx(499.5, rel=0.01)
    assert few[-1].setting == {"pages": 999}
    assert thinned(points, 1000) == points


def test_log_has_a_say_only_before_the_recording_begins() -> None:
    logged, recorded = [point(1.0, 1.0), point(5.0, 1.0)], [point(4.0, 2.0)]
    assert joined(logged, recorded) == [logged[0], *recorded]
    assert joined(logged, []) == logged
