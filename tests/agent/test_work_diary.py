"""A node notes what it works on while nothing is tuned, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.rigs.agents import EAGER, agent
from tests.rigs.served import served, wait_for

from penstock.agent.work_diary import ENTRY_S, MOST_KINDS, WorkDiary
from penstock.cli.main import cli
from penstock.events import dump, parse
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.target_kinds import LUSTRE_READAHEAD, MDC
from penstock.window import Window

HOME = Setting(pages=1024, flight=8, dirty=2000)
TARGET = Target("scratch-OST0000-osc-1", "scratch", "OST0000", "ff01")


def window(target: Target = TARGET, size: float = 2.0**20, setting: Setting = HOME) -> Window:
    """Half a second of reads: 100 calls of this size."""
    metrics = {
        "read.bytes": 100 * size, "app.read_bytes": 100 * size, "app.read_calls": 100.0, "read.rpcs": 100.0,
        "read.usec": 1e6, "query.ops": 100.0, "read.carried_bytes": 100 * size,
    }  # fmt: skip
    return Window(target, 0.0, 0.5, setting, metrics)


def test_targets_of_one_mount_are_busy_together_and_their_bytes_add_up() -> None:
    diary, other = WorkDiary(), replace(TARGET, resource="OST0001", name="scratch-OST0001-osc-1")
    for _ in range(20):
        diary.take([window(), window(other)])
    (entry,) = diary.entries(1000.0)
    assert (entry.fs, entry.work, entry.request_log2, dict(entry.home)) == (
        "scratch",
        "read",
        20.0,
        dict(HOME),
    )
    assert entry.busy_s == 10.0
    assert entry.read_bytes == 2 * 20 * 100 * 2**20
    assert entry.write_bytes == 0
    assert entry.look[:2] == pytest.approx((1.0, 20.0), abs=0.01)
    assert parse(dump(entry)) == entry
    assert diary.entries(1001.0) == []


def test_entries_are_due_every_ten_minutes() -> None:
    diary = WorkDiary()
    assert diary.note([], 0.0, 1e9) == []
    assert diary.note([window()], ENTRY_S - 1.0, 1e9) == []
    assert [entry.time_s for entry in diary.note([], ENTRY_S, 1e9)] == [1e9]
    assert diary.note([], ENTRY_S + 1.0, 1e9) == []


def test_what_moves_nothing_or_no_bytes_or_is_tuned_is_not_noted() -> None:
    diary = WorkDiary()
    idle = replace(window(), metrics={"read.bytes": 0.0})
    tuned = replace(window(setting=HOME.replace({"pages": 64})), original=HOME)
    of_kinds = [window(replace(TARGET, kind=kind)) for kind in (MDC, LUSTRE_READAHEAD)]
    assert all(one.moved_per_s > 0 for one in of_kinds)
    diary.take([idle, tuned, *of_kinds])
    assert diary.entries(0.0) == []


def test_so_many_kinds_of_work_at_most_are_noted_at_once() -> None:
    diary = WorkDiary()
    for at in range(2 * MOST_KINDS):
        fs = f"fs{at}"
        diary.take([window(replace(TARGET, fs=fs, name=f"{fs}-OST0000-osc-1", mount=fs))])
    assert len(diary.entries(0.0)) == MOST_KINDS


@pytest.mark.live
def test_an_agent_that_observes_leaves_what_fleet_worth_reads_and_one_that_tunes_does_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "n1.toml").write_text(EAGER)
    with served(tmp_path / "client", plain=True, osts=1) as client:
        for mode in ("tune", "observe"):
            with agent(client, tmp_path / "n1", "--mode", mode) as running:
                wait_for(lambda: running.ask("status")["ticks"] > 20)
                assert running.stop() == 0
            assert bool(running.events("work")) is (mode == "observe")
    (noted,) = running.events("work")
    assert noted["busy_s"] > 0
    said = CliRunner().invoke(cli, ["fleet", "worth", str(tmp_path / "n1"), "--json"], catch_exceptions=False)
    found = json.loads(said.stdout)
    assert [work["fs"] for work in found["works"]] == [noted["fs"]]
