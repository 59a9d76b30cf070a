"""Making surveys: worlds measured at some settings, filled in over the whole grid."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from penstock.cli.train import train
from penstock.decide.level import Level
from penstock.decide.memory import Remembered, WorkMemory
from penstock.decide.memoryfile import DatedMemory, dump
from penstock.decide.objective import Rates
from penstock.decide.work import Work
from penstock.errors import DataError, UsageError
from penstock.knobs import Setting
from penstock.predict import surveyfile
from penstock.spaces import fuse
from penstock.train.recorded_cases import recorded_rates
from penstock.train.survey import GRID, HOME, LEFT_OUT, HeldRates, drawn, make_survey, measure


def held(origin: str, rates: dict[tuple[int, int], float]) -> HeldRates:
    levels = {}
    for (pages, flight), rate in rates.items():
        level = Level()
        for _ in range(5):
            level.take(Rates(rate, 0.0, 4.0))
        levels[Setting(pages=pages, flight=flight)] = level
    return HeldRates(origin, levels)


def test_worlds_to_survey_repeat_and_leave_families_out() -> None:
    worlds = drawn(12, 3)
    assert [world.text for world in worlds] == [world.text for world in drawn(12, 3)]
    assert not any(set(LEFT_OUT) & set(world.families) for world in worlds)
    assert [world.text for world in drawn(3, 4)] != [world.text for world in worlds[:3]]


def test_a_world_is_measured_at_the_default_and_elsewhere() -> None:
    world = next(world for world in drawn(40, 5) if "reads" in world.families and len(world.families) <= 5)
    found = measure(world, 0.5, 1)
    assert found is not None
    assert GRID[HOME] in found.levels
    assert len(found.levels) >= 8
    again = measure(world, 0.5, 1)
    assert again is not None
    assert {s: m.mean for s, m in found.levels.items()} == {s: m.mean for s, m in again.levels.items()}


def test_a_case_keeps_what_was_measured_and_fills_in_between() -> None:
    rates = {(1024, 8): 1e8, (64, 8): 2e8, (16, 8): 4e8, (64, 1): 2e7, (1024, 1): 5e7}
    (case,) = make_survey([held("one", rates)], "test", {}).cases
    gains = case.gains[0]
    assert case.kind == "read"
    for (pages, flight), rate in rates.items():
        at = GRID.places[Setting(pages=pages, flight=flight)]
        assert gains[at] == pytest.approx(np.log2(rate / 1e8), abs=0.1)
    between = gains[GRID.places[Setting(pages=32, flight=8)]]
    assert 1.0 < between < 2.1


def test_far_from_what_was_measured_a_case_says_what_others_of_its_kind_do() -> None:
    far = Setting(pages=1, flight=256)
    others = [held(f"other {i}", {(1024, 8): 1e8, (1, 256): 1e7, (2, 256): 1e7}) for i in range(4)]
    made = make_survey([*others, held("one", {(1024, 8): 1e8, (1024, 4): 1e8})], "test", {})
    assert made.cases[-1].gains[0, GRID.places[far]] == pytest.approx(np.log2(0.1), abs=0.7)


@pytest.mark.slow
def test_survey_command_writes_a_file_that_loads(tmp_path: Path) -> None:
    out = tmp_path / "survey.json"
    options = ["--worlds", "2", "--seconds", "0.5", "--workers", "1", "--seed", "5", "--json"]
    result = CliRunner().invoke(train, ["survey", "--out", str(out), *options])
    assert result.exit_code == 0, result.output
    document, found = json.loads(result.stdout), surveyfile.load(out)
    assert document["cases"] == len(found.cases) >= 1
    assert document["sha256"] == found.digest
    assert found.provenance["left_out"] == ", ".join(LEFT_OUT)
    assert {case.origin for case in found.cases} <= {world.name for world in drawn(2, 5)}


def campaign(directory: Path, rates: dict[int, float], default: float = 1e8, space: str = "fuse") -> Path:
    """A campaign on a mount as `train collect --live DIR` leaves it: reads at some readahead."""
    rows = [
        {
            "workload": "read",
            "setting": {"ahead": ahead, "flight": 64, "dirty_ppm": 10_000},
            "read_bytes_per_s": rate,
            "write_bytes_per_s": 0.0,
            "default_read_bytes_per_s": default,
            "default_write_bytes_per_s": 0.0,
        }
        for ahead, rate in rates.items()
    ]
    home = {"ahead": 128, "flight": 64, "dirty_ppm": 10_000}
    directory.mkdir()
    document = {"format": "penstock-campaign", "space": space, "default": home, "rows": rows}
    (directory / "campaign.json").write_text(json.dumps(document))
    return directory


def test_a_campaign_on_a_mount_becomes_a_survey_of_its_knobs(tmp_path: Path) -> None:
    """Twice the pace of the default counts as that, however fast the default was at the time."""
    one = campaign(tmp_path / "one", {128: 1e8, 512: 2e8, 4096: 4e8})
    other = campaign(tmp_path / "other", {128: 5e7, 512: 1e8, 4096: 2e8}, default=5e7)
    out = tmp_path / "survey.json"
    words = ["survey", "--from", str(one), "--from", str(other), "--out", str(out), "--json"]
    done = CliRunner().invoke(train, words)
    assert done.exit_code == 0, done.output
    made = surveyfile.load(out)
    assert made.space == "fuse"
    assert [case.kind for case in made.cases] == ["read", "read"]
    grid = fuse().candidates()
    at = grid.places[Setting(ahead=4096, flight=64, dirty_ppm=10_000)]
    for case in made.cases:
        assert case.gains[0, at] == pytest.approx(2.0, abs=0.2)


def test_campaigns_do_not_mix_with_anything_else(tmp_path: Path) -> None:
    one = campaign(tmp_path / "one", {128: 1e8, 512: 2e8})
    mixed = ["survey", "--from", str(one), "--worlds", "2", "--out", str(tmp_path / "s")]
    assert isinstance(CliRunner().invoke(train, mixed).exception, UsageError)
    nfs = campaign(tmp_path / "nfs", {128: 1e8}, space="nfs")
    both = ["survey", "--from", str(one), "--from", str(nfs), "--out", str(tmp_path / "s")]
    assert isinstance(CliRunner().invoke(train, both).exception, DataError)
    assert not (tmp_path / "s").exists()


def _state(directory: Path, settings: int) -> Path:
    """A state directory that remembers two kinds of work, one of them at too few settings."""
    places = [Setting(pages=1024 >> i, flight=8) for i in range(settings)]
    known = {place: Remembered(Rates(1e8 * 1.2**i, 0.0, 4.0), 9, 0.02) for i, place in enumerate(places)}
    few = dict(list(known.items())[:2])
    directory.mkdir(parents=True)
    works = [
        WorkMemory("scratch", Work("read", 20.0), known),
        WorkMemory("scratch", Work("write", 20.0), few),
    ]
    (directory / "knowledge.json").write_bytes(dump([DatedMemory(one, 1.0) for one in works]))
    return directory


@pytest.mark.parametrize("nodes", [1, 3])
def test_state_directories_become_cases_one_or_many(tmp_path: Path, nodes: int) -> None:
    for i in range(nodes):
        made = _state(tmp_path / "fleet" / f"node{i}", 6)
    source, out = made if nodes == 1 else tmp_path / "fleet", tmp_path / "survey.json"
    done = CliRunner().invoke(train, ["survey", "--from", str(source), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    found = surveyfile.load(out).cases
    assert [case.origin for case in found] == [f"node{i}/scratch/reads of 1 MiB" for i in range(nodes)]
    at = GRID.places[Setting(pages=32, flight=8)]
    assert found[0].gains[0][at] == pytest.approx(5 * np.log2(1.2), abs=0.1)


def test_state_directories_that_know_too_little_are_said_so(tmp_path: Path) -> None:
    state = _state(tmp_path / "node", 4)
    with pytest.raises(DataError, match="4 others"):
        recorded_rates([state])
    (state / "knowledge.json").write_text("{")
    with pytest.raises(DataError, match="damaged"):
        recorded_rates([state])


def test_a_simulated_reader_has_a_look_and_its_large_gains_are_not_believed() -> None:
    reading = next(world for world in drawn(40, 5) if "reads" in world.families and len(world.families) <= 5)
    held_rates = measure(reading, 0.5, 1)
    assert held_rates is not None
    assert len(held_rates.look) == 3
    assert held_rates.most_log2 < 2.0
    many = held("one", {(1024, 8): 1e8, (64, 8): 64e8, (16, 8): 4e8, (64, 1): 2e7, (1024, 1): 5e7})
    (case,) = make_survey([replace(many, most_log2=1.0)], "test", {}).cases
    assert case.gains.max() <= 1.0
