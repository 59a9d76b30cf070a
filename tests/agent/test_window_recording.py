"""A recording gives back exactly what was put in, stays within its bound, and survives what crashes leave."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

from penstock.agent.deciding import Forgotten, IntervalDecisions, IntervalInput
from penstock.agent.interval_lines import RecordedInput
from penstock.agent.run_start import RunStart
from penstock.agent.settings import GuardSection
from penstock.agent.startup import WINDOWS_FILE
from penstock.agent.window_recording import FORMAT, FULL, TORN, RunBegins, WindowRecorder, read_windows
from penstock.decide.guard import NodeView
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, fuse, lustre, nfs
from penstock.units import GIB
from penstock.window import Void, VoidReason, Window

TARGETS = [Target(f"s-OST{i:04x}-osc-ff", "s", f"OST{i:04x}", "s-ff") for i in range(3)]
SMALL = lustre(2 * GIB, pages_floor=16, pages_ceiling=256, chunk_pages=16)


# A target's original is another one after an administrator set a knob, and nobody's business after a restore.
ORIGINALS = (None, Setting(flight=8, pages=1024), Setting(flight=24, pages=1024))


def start(seed: int = 1) -> RunStart:
    return RunStart("0.1.0", "weir", "", "survey", "abc", seed, 0.5, 600.0, GuardSection(dwell_s=2.0), "{}")


def interval(number: int, rng: Random) -> IntervalDecisions:
    now_s = 100.0 + number / 3
    seen: list[Window | Void] = [
        Window(
            target,
            now_s - 1 / 3,
            now_s,
            Setting(flight=8, pages=number),
            {"read.bytes": rng.random() * 1e9, "x": 3},
            ORIGINALS[(number // 7 + place) % len(ORIGINALS)],
        )
        for place, target in enumerate(TARGETS[:2])
    ]
    seen.append(Void(TARGETS[2], now_s - 0.1, now_s, VoidReason.BACKWARDS))
    node = NodeView(512.5, None, 3.0) if number % 2 else NodeView()
    gone = (Forgotten(TARGETS[1], True),) if number % 5 == 4 else ()
    return IntervalDecisions(IntervalInput(now_s, tuple(seen), gone), node, ())


def spaces(target: Target) -> KnobSpace | None:
    return {TARGETS[0]: LUSTRE, TARGETS[1]: SMALL}.get(target)


def recorded(
    path: Path, count: int, most: int = 10**6, seed: int = 1
) -> tuple[list[IntervalDecisions], list[str]]:
    said: list[str] = []
    recorder, rng = WindowRecorder(path, most, start(seed), said.append), Random(seed)
    made = [interval(number, rng) for number in range(count)]
    for one in made:
        recorder.take(one, (), spaces)
    recorder.flush()
    return made, said


def test_everything_comes_back_exactly(tmp_path: Path) -> None:
    made, _ = recorded(tmp_path / WINDOWS_FILE, 60)
    first, *rest = read_windows(tmp_path / WINDOWS_FILE)
    assert isinstance(first, RunBegins)
    assert (first.start, first.interval, first.format) == (start(), 0, FORMAT)
    assert first.wall_offset_s is not None
    found = [one for one in rest if isinstance(one, RecordedInput)]
    assert [one.interval for one in found] == [one.interval for one in made]
    assert [one.node for one in found] == [one.node for one in made]
    assert len(found) == len(rest)
    assert TARGETS[2] not in found[0].spaces


def test_spaces_come_back_with_bounds_and_couplings(tmp_path: Path) -> None:
    known = dict(zip(TARGETS, (SMALL, fuse(), nfs(7, frozenset({"dirty_bytes"}))), strict=True))
    recorder = WindowRecorder(tmp_path / WINDOWS_FILE, 10**6, start(), print)
    recorder.take(interval(1, Random(1)), (), known.get)
    recorder.flush()
    (found,) = (one for one in read_windows(tmp_path / WINDOWS_FILE) if isinstance(one, RecordedInput))
    for target, space in known.items():
        again = found.spaces[target]
        assert (again.name, again.knobs, again.searched) == (space.name, space.knobs, space.searched)
        before = space.default
        for knob in space.knobs:
            wanted = {knob.id: knob.values[-1]}
            assert again.settle(before, wanted) == space.settle(before, wanted)


def test_full_recording_keeps_the_beginning_of_the_run_within_its_bound(tmp_path: Path) -> None:
    made, said = recorded(tmp_path / WINDOWS_FILE, 20_000, most=40_000)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    # The last piece of each file may pass its quarter.
    assert size < 40_000 * 2.5
    found = list(read_windows(tmp_path / WINDOWS_FILE))
    kept = [one.interval for one in found if isinstance(one, RecordedInput)]
    assert kept == [one.interval for one in made[: len(kept)]]
    assert 100 < len(kept) < len(made)
    assert found[-1] is FULL
    assert said == []


def test_newer_run_takes_the_place_of_an_older_one(tmp_path: Path) -> None:
    recorded(tmp_path / WINDOWS_FILE, 5000, most=200_000, seed=1)
    recorded(tmp_path / WINDOWS_FILE, 20_000, most=200_000, seed=2)
    begins = [one for one in read_windows(tmp_path / WINDOWS_FILE) if isinstance(one, RunBegins)]
    assert (2, 0) in {(one.start.seed, one.interval) for one in begins}
    assert (1, 0) not in {(one.start.seed, one.interval) for one in begins}


def test_torn_piece_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / WINDOWS_FILE
    recorded(path, 50)
    path.write_bytes(path.read_bytes()[:-30])
    recorded(path, 50, seed=2)
    found = list(read_windows(path))
    begins = [at for at, one in enumerate(found) if isinstance(one, RunBegins)]
    assert len(begins) == 2
    assert found[begins[1] - 1] is TORN
    assert len(found) - begins[1] - 1 == 50


def test_recording_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    (tmp_path / WINDOWS_FILE).mkdir()
    _, said = recorded(tmp_path / WINDOWS_FILE, 200)
    assert len(said) == 1
    assert "cannot be replayed" in said[0]


def test_zcat_shows_a_recording(tmp_path: Path) -> None:
    recorded(tmp_path / WINDOWS_FILE, 3)
    assert gzip.decompress((tmp_path / WINDOWS_FILE).read_bytes()).startswith(b'{"run": {"version"')
