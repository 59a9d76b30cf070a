"""Formats log lines for journald: with a priority, and without a time, which journald adds."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

from penstock import shown

_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
_STAMPED = "%(asctime)s penstock %(levelname)s %(message)s"


class LineFormatter(logging.Formatter):
    """One line for a message, whatever is in it. Only a traceback has several, each of them escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the library's name
        """The message as one line."""
        return shown.line(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        """The traceback; its last line quotes what somebody may have made up."""
        return "\n".join(map(shown.line, super().formatException(ei).split("\n")))


class JournalFormatter(LineFormatter):
    """Puts the priority before every line, so that `journalctl -p warning` finds what it should."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; a traceback's lines get the priority too."""
        priority = _PRIORITIES.get(record.levelno, 6)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).split("\n"))


def goes_to_journal(descriptor: int, environment: str | None) -> bool:
    """Whether a descriptor is the stream that `JOURNAL_STREAM` names, and was not redirected since."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False
    return environment == f"{status.st_dev}:{status.st_ino}"


def log_to_stderr(*, debug: bool) -> None:
    """Log to stderr from INFO on, or everything with `debug`, formatted for journald or for a terminal."""
    handler = logging.StreamHandler(sys.stderr)
    journal = goes_to_journal(sys.stderr.fileno(), os.environ.get("JOURNAL_STREAM"))
    handler.setFormatter(JournalFormatter("%(message)s") if journal else LineFormatter(_STAMPED))
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if debug else logging.INFO)
