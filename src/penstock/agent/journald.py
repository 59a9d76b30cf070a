"""Formats log lines for journald: with a priority, and without a time, which journald adds."""

from __future__ import annotations

import logging
import os
import sys

_PRIORITIES = {logging.DEBUG: 7, logging.INFO: 6, logging.WARNING: 4, logging.ERROR: 3, logging.CRITICAL: 2}
_STAMPED = "%(asctime)s penstock %(levelname)s %(message)s"


class JournalFormatter(logging.Formatter):
    """Puts the priority before every line, so that `journalctl -p warning` finds what it should."""

    def format(self, record: logging.LogRecord) -> str:
        """The record; a traceback's lines get the priority too."""
        priority = _PRIORITIES.get(record.levelno, 6)
        return "\n".join(f"<{priority}>{line}" for line in super().format(record).splitlines())


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
    handler.setFormatter(JournalFormatter("%(message)s") if journal else logging.Formatter(_STAMPED))
    logging.basicConfig(handlers=[handler], level=logging.DEBUG if debug else logging.INFO)
