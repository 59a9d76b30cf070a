"""Every file that Penstock reads, altered in every way: it is read, or refused with one line of a known kind."""

from __future__ import annotations

import copy
import gzip
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.actuate.journal import FILE, Entry, Journal, JournalOwner, _checksum
from penstock.agent.settings import AgentConfig
from penstock.agent.window_recording import read_windows
from penstock.config import load, parse
from penstock.decide.memoryfile import parse as parse_knowledge
from penstock.errors import PenstockError
from penstock.knobs import Setting
from penstock.observe import darshan_log, recording
from penstock.observe.recording import read_recording
from penstock.predict import modelfile, surveyfile
from penstock.predict.surfaces import KINDS, Case, Survey, grid_size
from penstock.schedule.ledger import Ledger
from penstock.testing.made_models import random_model

ROOT = Path(__file__).parent.parent
NASTY: list[Any] = [
    None, True, "", "x", "\x1b[2J\u2028", "9" * 5000, [], {}, [[]], {"x": 1}, -1, 0, 1, 0.5, 1e308, -1e308, 2**63,
    10**30, ["x"], [None], [1e308], {"": None},
]  # fmt: skip
TWEAKS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def places(document: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a document, and of the first few of long lists."""
    yield at
    if isinstance(document, dict):
        for key, value in document.items():
            yield from places(value, (*at, key))
    elif isinstance(document, list):
        for index, value in enumerate(document[:3]):
            yield from places(value, (*at, index))


def altered(document: Any, at: tuple[Any, ...], value: object) -> Any:
    if not at:
        return value
    made = copy.deepcopy(document)
    inner = made
    for step in at[:-1]:
        inner = inner[step]
    if value is DELETED:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    return made


DELETED = object()


def tweaked(document: Any) -> st.SearchStrategy[Any]:
    """The document with one value replaced by something hostile, or without it."""
    ways = [at for at in places(document) if at]
    return st.tuples(st.sampled_from(ways), st.sampled_from([*NASTY, DELETED])).map(
        lambda drawn: altered(document, *drawn)
    )


def refused_or_read(read: Callable[[], object]) -> None:
    """Nothing but a known error, in one line."""
    try:
        read()
    except PenstockError as error:
        assert str(error)


def resealed(document: Any) -> bytes:
    if isinstance(document, dict):
        document = {**document, "sha256": modelfile.digest(document)}
    return json.dumps(document).encode()


def survey() -> Survey:
    knobs = {"pages": (64, 256), "flight": (1, 8)}
    size = grid_size(knobs)
    cases = tuple(Case("here", kind, np.zeros((len(KINDS[kind]), size)), ()) for kind in KINDS)
    return Survey("lustre", knobs, cases, {"source": "test"}, "")


MODEL = json.loads(modelfile.dump(random_model()))
SURVEY = json.loads(surveyfile.dump(survey()))
KNOWLEDGE = {
    "schema": "penstock-knowledge",
    "version": 1,
    "units": [
        {
            "fs": "scratch", "kind": "read", "request_log2": 20.0, "time_s": 5.0,
            "settings": [
                {
                    "knobs": {"pages": 256}, "read": 1e6, "write": 0.0, "read_flight": 1.0, "write_flight": 0.0,
                    "windows": 5, "noise": 0.1,
                }
            ],
        }
    ],
}  # fmt: skip
PROBE = {"t": 1.0, "files": {"/sys/fs/lustre/osc/x/stats": "snapshot_time 1 secs.usecs\n"}}


@TWEAKS
@given(tweaked(MODEL))
def test_model_with_any_value_altered_is_read_or_refused(document: Any) -> None:
    refused_or_read(lambda: modelfile.parse(resealed(document), "here"))


@TWEAKS
@given(tweaked(SURVEY))
def test_survey_with_any_value_altered_is_read_or_refused(document: Any) -> None:
    refused_or_read(lambda: surveyfile.parse(resealed(document), "here"))


@TWEAKS
@given(tweaked(KNOWLEDGE))
def test_knowledge_with_any_value_altered_is_read_or_refused(document: Any) -> None:
    refused_or_read(lambda: parse_knowledge(json.dumps(document).encode(), "here"))


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_no_model_survey_or_knowledge(raw: bytes) -> None:
    for read in (modelfile.parse, surveyfile.parse, parse_knowledge):
        for text in (raw, b"{" + raw, b'{"schema": "penstock-knowledge", "version": 1, "units": ' + raw):
            with pytest.raises(PenstockError):
                read(text, "here")


def journal_body() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        entry = Entry(Setting(pages=256, flight=8, dirty=32), {"pages": frozenset({256, 512})})
        Journal(home, JournalOwner("/", "boot")).record("scratch-OST0000-osc-ff1100010179b000", entry)
        found: dict[str, Any] = json.loads(Path(home, FILE).read_bytes())
    return found


JOURNAL = journal_body()


@TWEAKS
@given(tweaked(JOURNAL))
def test_journal_with_any_value_altered_is_read_or_refused(document: Any) -> None:
    """Even with a checksum that fits: whoever could write it was root, or a disk that tells stories."""
    if isinstance(document, dict) and "body" in document:
        document = {**document, "checksum": _checksum(document["body"])}
    with tempfile.TemporaryDirectory() as home:
        Path(home, FILE).write_text(json.dumps(document))
        refused_or_read(lambda: list(Journal(home, JournalOwner("/", "boot")).entries.items()))


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_no_journal(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home, FILE).write_bytes(raw)
        with pytest.raises(PenstockError):
            Journal(home, JournalOwner("/", "boot"))


@TWEAKS
@given(st.text(max_size=200) | st.lists(st.sampled_from(
    ["mode", "=", '"tune"', "[scope]", "[guard]", "\n", "interval_s", "nan", "1e400", "[", "]", "deny_fs",
     "mount_users", "9" * 5000, "[[", "inf", "'", '"""', "metrics.listen", "{", "}", "0x", "1979-05-27",
     "\ud7ff", "price"]
)).map(" ".join))  # fmt: skip
@example(text="mode = " + "9" * 5000)
def test_configuration_of_any_text_is_read_or_refused(text: str) -> None:
    refused_or_read(lambda: parse(text, AgentConfig, "here"))


