"""One bad line of a log costs itself: not the report, not the report of a fleet, not the page."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.agent.fleet import fleet_report, page
from penstock.agent.log import Settler
from penstock.agent.log_search import explain
from penstock.agent.summary import summarise
from penstock.cli.main import cli
from penstock.cli.options import require_writable, write_text
from penstock.dash import why
from penstock.dash.book import Book
from penstock.dash.paper import node_page
from penstock.errors import AccessError, MissingError, PenstockError
from penstock.events import LogEvent, parse
from penstock.output_files import replace_file

WINDOW = {"t0": 0.0, "t1": 0.5, "setting": {"pages": 256}, "metrics": {"read.bytes": 1e6}}
DECISION: dict[str, Any] = {
    "event": "decision", "id": "d1", "time_s": 100.0, "t_s": 1.0, "target": "a-OST0000", "fs": "a",
    "resource": "OST0000", "unit": "x", "work": "read", "before": {"pages": 256}, "wanted": {"pages": 512},
    "changes": ["pages 256 -> 512"], "made": ["pages 256 -> 512"], "reason": "weir.gain", "sentence": "why",
    "evidence": {"x": 1.0}, "confidence": 0.5, "model": "m", "actual": {"pages": 512}, "error": None,
    "history": [WINDOW], "outlook": None, "mode": "tune", "jobs": ["7"],
}  # fmt: skip
EFFECT = {
    "event": "effect", "time_s": 101.0, "target": "a-OST0000", "decision": "d1", "before_bytes_per_s": 1e6,
    "after_bytes_per_s": 2e6, "gain": 2.0, "error": 0.1,
}  # fmt: skip
OTHERS = [
    {"event": "start", "time_s": 99.0, "mode": "tune", "policy": "weir", "interval_s": 0.5},
    {"event": "job", "time_s": 99.5, "job": "7", "user": "ada", "what": "begin"},
    {"event": "trial", "time_s": 102.0, "gain": 1.5, "low": 1.1, "high": 2.0, "pairs": 4},
    {"event": "restore", "time_s": 103.0, "target": "a-OST0000", "actual": {"pages": 256}, "error": None},
    {"event": "yield", "time_s": 103.0, "target": "a-OST0000", "knobs": {"pages": 256}},
]
EVENTS = [DECISION, EFFECT, *OTHERS]
NASTY: list[Any] = [
    "x", "", None, [], {}, [[]], {"x": "y"}, True, -1, 0, 1.5, 10**400, -(10**400), 1e308, float("inf"), float("nan"),
    "9" * 5000, "\ud800", "\x1b[2J", ["x"], [1], {"pages": "x"}, {"pages": 1e308}, [{"t0": 1, "t1": 1}],
]  # fmt: skip
DEEP = b"[" * 100_000 + b"\n"


def lines(*events: object) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def read(raw: bytes) -> list[LogEvent]:
    settler = Settler()
    return [*settler.take(raw), *settler.rest()]


def everything(raw: bytes) -> None:
    """All readers of a log; none may raise."""
    events = read(raw)
    json.dumps(summarise(events, 0.0, 1000.0).effect, allow_nan=False)
    node_page(events, 0.0, 1000.0, "x")
    book = Book()
    for changed in book.take(events):
        why.explain(book, changed)
    json.dumps([book.worth(None), book.changes(), book.notes], allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(range(len(EVENTS))),
    st.sampled_from(sorted({name for event in EVENTS for name in event})),
    st.sampled_from(NASTY)
    | st.recursive(st.none() | st.floats() | st.text(max_size=5), st.lists, max_leaves=4),
)
@example(at=0, name="t_s", value=1e308)
def test_field_of_any_kind_costs_its_line_alone(at: int, name: str, value: object) -> None:
    odd = {**EVENTS[at], name: value}
    everything(lines(*EVENTS, odd, *EVENTS))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(range(len(EVENTS))), st.sets(st.sampled_from(sorted(DECISION)), min_size=1))
def test_field_that_is_missing_costs_its_line_alone(at: int, names: set[str]) -> None:
    short = {key: value for key, value in EVENTS[at].items() if key not in names}
    everything(lines(*EVENTS, short))


@given(st.lists(st.binary(max_size=80)))
def test_bytes_of_any_kind_are_passed_over(pieces: list[bytes]) -> None:
    sound = lines(*EVENTS)
    expected = [parse(event) for event in EVENTS]
    assert [event for event in read(b"\n".join(pieces) + b"\n" + sound) if event in expected] == expected


def test_reports_outlive_every_bad_line(tmp_path: Path) -> None:
    bad = [DEEP, b"nonsense\n", b'{"event": "decision", "time_s": ' + b"9" * 5000 + b"}\n"]
    bad += [lines({**DECISION, name: value}) for name in DECISION for value in NASTY]
    for node in ("n1", "n2"):
        (tmp_path / node).mkdir()
        (tmp_path / node / "decisions.jsonl").write_bytes(b"".join([*bad, lines(*EVENTS)]))
    report = fleet_report([tmp_path / "n1", tmp_path / "n2"], 0.0, 1000.0)
    assert [node.made > 0 for node in report.nodes] == [True, True]
    assert "n1" in page(report)
    done = CliRunner().invoke(cli, ["agent", "report", "--state-dir", str(tmp_path / "n1"), "--json"])
    assert done.exit_code == 0, done.output


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_search_from_the_newest_finds_what_reading_all_finds(data: st.DataObject) -> None:
    import tempfile

    from penstock.agent import log_search

    ids = data.draw(st.lists(st.sampled_from(["aa1", "aa2", "ab1", "b"]), max_size=6))
    events: list[dict[str, Any]] = []
    for at, name in enumerate(ids):
        events.append({**DECISION, "id": name, "t_s": float(at), "pending": True})
        if data.draw(st.booleans()):
            events.append(
                {"event": "outcome", "decision": name, "time_s": 1.0, "made": [str(at)], "error": None}
            )
        if data.draw(st.booleans()):
            events.append({**EFFECT, "decision": name, "gain": float(at)})
    raw = lines(*events)
    with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_search, "PIECE_BYTES", data.draw(st.integers(1, 2000)))
        path = Path(home) / "log"
        cut = raw.find(b"\n", data.draw(st.integers(0, len(raw)))) + 1
        path.with_name("log.1").write_bytes(raw[:cut])
        path.write_bytes(raw[cut:] + b'{"event": "decision", "id": "aa-torn')
        for name in ("last", "aa", "b", "zz"):
            meant = [
                e for e in events if e["event"] == "decision" and (name == "last" or e["id"].startswith(name))
            ]
            if not meant:
                with pytest.raises(MissingError):
                    explain(path, name)
                continue
            found = explain(path, name)
            assert (found.decision.id, found.decision.t_s) == (meant[-1]["id"], meant[-1]["t_s"])


def test_search_ends_at_its_deadline(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(lines(*EVENTS) * 2000)
    with pytest.raises(PenstockError, match="too long to search"):
        explain(tmp_path / "log", "nope", deadline_s=-1.0)
    effect = explain(tmp_path / "log", "last", deadline_s=60.0).effect
    assert effect is not None
    assert effect.gain == 2.0


def test_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    long = b'{"event": "decision", "id": "d2", "x": "' + b"x" * (5 << 20) + b'"}\n'
    (tmp_path / "log").write_bytes(lines(*EVENTS) + long)
    assert explain(tmp_path / "log", "d").decision.id == "d1"


def test_report_replaces_a_link_and_leaves_what_it_led_to(tmp_path: Path) -> None:
    (tmp_path / "decisions.jsonl").write_bytes(lines(*EVENTS))
    precious, out = tmp_path / "precious", tmp_path / "report.html"
    precious.write_text("mine")
    out.symlink_to(precious)
    done = CliRunner().invoke(cli, ["agent", "report", "--state-dir", str(tmp_path), "--html", str(out)])
    assert done.exit_code == 0, done.output
    assert precious.read_text() == "mine"
    assert out.read_text().startswith("<!")
    assert not out.is_symlink()


def test_checking_an_output_first_touches_nothing(tmp_path: Path) -> None:
    link, pipe, file = tmp_path / "link", tmp_path / "pipe", tmp_path / "file"
    link.symlink_to(tmp_path / "absent")
    os.mkfifo(pipe)
    file.write_text("old")
    before = sorted(tmp_path.iterdir())
    for path in (link, pipe, file, tmp_path / "new"):
        require_writable(path)
    assert sorted(tmp_path.iterdir()) == before
    assert link.is_symlink()
    assert file.read_text() == "old"
    with pytest.raises(PenstockError, match="Is a directory"):
        require_writable(tmp_path)


def test_directory_that_takes_no_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, real = tmp_path / "old", os.open
    old.write_text("longer than before")

    def closed(path: Path, flags: int, *rest: int, **more: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", closed)
    require_writable(old)
    write_text(old, "new")
    assert old.read_text() == "new"
    for write in (require_writable, lambda path: write_text(path, "")):
        with pytest.raises(AccessError, match="absent: permission denied"):
            write(tmp_path / "absent")


def test_output_keeps_modes_and_writes_to_devices(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("old")
    path.chmod(0o640)
    replace_file(path, "new")
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)
    replace_file(Path(os.devnull), "gone")
    assert Path(os.devnull).is_char_device()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    replace_file(tmp_path / "pipe", "told")
    assert os.read(reader, 10) == b"told"
    os.close(reader)
