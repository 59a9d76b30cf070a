"""The decision log survives what logs meet."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from penstock.agent.log import DecisionLog, decision_event, outcome_event, read_log
from penstock.decision import Cases, Decision, Outlook, Receipt
from penstock.snapshot import Target
from penstock.spaces import LUSTRE

TARGET = Target("fs-OST0000-osc-1", "fs", "OST0000")
DECISION = Decision(
    "abc",
    1.0,
    TARGET,
    LUSTRE.default,
    LUSTRE.default.replace(flight=16),
    "try",
    "trying",
    {"rate": 2.0},
    0.9,
    "m",
)


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


def test_log_leaves_out_and_counts_what_is_not_json(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    assert log.append_all([{"x": 1}, {"x": float("nan")}, {"x": object()}, {"x": 2}]) == [
        True,
        False,
        False,
        True,
    ]
    assert [event["x"] for event in read_log(log.path)] == [1, 2]
    assert log.lost == 2


def test_log_begins_a_new_line_after_a_torn_one(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.path.write_bytes(b'{"i":1}\n{"i":')
    log.append({"i": 2})
    assert [event["i"] for event in read_log(log.path)] == [1, 2]


def test_log_takes_back_a_line_that_did_not_fit(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append({"i": 1})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.path.stat().st_size + 4, before[1]))
    try:
        assert log.append({"i": 2}) is False
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert log.append({"i": 3})
    assert [event["i"] for event in read_log(log.path)] == [1, 3]


def test_decision_event_tells_what_and_why() -> None:
    event = decision_event(DECISION, 1700000000.0)
    assert event["changes"] == ["flight 8 -> 16"]
    assert (event["reason"], event["evidence"], event["model"]) == ("try", {"rate": 2.0}, "m")


def test_decision_made_without_weighing_candidates_has_no_outlook_in_the_log() -> None:
    survey_only = Outlook("write", LUSTRE.candidates(), (), True, "survey", cases=Cases({}))
    assert decision_event(replace(DECISION, outlook=survey_only), 2.0)["outlook"] is None


def test_decision_event_maps_what_was_expected_of_every_candidate() -> None:
    candidates = LUSTRE.candidates()
    gains = [0.1234567 * at for at in range(len(candidates))]
    outlook = Outlook("read", candidates, [0.5] * len(candidates), True, "m", gains, [1.0] * len(candidates))
    event = decision_event(replace(DECISION, outlook=outlook), 1.0)
    assert set(event["outlook"]["map"]["knobs"]) == set(candidates.ids)
    assert event["outlook"]["map"]["gain_log2"] == [round(gain, 3) for gain in gains]
    assert event["outlook"]["map"]["knobs"]["pages"] == [setting["pages"] for setting in candidates]
    assert len(event["outlook"]["candidates"]) == 10


def test_log_tells_a_decision_together_with_its_outcome(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append({**decision_event(DECISION, 1.0), "pending": True})
    log.append({"event": "effect"})
    log.append(outcome_event(DECISION, Receipt(TARGET, DECISION.wanted, DECISION.wanted), 1.0))
    effect, decision = read_log(log.path)
    assert effect["event"] == "effect"
    assert decision["actual"]["flight"] == 16
    assert decision["error"] is None
    assert "pending" not in decision


def test_log_says_where_an_outcome_is_missing(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append({**decision_event(DECISION, 1.0), "pending": True})
    log.append({"event": "start"})
    decision, start = read_log(log.path)
    assert start["event"] == "start"
    assert decision["actual"] is None
    assert decision["error"] == "its outcome is not in the log"
