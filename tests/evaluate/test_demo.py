"""The demonstration's promise: the tuned side ends above the default, in equal worlds."""

from __future__ import annotations

import io
import json
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from penstock.cli.demo import _rewriting, demo, next_lines, side_by_side
from penstock.cli.main import cli
from penstock.evaluate.demo import DemoConfig, Frame, PhaseSection, frames, leftovers, rewritten, summarise
from penstock.evaluate.tuners import shipped_policy


@cache
def shown(seed: int) -> list[Frame]:
    """The whole demonstration. The tests of this file stay on one worker, which plays it once."""
    return list(frames(DemoConfig(), "weir", seed))


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_demo_tuned_side_ends_above_the_default(seed: int) -> None:
    summary = summarise(shown(seed))
    assert summary.tuned_end_mbps > summary.default_end_mbps
    assert summary.gain > 1.05
    assert len(summary.phases) == 3
    assert summary.changes == sum(phase.changes for phase in summary.phases) > 0


def test_demo_work_changes_under_one_target_and_the_tuner_goes_back() -> None:
    seen = shown(0)
    first, second, third = summarise(seen).phases
    assert first.workload == third.workload != second.workload
    assert first.setting == third.setting != second.setting
    # The phases share their target: the second starts where the first ended, not at the default.
    start = next(frame.tuned for frame in seen if frame.tuned.phase == 1)
    assert start.setting == first.setting
    back = summarise(seen).returned
    assert back is not None
    assert back.start_s == third.start_s


@pytest.mark.slow
def test_demo_counts_changes_as_its_table_lists_them(tmp_path: Path) -> None:
    result = CliRunner().invoke(demo, ["--json", "--out", str(tmp_path / "demo.html")])
    document = json.loads(result.stdout)
    page = (tmp_path / "demo.html").read_text()
    # A command that waits says so beside it.
    assert ("until Ctrl-C; in a second terminal)" in page) is any("Ctrl-C" in line for line in next_lines())
    listed = page.split("Every change, and why</h2>")[1].count("<tr><td")
    wide = page.split('<div class="at-wide">')[1].split("</svg>")[0]
    assert listed == document["changes"] == wide.count('class="mark"')
    # Both clients and both knobs over one time axis, each with its line in the legend, and three phases.
    assert wide.count("<polyline") == 2 * 4
    assert wide.count('<rect class="band') == 3
    assert page.index(f"{document['gain']:.2f} times as fast") < page.index("<svg")
    assert "http" not in page


def test_demo_worlds_are_equal_when_nobody_tunes() -> None:
    config = DemoConfig(phase=(PhaseSection(workload="s_wr_rn_1m", seconds=10.0),))
    for frame in frames(config, "default", seed=3):
        assert frame.default == frame.tuned
        assert frame.tuned.bytes_per_s > 0


def test_demo_runs_exactly_its_phases() -> None:
    config = DemoConfig(phase=(PhaseSection(workload="s_rd_sq_1m", seconds=5.0),))
    assert len(list(frames(config, "climb", 0))) == 10


def test_demo_tunes_with_the_policy_that_ships() -> None:
    default = next(option.default for option in demo.params if option.name == "policy")
    assert default == shipped_policy()


def test_demo_screen_shows_bars_settings_and_why() -> None:
    config = DemoConfig(phase=(PhaseSection(workload="s_rd_rn_1m", seconds=10.0),))
    seen = list(frames(config, "weir", 0))
    screen = Console(width=120, record=True, file=io.StringIO())
    screen.print(side_by_side(seen, config.seconds, "weir"))
    text = screen.export_text()
    last = seen[-1].tuned
    assert "█" in text and "░" in text
    assert f"{last.bytes_per_s / 1e6:.0f} MB/s" in text
    assert str(last.setting) in text
    assert last.sentence[:20] in text


def test_demo_ends_with_commands_that_exist(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for command in next_lines():
        words = shlex.split(command, comments=True)
        assert Path(words[0]).absolute() == Path(sys.prefix, "bin", "penstock")
        assert CliRunner().invoke(cli, [*words[1:3], "--help"]).exit_code == 0


def test_demo_rewrites_in_memory_and_says_so() -> None:
    ((default, tuned),) = rewritten(shown(0))
    assert default.workload == "rewriting"
    assert default.sent_mbps < default.written_mbps < tuned.written_mbps
    assert tuned.sent_mbps < tuned.written_mbps
    (said,) = _rewriting(shown(0), "weir")
    assert f"of which the client sends {tuned.sent_mbps:.0f}." in said


def test_demo_explains_what_the_writer_left() -> None:
    seen = list(frames(DemoConfig(), "default", 0))
    ((left, other),) = leftovers(seen, summarise(seen))
    assert left == other
    assert (left.workload, left.start_s) == ("rewriting", 80.0)
    assert left.end_s > 81.0
    assert left.sent_bytes > 1e8
