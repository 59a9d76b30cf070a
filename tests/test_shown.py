"""What comes from outside cannot act on a terminal or forge a line, wherever it is shown."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import shown
from penstock.agent.journald import JournalFormatter, LineFormatter
from penstock.cli.options import console

EVIL = "a\x1b[2J\x1b]0;t\x07\u2028b\x85c\x9b31md\u202ee\rf\x0bg\ud800"
ACTIVE = ["\x1b", "\x07", "\u2028", "\x85", "\x9b", "\u202e", "\x0b", "\ud800"]


def acts(text: str) -> list[str]:
    return [sign for sign in ACTIVE if sign in text]


@given(st.text())
def test_any_text_is_one_printable_line(text: str) -> None:
    found = shown.line(text)
    assert len(found.splitlines()) <= 1
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in found)
    found.encode()
    assert shown.line(found) == found
    assert shown.lines(text).split("\n") == [shown.lines(part) for part in text.split("\n")]


@pytest.mark.parametrize("formatter", [JournalFormatter("%(message)s"), LineFormatter("%(message)s")])
def test_log_line_stays_one_line(formatter: logging.Formatter) -> None:
    forged = f"/mnt/{EVIL}\n<3>penstock: forged"
    record = logging.LogRecord("x", logging.INFO, "", 0, "found %s", (forged,), None)
    text = formatter.format(record)
    assert "\n" not in text
    assert not acts(text)
    assert "forged" in text


def test_traceback_keeps_its_lines_and_nothing_else() -> None:
    try:
        raise ValueError(EVIL)
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", (), sys.exc_info())
    text = JournalFormatter("%(message)s").format(record)
    assert all(line.startswith("<3>") for line in text.split("\n"))
    assert not acts(text)


def test_tables_show_hostile_names_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.table import Table

    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", shown.ShownStream(raw, encoding="utf-8", errors="backslashreplace"))
    table = Table(title=f"[/red]{EVIL}")
    table.add_column(EVIL)
    table.add_row(f"[bold]{EVIL}[/x]")
    screen = console()
    screen.print(table)
    screen.print(EVIL, style="bold")
    sys.stdout.flush()
    text = raw.getvalue().decode()
    assert not acts(text)
    assert "[bold]a" in text


def test_colours_of_our_own_reach_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys, "stdout", shown.ShownStream(raw, encoding="utf-8", errors="backslashreplace"))
    console().print(f"x{EVIL}", style="bold")
    sys.stdout.flush()
    text = raw.getvalue().decode()
    assert text.count("\x1b[1m") == 1
    assert "\\x1b[2J" in text


def test_error_about_a_hostile_name_is_one_escaped_line(tmp_path: Path) -> None:
    name = os.fsencode(str(tmp_path)) + "/a\x1b[2J\u2028b".encode() + b"\xff"
    command = [sys.executable.encode(), b"-m", b"penstock", b"replay", name]
    done = subprocess.run(command, capture_output=True, check=False, timeout=120)
    assert done.returncode != 0
    assert done.stderr.count(b"\n") == 1
    assert b"Traceback" not in done.stderr
    assert not acts(done.stderr.decode())
    assert b"\\x1b[2J\\u2028b" in done.stderr
