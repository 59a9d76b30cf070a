"""Experiments as users run them: three rows measured again by their own commands, and what they refuse."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.agent.plugins import find_policy
from penstock.cli.main import cli
from penstock.decide.policies import EXPERIMENT_NAMES
from penstock.errors import PenstockError, UsageError
from penstock.evaluate.dynamic import adapting
from penstock.evaluate.trial import Measured

ROWS = (
    ("static", "s_rd_rn_8k", "carat", "1"),
    ("interference", "read-some", "climb", "2"),
    ("cache", "algorithm-2-overshoot", "carat", "1"),
)
STATIC_KEYS = {
    "geomean_vs_default",
    "geomean_vs_best_static",
    "worst_vs_default",
    "headroom_captured",
    "rows",
}
ROW_KEYS = {"workload", "seen", "default_mbps", "best_static_mbps", "best_static", "policy_mbps"}


def evaluate(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["evaluate", *words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.slow
@pytest.mark.parametrize(("experiment", "row", "policy", "seconds"), ROWS)
def test_row_is_measured_again_by_its_own_command(
    experiment: str, row: str, policy: str, seconds: str, tmp_path: Path
) -> None:
    cache = ("--cache-dir", str(tmp_path / "cache"))
    asked = ("--only", row, "--policy", policy, "--seconds", seconds, "--seed", "5", "--workers", "1")
    first = evaluate(experiment, *asked, *cache, "--out", str(tmp_path / "out"))["rows"][0]
    words = shlex.split(first["command"])
    assert words[:2] == ["penstock", "evaluate"]
    assert evaluate(*words[2:], "--fresh", "--workers", "2")["rows"][0] == first
    page = (tmp_path / "out" / "report.html").read_text()
    assert first["command"] in page
    assert not any(word in page for word in ("http:", "https:", "<script ", "src=", "@import", "url("))
    assert json.loads((tmp_path / "out" / "results.json").read_text())[0]["set"] == experiment


def test_static_prints_the_documented_keys(tmp_path: Path) -> None:
    words = ("--only", "s_rd_rn_8k", "--policy", "default", "--policy", "best-static", "--seconds", "1")
    found = evaluate("static", *words, "--seeds", "2", "--cache-dir", str(tmp_path))
    assert set(found) >= STATIC_KEYS
    row = found["rows"][0]
    assert set(row) >= ROW_KEYS
    assert row["seen"] is True
    assert set(row["best_static"]) == {"pages", "flight", "dirty"}
    assert row["policy_mbps"] == row["default_mbps"]
    assert row["policy_ci95"] >= 0
    assert found["policies"]["best-static"]["geomean_vs_best_static"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("static", "--only", "s_rd_rn_1k"), "did you mean"),
        (("static", "--policy", "carrat"), "carat"),
        (("static", "--seconds", "0"), "--seconds 0"),
        (("all", "--only", "read"), "--only read: no such experiment"),
    ],
)
def test_wrong_words_are_answered_in_one_line(words: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(cli, ["evaluate", *words])
    assert result.exit_code != 0
    assert message in (
        str(result.exception) if isinstance(result.exception, PenstockError) else result.output
    )


def test_agent_does_not_run_what_only_experiments_have() -> None:
    for name in EXPERIMENT_NAMES:
        with pytest.raises(UsageError, match="only in experiments"):
            find_policy(name)


def test_adapting_counts_from_the_switch_and_admits_never() -> None:
    rates = (0.0,) * 6 + (10.0,) * 14 + (5.0,) * 20
    measured = Measured(0.0, 0.0, 0, 0, (), rates, (0.0,) * 40, ())
    assert adapting(measured, [10.0, 10.0], 10.0) == [5.0, None]
