"""The decision log survives what logs meet."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.logged_events import as_logged

from penstock.agent.log import DecisionLog, decision_event, outcome_event, read_log
from penstock.decision import Cases, Decision, Outlook, Receipt
from penstock.events import KINDS, DecisionEvent, EffectEvent, LogEvent, StartEvent, TrialEvent, dump, parse
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


def numbered(number: int) -> TrialEvent:
    """The smallest event that holds a number."""
    return TrialEvent(time_s=1.0, pairs=number)


def numbers(events: Iterable[LogEvent]) -> list[int]:
    return [event.pairs for event in events if isinstance(event, TrialEvent)]


def test_log_reads_back_what_was_appended(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    for i in range(10):
        log.append(numbered(i))
    assert numbers(read_log(log.path)) == list(range(10))


def test_log_rotates_and_keeps_only_so_many(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl", max_bytes=300, keep=3)
    for i in range(100):
        log.append(numbered(i))
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == ["decisions.jsonl", *(f"decisions.jsonl.{n}" for n in (1, 2, 3))]
    seen = numbers(read_log(log.path, keep=3))
    assert seen == list(range(seen[0], 100))
    assert all(path.stat().st_size <= 300 for path in tmp_path.iterdir())


@given(st.integers(0, 200))
def test_log_cut_anywhere_parses_to_its_last_whole_line(cut: int) -> None:
    path = Path(f"cut-{os.getpid()}.jsonl")
    path.unlink(missing_ok=True)
    log = DecisionLog(path)
    for i in range(10):
        log.append(numbered(i))
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) - cut])
    seen = numbers(read_log(path))
    assert seen == list(range(len(seen)))
    assert len(seen) >= 10 - cut // 10 - 1


def test_log_that_cannot_be_written_counts_what_it_lost(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "gone" / "decisions.jsonl")
    log.append(numbered(1))
    assert log.lost == 1


def test_log_follows_no_symbolic_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "decisions.jsonl").symlink_to(victim)
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append(numbered(1))
    assert victim.read_text() == "precious"
    assert log.lost == 1


def test_log_leaves_out_and_counts_what_is_not_json(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    odd = [replace(numbered(1), time_s=float("nan")), replace(numbered(1), pairs=cast(int, object()))]
    assert log.append_all([numbered(1), *odd, numbered(2)]) == [True, False, False, True]
    assert numbers(read_log(log.path)) == [1, 2]
    assert log.lost == 2


def test_log_begins_a_new_line_after_a_torn_one(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append(numbered(1))
    log.path.write_bytes(log.path.read_bytes() + b'{"event":"trial","pa')
    log.append(numbered(2))
    assert numbers(read_log(log.path)) == [1, 2]


def test_log_takes_back_a_line_that_did_not_fit(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append(numbered(1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (log.path.stat().st_size + 4, before[1]))
    try:
        assert log.append(numbered(2)) is False
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert log.append(numbered(3))
    assert numbers(read_log(log.path)) == [1, 3]


def test_decision_event_tells_what_and_why() -> None:
    event = decision_event(DECISION, 1700000000.0)
    assert event.changes == ("flight 8 -> 16",)
    assert (event.reason, event.evidence, event.model) == ("try", {"rate": 2.0}, "m")


def test_decision_made_without_weighing_candidates_has_no_outlook_in_the_log() -> None:
    survey_only = Outlook("write", LUSTRE.candidates(), (), True, "survey", cases=Cases({}))
    assert decision_event(replace(DECISION, outlook=survey_only), 2.0).outlook is None


def test_decision_event_maps_what_was_expected_of_every_candidate() -> None:
    candidates = LUSTRE.candidates()
    gains = [0.1234567 * at for at in range(len(candidates))]
    outlook = Outlook("read", candidates, [0.5] * len(candidates), True, "m", gains, [1.0] * len(candidates))
    event = decision_event(replace(DECISION, outlook=outlook), 1.0)
    assert event.outlook is not None
    assert event.outlook.map is not None
    assert set(event.outlook.map.knobs) == set(candidates.ids)
    assert event.outlook.map.gain_log2 == tuple(round(gain, 3) for gain in gains)
    assert event.outlook.map.knobs["pages"] == tuple(setting["pages"] for setting in candidates)
    assert len(event.outlook.candidates) == 10
    # It reads back as it was written.
    assert parse(json.loads(json.dumps(dump(event)))) == event


def test_log_tells_a_decision_together_with_its_outcome(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append(replace(decision_event(DECISION, 1.0), pending=True))
    log.append(EffectEvent(time_s=1.0, decision="other"))
    log.append(outcome_event(DECISION, Receipt(TARGET, DECISION.wanted, DECISION.wanted), 1.0))
    effect, decision = read_log(log.path)
    assert isinstance(effect, EffectEvent)
    assert isinstance(decision, DecisionEvent)
    assert decision.actual is not None
    assert decision.actual["flight"] == 16
    assert (decision.error, decision.pending, decision.outcome) == (None, False, "made")


def test_log_says_where_an_outcome_is_missing(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append(replace(decision_event(DECISION, 1.0), pending=True))
    log.append(StartEvent(time_s=2.0))
    decision, start = read_log(log.path)
    assert isinstance(start, StartEvent)
    assert isinstance(decision, DecisionEvent)
    assert decision.actual is None
    assert decision.error == "its outcome is not in the log"


DAMAGED = (
    "[" * 100_000,
    '{"event":"effect","time_s":"x","decision":"d"}',
    '{"event":"effect","time_s":1' + "0" * 5000 + ',"decision":"d"}',
    '{"event":{},"time_s":1}',
    '{"event":"decision","time_s":1,"id":[],"target":"t"}',
    '{"event":"later invention","time_s":1}',
    "null",
    r'"\ud800"',
)


def test_damaged_or_unknown_lines_cost_only_themselves(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / "decisions.jsonl")
    log.append(numbered(1))
    with log.path.open("a") as file:
        file.write("".join(f"{line}\n" for line in DAMAGED))
    log.append(numbered(2))
    assert numbers(read_log(log.path)) == [1, 2]
    assert len(list(read_log(log.path))) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_event_reads_back_as_it_was_written(kind: str) -> None:
    """With every field left out that has a default, and with one that a later version might add."""
    texts = {"id": "a", "target": "t", "unit": {"fs": "x"}, "decision": "a", "job": "1", "what": "begin"}
    required = {one.name: texts.get(one.name, "x") for one in fields(KINDS[kind]) if _is_required(one)}
    said = {"event": kind, **required, "time_s": 2.0}
    event = parse({**said, "later": 1})
    assert event is not None
    assert event.kind == kind
    assert parse(json.loads(json.dumps(dump(event)))) == event


def _is_required(one: Any) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def test_log_of_the_first_version_is_read() -> None:
    """It did not say which changes were made, nor its format."""
    start, decision = as_logged(
        [
            {"event": "start", "time_s": 1.0, "mode": "tune"},
            {"event": "decision", "time_s": 2.0, "id": "d", "target": "t", "actual": {"flight": 8}},
        ]
    )
    assert isinstance(start, StartEvent)
    assert start.format == 1
    assert isinstance(decision, DecisionEvent)
    assert decision.outcome == "made"
