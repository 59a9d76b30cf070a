"""Described worlds side by side: what each job gets, and a best static setting that starves nobody."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.cli.world_tables import show_worlds
from penstock.evaluate.comparison import compare, play, starving_nobody
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import Terms
from penstock.evaluate.simulated import Share
from penstock.evaluate.store import Store
from penstock.evaluate.trial import Measured
from penstock.evaluate.world_figures import last_half_mbps, policy_figures, summary
from penstock.knobs import Setting
from penstock.train.worlds import DescribedWorld

PAIR = DescribedWorld(
    "pair",
    """
clients = 2
[[job]]
workload = { read_ratio = 0.5, access = "random", request = "1m", streams = 2, file = "1g", cache = "20g" }
osts = [0, 1]
[[job]]
workload = { request = "256k", file = "1g", cache = "20g" }
clients = [1]
osts = [0]
""",
)
DEFAULT, SMALL = Setting(pages=1024, flight=8), Setting(pages=32, flight=2)


def test_jobs_and_targets_share_what_the_clients_moved() -> None:
    lot = play(PAIR, None, Terms((), seconds=3.0))
    assert len(lot.run.jobs) == 3
    assert len(lot.jobs) == 2
    assert sum(job.app_mbps for job in lot.jobs) == pytest.approx(lot.run.app_mbps)
    assert sum(share.app_mbps for share in lot.run.targets.values()) == pytest.approx(lot.run.app_mbps)
    assert set(lot.run.targets) == {(0, 0), (0, 1), (1, 0), (1, 1)}
    mixed, reader = lot.jobs
    assert min(mixed.reads, mixed.writes) > 100
    assert (reader.writes, reader.write_mbps) == (0, 0.0)
    assert reader.reads * 262_144 / 3.0 / 1e6 == pytest.approx(reader.read_mbps)
    assert sum(lot.run.wire) == pytest.approx(lot.run.rpc_mbps)


def test_decisions_are_kept_with_their_reasons() -> None:
    lot = play(PAIR, "climb", Terms((), seconds=15.0))
    assert len(lot.run.decided) > 0
    first = lot.run.decided[0]
    assert 0.0 < first.t_s <= 15.0
    assert first.sentence
    assert all(first.before[knob] != value for knob, value in first.wanted.items())
    assert sum(len(each.wanted) for each in lot.run.decided) == lot.run.changes


def _measured(*rates: tuple[float, int]) -> Measured:
    shares = tuple(Share(mbps, 0.0, requests, 0) for mbps, requests in rates)
    return Measured(sum(mbps for mbps, _ in rates), 0.0, 0, 0, (), (), (), (), shares)


def test_best_static_setting_starves_no_job_that_counts() -> None:
    found = {
        DEFAULT: [_measured((10.0, 500), (100.0, 5000), (1.0, 5))],
        SMALL: [_measured((7.0, 350), (300.0, 15000), (1.0, 5))],
        Setting(pages=64, flight=4): [_measured((9.0, 450), (150.0, 7500), (0.1, 1))],
    }
    scores = starving_nobody(((0,), (1,), (2,)), 120.0, found, 120.0)
    assert max(scores, key=lambda setting: scores[setting]) == Setting(pages=64, flight=4)
    assert scores[SMALL] < 0
    together = starving_nobody(((0, 1), (2,)), 120.0, found, 120.0)
    assert max(together, key=lambda setting: together[setting]) == SMALL


def test_compare_has_a_row_for_each_world_and_a_summary_of_ratios() -> None:
    with Lab(Store(None), 1) as lab:
        rows = compare(lab, [PAIR], Terms(("random", "default"), seconds=2.0), search=False)
    assert rows[0].best_static is None
    assert policy_figures(rows[0], "default").vs_default == 1.0
    figures = summary(rows, "random")
    assert figures["worst_vs_default"] == policy_figures(rows[0], "random").vs_default
    assert figures["headroom_captured"] is None


def test_scenarios_prints_rows_as_documented(tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    file.write_text(PAIR.text)
    words = [
        "evaluate",
        "scenarios",
        str(file),
        "--no-search",
        "--policy",
        "fixed",
        "--seconds",
        "2",
        "--fresh",
        "--json",
    ]
    result = CliRunner().invoke(cli, words, catch_exceptions=False)
    row = json.loads(result.stdout)["rows"][0]
    assert (row["scenario"], row["best_static"]) == ("pair", None)
    assert {"app_mbps", "wire_mbps", "jobs", "changes"} <= set(row["policies"]["fixed"])
    assert {"app_mbps", "read_mbps", "write_mbps", "requests"} <= set(row["default"]["jobs"][1])


def documents(*words: str) -> dict[str, Any]:
    file = Path("pair.toml")
    file.write_text(PAIR.text)
    asked = ["evaluate", "scenarios", str(file), "--no-search", "--seconds", "4", "--fresh", "--json", *words]
    return dict(json.loads(CliRunner().invoke(cli, asked, catch_exceptions=False).stdout))


def test_seeds_are_averaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--policy", "climb")
    both = documents(*words, "--seed", "3", "--seeds", "2")
    single = [documents(*words, "--seed", seed)["rows"][0] for seed in ("3", "4")]
    row = both["rows"][0]
    assert both["seeds"] == 2
    assert row["default"]["app_mbps"] == fmean(one["default"]["app_mbps"] for one in single)
    assert row["default"]["jobs"][1]["reads"] == fmean(one["default"]["jobs"][1]["reads"] for one in single)
    mine, each = row["policies"]["climb"], [one["policies"]["climb"] for one in single]
    assert {one["app_mbps"] for one in each} != {mine["app_mbps"]}
    for name in ("app_mbps", "vs_default", "vs_default_last_half", "trial_cost", "trials", "changes"):
        assert mine[name] == pytest.approx(fmean(one[name] for one in each))
    # The least of the means is not below the mean of the least.
    assert mine["least_job"] >= fmean(one["least_job"] for one in each) - 1e-9
    assert mine["least_direction"] <= mine["least_job"] + 1e-9
    assert set(both["summary"]["climb"]) >= {
        "geomean_last_half",
        "headroom_log_last_half",
        "within_five_trials",
    }
    assert both["summary"]["climb"]["geomean_last_half"] == pytest.approx(mine["vs_default_last_half"])


def test_nudge_always_runs_unguarded_and_moves_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = documents("--policy", "default", "--guard", "on", "--seconds", "12")
    assert list(found["summary"]) == ["default", "nudge"]
    entry = found["rows"][0]["policies"]["nudge"]
    assert (entry["held_back"], entry["trials"], entry["trials_to_best"]) == ({}, 1.0, None)
    lot = play(PAIR, "nudge", Terms((), seconds=12.0, guard=True))
    first = [(step.t_s, step.setting["flight"]) for step in lot.run.path if step.ost == 0]
    assert first == [(0.0, 8), (10.0, 16), (10.5, 8)]
    assert lot.run.changes == entry["changes"]


def test_last_half_is_that_of_the_measured_time() -> None:
    run = Measured(0.0, 0.0, 0, 0, (), (1.0, 1.0, 4.0, 6.0), (0.0, 0.0, 1.0, 1.0), ())
    assert last_half_mbps(run) == 6.0


def test_tables_fit_a_hundred_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    found = documents("--policy", "weir")
    row = found["rows"][0]
    row["best_static"] = {"pages": 1024, "flight": 256, "app_mbps": 12345.6}
    row["policies"]["benchmarks/ablations/portfolio.py"] = row["policies"]["weir"] | {
        "held_back": {"sparse": 7}
    }
    show_worlds(found)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 100
    assert not any("too narrow" in line for line in lines)
    assert "pair, portfolio held back, in windows: sparse 7" in lines


def test_robust_rows_can_be_run_alone(tmp_path: Path) -> None:
    words = ["--no-search", "--policy", "default", "--seconds", "2", "--seed", "4", "--fresh", "--json"]
    drawn = ["evaluate", "robust", "--draws", "2", "--family", "reads", "--without", "small", *words]
    document = json.loads(CliRunner().invoke(cli, drawn, catch_exceptions=False).stdout)
    assert len(document["rows"]) == 2
    assert document["summary"]["default"]["worst_vs_default"] == 1.0
    row = document["rows"][1]
    file = tmp_path / "alone.toml"
    file.write_text(row["text"])
    alone = json.loads(
        CliRunner().invoke(cli, ["evaluate", "scenarios", str(file), *words], catch_exceptions=False).stdout
    )
    assert alone["rows"][0]["default"] == row["default"]


def test_search_finds_a_setting_for_a_starving_reader() -> None:
    text = """
[[job]]
workload = { access = "random", request = "256k", file = "1g", cache = "20g" }
osts = [0]
[[job]]
workload = { read_ratio = 0, file = "1g", cache = "20g" }
osts = [0]
"""
    with Lab(Store(None), 2) as lab:
        row = compare(lab, [DescribedWorld("starving", text)], Terms(("default",), seconds=2.0))[0]
    assert row.best_static is not None
    assert row.best_static[0].jobs[0].read_mbps > 3 * row.default[0].jobs[0].read_mbps
