"""Before the first observation: checks the state directory, restores what a dead agent left, opens the journal."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.knob_errors import JournalCorruptError
from penstock.actuate.recovery import restore_all
from penstock.agent.filesystems import tuned_type
from penstock.errors import AccessError, ConfigError
from penstock.trusted import require_own

log = logging.getLogger(__name__)

LOG_FILE, WINDOWS_FILE, SOCKET_FILE = "decisions.jsonl", "windows.jsonl.gz", "control.sock"


@dataclass(frozen=True, slots=True)
class Places:
    """The client's root and the agent's state directory."""

    root: Path
    state_dir: Path

    @property
    def log(self) -> Path:
        return self.state_dir / LOG_FILE

    @property
    def windows(self) -> Path:
        return self.state_dir / WINDOWS_FILE

    @property
    def socket(self) -> Path:
        return self.state_dir / SOCKET_FILE


class NoJournal(Journal):
    """Replaces a journal that cannot be trusted. Nothing can be changed through it."""

    def __init__(self, places: Places, note: str) -> None:
        self.directory, self.owner = str(places.state_dir), owner_of(places.root)
        self.trusted, self.note = False, note
        self._entries, self._texts = {}, {}


def prepare(places: Places) -> None:
    """Create the state directory.

    It is refused if others may write it, or if it is on a file system that the agent might tune.
    """
    directory = places.state_dir
    try:
        directory.mkdir(mode=0o750, parents=True, exist_ok=True)
        kind = tuned_type(directory)
    except PermissionError:
        raise AccessError(f"{directory}: permission denied") from None
    except OSError as error:
        raise ConfigError(f"{directory}: {error.strerror}") from None
    require_own(directory)
    if kind:
        raise ConfigError(f"{directory}: on a {kind} file system; the agent keeps nothing on what it tunes")


def recover(places: Places) -> None:
    """Restore the originals if the journal has entries: an agent died with knobs changed."""
    try:
        outcome = restore_all(places.root, places.state_dir)
    except JournalCorruptError:
        return
    for moved in outcome.moved:
        log.warning("recovered %s: %s", moved.target, moved.change)
    for failure in outcome.failed:
        log.warning("not recovered: %s", failure)


def open_journal(places: Places) -> Journal:
    """The journal. If it is corrupt, a replacement that allows no changes and gives the reason in its note."""
    try:
        return Journal(places.state_dir, owner_of(places.root))
    except JournalCorruptError as error:
        log.error("observing only: %s", error)
        return NoJournal(places, str(error))
