"""Lines that the journal sorts by priority, and people can read elsewhere."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.agent.journald import JournalFormatter, goes_to_journal


@pytest.mark.parametrize(
    ("level", "prefix"),
    [(logging.DEBUG, "<7>"), (logging.INFO, "<6>"), (logging.WARNING, "<4>"), (35, "<6>")],
)
def test_journal_lines_carry_their_priority(level: int, prefix: str) -> None:
    record = logging.LogRecord("x", level, __file__, 1, "one\ntwo", None, None)
    assert JournalFormatter("%(message)s").format(record) == rf"{prefix}one\x0atwo"


def test_journal_is_known_by_its_stream(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("w") as stream:
        status = os.fstat(stream.fileno())
        assert goes_to_journal(stream.fileno(), f"{status.st_dev}:{status.st_ino}")
        assert not goes_to_journal(stream.fileno(), "1:2")
        assert not goes_to_journal(stream.fileno(), None)
    assert not goes_to_journal(99999, "1:2")


@pytest.mark.parametrize("journal", [True, False])
def test_agent_suits_whoever_listens(tmp_path: Path, journal: bool) -> None:
    """A log that cannot be written at start is said on stderr in the right form."""
    said = tmp_path / "said"
    with said.open("w") as stream:
        status = os.fstat(stream.fileno())
        stream_name = f"{status.st_dev}:{status.st_ino}" if journal else "0:0"
        code = (
            "import logging; from penstock.agent.journald import log_to_stderr; log_to_stderr(debug=False);"
            "logging.getLogger('x').warning('hello'); logging.getLogger('x').debug('hidden')"
        )
        environment = {**os.environ, "JOURNAL_STREAM": stream_name}
        subprocess.run([sys.executable, "-c", code], stderr=stream, env=environment, check=True)
    text = said.read_text()
    assert text == "<4>hello\n" if journal else text.endswith(" penstock WARNING hello\n")
    assert text.count("\n") == 1
