"""The decision log survives what logs meet."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.agent.log import DecisionLog, decision_event, read_log
from penstock.decision import Decision, Receipt
from penstock.snapshot import Target
from penstock.spaces import LUSTRE


def test_log_reads_back_what_was_appended(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    for i in range(10):
        log.append({"i": i})
    assert [event["i"] for event in read_log(log.path)] == list(range(10))


def test_log_rotates_and_keeps_only_so_many(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl", max_bytes=100, keep=3)
    for i in range(100):
        log.append({"i": i})
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["decisions.jsonl", *(f"decisions.jsonl.{n}" for n in (1, 2, 3))]
    seen = [event["i"] for event in read_log(log.path, keep=3)]
    assert seen == list(range(seen[0], 100))
    assert all(path.stat().st_size <= 100 for path in tmp_path.iterdir())


@given(st.integers(0, 200))
def test_log_cut_anywhere_parses_to_its_last_whole_line(cut: int) -> None:
    path = Path(f"cut-{os.getpid()}.jsonl")
    path.unlink(missing_ok=True)
    log = DecisionLog(path)
    for i in range(10):
        log.append({"i": i, "text": "x\n"})
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) - cut])
    seen = [event["i"] for event in read_log(path)]
    assert seen == list(range(len(seen)))
    assert len(seen) >= 10 - cut // 10 - 1


def test_log_that_cannot_be_written_counts_what_it_lost(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "gone" / "decisions.jsonl")
    log.append({"i": 1})
    assert log.lost == 1


def test_log_follows_no_symbolic_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "decisions.jsonl").symlink_to(victim)
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append({"i": 1})
    assert victim.read_text() == "precious"
    assert log.lost == 1


def test_log_refuses_numbers_that_are_not_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        DecisionLog(tmp_path / "decisions.jsonl").append({"x": float("nan")})


def test_decision_event_tells_what_and_why() -> None:
    target = Target("fs-OST0000-osc-1", "fs", "OST0000")
    wanted = LUSTRE.default.replace(flight=16)
    decision = Decision("abc", 1.0, target, LUSTRE.default, wanted, "try", "trying", {"rate": 2.0}, 0.9, "m")
    event = decision_event(decision, Receipt(target, wanted, wanted), 1700000000.0)
    assert event["changes"] == ["flight 8 -> 16"]
    assert event["actual"]["flight"] == 16
    assert (event["reason"], event["evidence"], event["model"]) == ("try", {"rate": 2.0}, "m")
