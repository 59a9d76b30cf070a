"""What the page is told: the log followed through rotation, decisions counted and explained."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock.agent.control import ControlServer
from penstock.agent.log import DecisionLog, decision_event, outcome_event, settled
from penstock.agent.startup import LOG_FILE, SOCKET_FILE
from penstock.dash.book import Book
from penstock.dash.history import History
from penstock.dash.node import NodeSource
from penstock.dash.source import Point
from penstock.dash.tail import LogTail
from penstock.dash.why import explain
from penstock.decision import Decision, Receipt
from penstock.errors import MissingError, PenstockError
from penstock.events import DecisionEvent, EffectEvent, StopEvent, TrialEvent, dump
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

TARGET = Target("fs-OST0000-osc-1", "fs", "OST0000")


def decided(number: int, reason: str = "promising", **wanted: int) -> Decision:
    window = Window(TARGET, number - 0.5, number, LUSTRE.default, {"read.bytes": 5e7})
    wish = LUSTRE.default.replace(wanted or {"flight": 16})
    return Decision(
        f"d{number}", float(number), TARGET, LUSTRE.default, wish, reason, "because", history=(window,)
    )


def made(decision: Decision, wall_s: float) -> DecisionEvent:
    outcome = outcome_event(decision, Receipt(TARGET, decision.wanted, decision.wanted), wall_s)
    return settled(decision_event(decision, wall_s), outcome)


def effect(decision: str, gain: float) -> EffectEvent:
    return EffectEvent(
        time_s=9.0,
        decision=decision,
        target=TARGET.name,
        before_bytes_per_s=1e8,
        after_bytes_per_s=1e8 * gain,
        gain=gain,
        error=0.05,
    )


def test_tail_reads_every_line_once_whatever_is_rotated(tmp_path: Path) -> None:
    log = DecisionLog(tmp_path / LOG_FILE, max_bytes=300, keep=5)
    tail, seen = LogTail(log.path), list[float]()
    for number in range(60):
        log.append(StopEvent(time_s=float(number)))
        if number % 7 == 0:
            seen += [event.time_s for event in tail.read()]
    seen += [event.time_s for event in tail.read()]
    assert seen == list(range(60))
    assert tail.read() == []


def test_tail_waits_for_the_end_of_a_line_and_for_an_outcome(tmp_path: Path) -> None:
    path = tmp_path / LOG_FILE
    tail = LogTail(path)
    assert tail.read() == []
    pending = json.dumps(dump(replace(decision_event(decided(1), 1.0), pending=True)))
    path.write_text(pending[:50])
    assert tail.read() == []
    path.write_text(pending + "\n")
    assert tail.read() == []
    assert tail.unsettled()[0].error == "its outcome is not in the log"
    with path.open("a") as file:
        receipt = Receipt(TARGET, decided(1).wanted, decided(1).wanted)
        file.write(json.dumps(dump(outcome_event(decided(1), receipt, 1.0))) + "\n")
    (settled_now,) = tail.read()
    assert isinstance(settled_now, DecisionEvent)
    assert settled_now.made == ("flight 8 -> 16",)


def test_book_counts_changes_reverts_looks_and_advice() -> None:
    book = Book()
    advised = decision_event(decided(5, flight=64), 5.0)
    events = [
        made(decided(1), 1.0),
        made(decided(2, "guard.revert"), 2.0),
        made(decided(3, "guard.switchback"), 3.0),
    ]
    book.take([*events, made(decided(4, "guard.return"), 4.0), advised, effect("d1", 1.5)])
    counts = book.worth(None)["counts"]
    assert counts == {"change": 1, "revert": 1, "look": 2, "advice": 1, "failed": 0}
    assert [each["changes"] for each in book.advice()] == [["flight 8 -> 64"]]
    found = book.worth(None)["effect"]
    assert (found["kind"], found["changes"], found["verdict"]) == ("before/after", 1, "gain")
    assert found["gain"] == pytest.approx(1.5)


def test_setting_is_shown_from_its_change_on_not_from_the_next_measurement() -> None:
    history, book = History(), Book()
    book.take([made(decided(1, flight=16), 1.0)])
    before, after = dict(LUSTRE.default), dict(LUSTRE.default.replace({"flight": 16}))
    points = [Point(1.0, TARGET.name, 1e6, 0.0, before), Point(61.0, TARGET.name, 2e6, 0.0, after)]
    history.take(points, book.changes())
    (track,) = history.document()
    assert track["steps"] == [(1.0, before), (1.0, after)]
    # Told again with its effect, after another change, it does not come back.
    book.take([made(decided(70, flight=64), 70.0)])
    history.take([], book.changes())
    book.take([effect("d1", 1.5)])
    history.take([], book.changes(["d1"]))
    assert [step["flight"] for _, step in history.document()[0]["steps"]] == [8, 16, 64]
    # What was only advised was never in force.
    advised = Book()
    advised.take([decision_event(decided(2, flight=64), 2.0)])
    assert [change["setting"] for change in advised.changes()] == [None]


def test_headline_counts_what_the_list_below_it_shows() -> None:
    """A running agent tells its effect since it started; the log has what came before, too."""
    said = {
        "kind": "before/after",
        "gain": 1.1,
        "low": None,
        "high": None,
        "verdict": "undecided",
        "changes": 1,
    }
    book = Book()
    assert book.worth(said=said)["effect"] == said
    book.take([made(decided(1), 1.0), effect("d1", 1.5), made(decided(2), 2.0), effect("d2", 1.5)])
    assert book.worth(said=said)["effect"]["changes"] == 2
    known_better = {**said, "gain": 3.0}
    assert book.worth(known_better, said)["effect"] == known_better


def test_book_leads_with_a_trial_where_there_was_one() -> None:
    book = Book()
    trial = TrialEvent(time_s=1.0, gain=1.1, low=1.05, high=1.3, pairs=4)
    book.take([made(decided(1), 1.0), effect("d1", 1.5), trial])
    assert (
        book.worth(None)["sentence"]
        == "1.10 times as fast, 95 % between 1.05 and 1.30 (switchback, 4 pairs)."
    )


def test_explanation_tells_that_a_change_was_taken_back() -> None:
    book = Book()
    book.take([made(decided(1), 1.0), effect("d1", 0.6), made(decided(3, "guard.revert"), 3.0)])
    told = explain(book, "d1")
    assert told is not None
    assert told["outcome"].startswith("Loss: 0.60 times what the original brings (before and after).")
    assert told["outcome"].endswith("Taken back by the guard 2.0 s later.")
    assert (told["measured"][0]["rates"], told["measured"][0]["unit"]) == ((1e8, 0.0), "bytes")
    assert [step["flight"] for step in told["path"]] == [8, 16]
    assert explain(book, "nope") is None


def test_explanation_tells_what_was_refused() -> None:
    book = Book()
    refused = replace(decision_event(decided(1), 1.0), actual=LUSTRE.default, error="read-only")
    book.take([refused, decision_event(replace(decided(2), reason="promising"), 2.0)])
    assert explain(book, "d1")["outcome"] == "Not all done: read-only."  # type: ignore[index]
    assert "only advises" in explain(book, "d2")["guard"]  # type: ignore[index]


def test_log_without_an_agent_is_shown_with_what_was_measured(tmp_path: Path) -> None:
    DecisionLog(tmp_path / LOG_FILE).append(made(decided(7), 1000.0))
    source = NodeSource(tmp_path)
    look = source.look()
    assert source.about.kind == "log"
    assert look.status is None
    assert look.trouble == "no agent runs here: this is its log"
    assert [(point.t_s, point.first_per_s) for point in look.points] == [(1000.0, 1e8)]


@pytest.mark.parametrize(
    "error", [MissingError("no decision"), PenstockError("too many ask for explain at once")]
)
def test_only_a_change_that_is_not_there_is_not_found(tmp_path: Path, error: PenstockError) -> None:
    def handle(verb: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        if verb == "explain":
            raise error
        return {}

    server = ControlServer(tmp_path / SOCKET_FILE, handle)
    try:
        source = NodeSource(tmp_path)
        if isinstance(error, MissingError):
            assert source.explain("d1") is None
        else:
            with pytest.raises(PenstockError, match="too many"):
                source.explain("d1")
    finally:
        server.close()


@pytest.mark.parametrize("what", ["missing", "empty"])
def test_nothing_to_show_is_an_error_that_says_what_to_give(tmp_path: Path, what: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(MissingError):
        NodeSource(tmp_path / what)
