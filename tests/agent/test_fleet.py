"""Many nodes' logs as one account."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import MissingError, UsageError


def decision(number: int, reason: str = "try", jobs: tuple[str, ...] = ()) -> dict[str, Any]:
    change = {"changes": ["pages 1024 -> 256"], "made": ["pages 1024 -> 256"], "actual": {"pages": 256}}
    about = {"event": "decision", "id": f"d{number}", "target": "scratch-OST0000", "reason": reason}
    return {**about, "time_s": 100.0 + number, **change, "jobs": list(jobs)}


def effect(number: int, gain: float, error: float = 0.005) -> dict[str, Any]:
    rates = {"before_bytes_per_s": 1e8, "after_bytes_per_s": 1e8 * gain, "gain": gain, "error": error}
    about = {"event": "effect", "decision": f"d{number}", "target": "scratch-OST0000"}
    return {**about, "time_s": 100.5 + number, **rates}


def trial(gain: float) -> dict[str, Any]:
    return {
        "event": "trial",
        "time_s": 500.0,
        "pairs": 6,
        "gain": gain,
        "low": gain - 0.1,
        "high": gain + 0.1,
    }


def write(directory: Path, node: str, *events: dict[str, Any]) -> str:
    path = directory / f"{node}.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(path)


def report(*words: str) -> dict[str, Any]:
    command = ["fleet", "report", *words, "--last", "100000d", "--json"]
    result = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


@pytest.fixture
def logs(tmp_path: Path) -> list[str]:
    begin = {"event": "job", "job": "77", "user": "ada", "what": "begin", "time_s": 99.0}
    back = [decision(number, "guard.revert" if number % 2 else "try") for number in range(1, 5)]
    return [
        write(tmp_path, "helped", begin, decision(1, jobs=("77",)), effect(1, 1.5), trial(1.2)),
        write(tmp_path, "also", begin, decision(1, jobs=("77",)), effect(1, 1.2), trial(1.3)),
        write(tmp_path, "back", *back, effect(1, 0.7), trial(1.1)),
        write(tmp_path, "idle", {"event": "start", "time_s": 90.0}),
        write(tmp_path, "same", decision(1), effect(1, 1.0)),
        write(tmp_path, "young", decision(1)),
        write(tmp_path, "unsure", decision(1), effect(1, 1.0, error=0.45)),
    ]


def test_report_says_where_it_helped_and_where_not(logs: list[str]) -> None:
    found = report(*logs)
    assert {node["node"]: node["verdict"] for node in found["nodes"]} == {
        "also": "helped",
        "back": "taken back",
        "helped": "helped",
        "idle": "not needed",
        "same": "not needed",
        "unsure": "undecided",
        "young": "not judged",
    }
    counts = {"helped": 2, "taken back": 1, "not needed": 2, "undecided": 1, "not judged": 1}
    assert found["classes"] == counts


def test_each_node_counts_once_in_the_verdict(logs: list[str]) -> None:
    found = report(*logs)
    assert found["trial"]["nodes"] == 3
    assert found["trial"]["gain"] == pytest.approx((1.2 * 1.3 * 1.1) ** (1 / 3))
    # Student's t with two degrees of freedom, over three log ratios.
    assert found["trial"]["low"] == pytest.approx(0.9736, abs=1e-3)
    assert found["verdict"].startswith("undecided: 1.197 times") and "over 3 nodes" in found["verdict"]
    assert "no trial on at least 3 nodes" in report(*logs[3:])["verdict"]


def test_jobs_are_added_up_over_their_nodes(logs: list[str]) -> None:
    (job,) = report(*logs)["jobs"]
    assert (job["job"], job["user"], job["nodes"], job["made"]) == ("77", "ada", 2, 2)
    assert job["gain"] == pytest.approx((1.5 * 1.2) ** 0.5)


def test_page_holds_every_node(logs: list[str], tmp_path: Path) -> None:
    page = tmp_path / "fleet.html"
    command = ["fleet", "report", *logs, "--last", "100000d", "--out", str(page)]
    shown = CliRunner().invoke(cli, command, catch_exceptions=False)
    text = page.read_text()
    assert all(name in text and name in shown.stdout for name in ("helped", "also", "back", "idle", "young"))
    assert "job 77 (ada): 2 nodes" in shown.stdout


def test_logs_that_are_not_there_or_twice_are_told(logs: list[str], tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such log"):
        report(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match="a log of node 'helped' already"):
        report(logs[0], logs[0])