@TWEAKS
@given(st.integers(0, 6000), st.binary(min_size=1, max_size=6))
def test_shipped_configuration_with_any_byte_altered_is_read_or_refused(at: int, junk: bytes) -> None:
    raw = (ROOT / "packaging" / "agent.toml").read_bytes()
    at %= len(raw)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "agent.toml")
        path.write_bytes(raw[:at] + junk + raw[at + len(junk) :])
        refused_or_read(lambda: load(path, AgentConfig))


@TWEAKS
@given(st.lists(tweaked(PROBE) | st.sampled_from(NASTY), max_size=4), st.binary(max_size=40), st.booleans())
def test_recording_of_any_lines_is_read_or_refused(lines: list[Any], tail: bytes, packed: bool) -> None:
    raw = b"".join(json.dumps(line).encode() + b"\n" for line in [PROBE, *lines]) + tail
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "osc.jsonl.gz" if packed else "osc.jsonl")
        path.write_bytes(gzip.compress(raw)[: len(raw)] if packed else raw)
        refused_or_read(lambda: list(read_recording(path)))


@given(st.binary(max_size=200))
def test_packed_recordings_of_any_bytes_are_read_or_refused(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as home:
        for name, content in (
            ("a.jsonl.gz", raw),
            ("w.jsonl.gz", raw),
            ("g.jsonl.gz", gzip.compress(raw) + raw),
        ):
            path = Path(home, name)
            path.write_bytes(content)
            refused_or_read(lambda path=path: list(read_recording(path)))  # type: ignore[misc]
            refused_or_read(lambda path=path: list(read_windows(path)))  # type: ignore[misc]


def test_packed_recording_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "MOST_LINE_BYTES", 1 << 16)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"0" * (8 << 20)))
    with pytest.raises(PenstockError, match=r"bomb\.gz:1: longer than 65536 bytes"):
        list(read_recording(tmp_path / "bomb.gz"))


RECORDED = [
    {"target": ["a", "fs", "r", "m"]},
    {"knobs": ["pages"]},
    {"metrics": ["read.bytes"]},
    [1.0, 0, 1, 0, [[0, -1, 0.0, 0.5, 0, 0, 256, 1.0]], {}],
]


@TWEAKS
@given(tweaked(RECORDED))
def test_recorded_windows_with_any_value_altered_are_read_or_refused(document: Any) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in document)
    with tempfile.TemporaryDirectory() as home:
        Path(home, "w.gz").write_bytes(gzip.compress(lines.encode()))
        refused_or_read(lambda: list(read_windows(Path(home, "w.gz"))))


@given(st.binary(max_size=64))
def test_bytes_of_any_kind_are_no_darshan_log(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "x.darshan")
        path.write_bytes(raw[:8] + b"\0" + raw[8:])
        with pytest.raises(PenstockError):
            darshan_log.read_log(path)


@given(
    st.text(max_size=100)
    | st.recursive(st.none() | st.integers() | st.text(max_size=3), st.lists).map(json.dumps)
)
def test_whatever_a_darshan_reader_prints_is_read_or_refused(text: str) -> None:
    refused_or_read(lambda: darshan_log._parse(Path("x.darshan"), text))


LEDGER = [
    {
        "event": "start",
        "job": {
            "name": "a", "compute_nodes": 1, "resources": [0], "curve": {"counts": [1], "bytes_per_s": [1.0]},
        },
        "started_s": 1.0,
        "answer": "{}",
    },
    {"event": "end", "name": "a", "ended_s": 2.0},
]  # fmt: skip


@TWEAKS
@given(tweaked(LEDGER))
def test_ledger_with_any_value_altered_is_read_or_refused(document: Any) -> None:
    with tempfile.TemporaryDirectory() as home:
        Path(home, "ledger").write_text("".join(json.dumps(line) + "\n" for line in document))
        refused_or_read(lambda: Ledger(Path(home, "ledger")).read().grants)
