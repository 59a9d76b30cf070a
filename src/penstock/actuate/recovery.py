"""Restores and verifies from the journal alone, without an agent."""

from __future__ import annotations

import contextlib
import stat
from dataclasses import dataclass
from pathlib import Path

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.journalled import Difference
from penstock.actuate.knob_errors import JournalCorruptError, TargetGoneError
from penstock.actuate.lock import StateLock, holder
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.actuate.system import SYSTEM, System
from penstock.decision import Change
from penstock.errors import AccessError, DataError, MissingError
from penstock.observe.fuse.observer import PATIENT_S, named_in


@dataclass(frozen=True, slots=True)
class RestoredKnob:
    """A knob that was restored."""

    target: str
    change: Change


@dataclass(frozen=True, slots=True)
class Left:
    """A knob that keeps the value that somebody else set."""

    target: str
    knob_id: str
    value: int


@dataclass(frozen=True, slots=True)
class Restored:
    """The result of a restore, by target."""

    moved: tuple[RestoredKnob, ...] = ()
    left: tuple[Left, ...] = ()
    gone: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a verification, and the commands that would undo everything by hand."""

    differences: tuple[Difference, ...] = ()
    rollback: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    agent_pid: int | None = None
    #: The targets that could not be read. A note says why.
    unread: tuple[str, ...] = ()


def restore_all(root: str | Path, state_dir: str | Path, system: System = SYSTEM) -> Restored:
    """Restore every original in the journal.

    Raises `JournalCorruptError` if no copy of the journal can be trusted, and `BusyError` while an agent runs. After
    an interruption at any point it can be run again.
    """
    _require(root)
    if not Path(state_dir).is_dir():
        return Restored(notes=(f"{state_dir}: no journal, so nothing was ever changed from here",))
    with contextlib.closing(_Locked(state_dir, system)) as lock:
        journal = Journal(state_dir, owner_of(root), system)
        actuator = _actuator(root, journal, system)
        outcome = _Outcome(notes=[note for note in (journal.note, lock.note) if note])
        for name in journal.entries:
            _restore_one(actuator, journal, name, outcome)
    if not journal.trusted and outcome.left:
        unsure = ", ".join(f"{left.target} {left.knob_id}={left.value}" for left in outcome.left)
        raise JournalCorruptError(f"{journal.note}; it does not tell whose values these are: {unsure}")
    return outcome.frozen()


def verify_all(
    root: str | Path, state_dir: str | Path, system: System = SYSTEM, *, search_s: float = PATIENT_S
) -> Verified:
    """Compare every changed target with its expected values: those the agent set if one runs, else the originals.

    Nothing is written. A search for the daemons of FUSE mounts takes at most `search_s`.
    """
    _require(root)
    if not Path(state_dir).is_dir():
        return Verified(notes=(f"{state_dir}: no journal, so nothing was ever changed from here",))
    pid = holder(state_dir, system)
    journal = Journal(state_dir, owner_of(root), system)
    actuator = _actuator(root, journal, system, search_s)
    differences: list[Difference] = []
    rollback: list[str] = []
    gone: list[str] = []
    unread: list[str] = []
    notes = [journal.note] if journal.note else []
    for name, entry in journal.entries.items():
        try:
            target = actuator.target_named(name)
            differences += actuator.verify(target, tuned=pid is not None)
            now = actuator.get(target)
            if now != entry.original:
                undone = {key: value for key, value in entry.original.items() if key not in entry.manual}
                rollback += actuator.commands(target, undone)
        except TargetGoneError:
            gone.append(name)
        except (OSError, DataError) as error:
            unread.append(name)
            notes.append(f"not verified: {error}" if name in str(error) else f"{name}: not verified: {error}")
    return Verified(tuple(differences), tuple(rollback), tuple(gone), tuple(notes), pid, tuple(unread))


def _actuator(
    root: str | Path, journal: Journal, system: System, search_s: float = PATIENT_S
) -> NodeActuator:
    return NodeActuator(root, journal, Reach(named_in(journal.entries, search_s)), system=system)


class _Locked:
    """Holds the lock of the state directory. If the lock cannot be written, restoring goes on without it."""

    def __init__(self, state_dir: str | Path, system: System) -> None:
        self.note: str | None = None
        self._lock: StateLock | None = None
        try:
            self._lock = StateLock(state_dir, system)
        except OSError as error:
            self.note = f"{state_dir}: not locked: {error.strerror}"

    def close(self) -> None:
        if self._lock:
            self._lock.release()


class _Outcome:
    def __init__(self, notes: list[str]) -> None:
        self.moved: list[RestoredKnob] = []
        self.left: list[Left] = []
        self.gone: list[str] = []
        self.failed: list[str] = []
        self.notes = notes

    def frozen(self) -> Restored:
        return Restored(
            tuple(self.moved), tuple(self.left), tuple(self.gone), tuple(self.failed), tuple(self.notes)
        )


def _restore_one(actuator: NodeActuator, journal: Journal, name: str, outcome: _Outcome) -> None:
    target = actuator.target_named(name)
    entry = journal.entries[name]
    try:
        before = actuator.get(target)
    except TargetGoneError:
        journal.drop(name)
        outcome.gone.append(name)
        return
    except (OSError, DataError) as error:
        outcome.failed.append(f"{name}: {error}")
        return
    receipt = actuator.restore(target)
    if not receipt.actual:
        (outcome.failed if name in journal.entries else outcome.gone).append(receipt.error or name)
        return
    after = journal.get(name)
    for knob_id, value in receipt.actual.items():
        wanted = receipt.wanted.get(knob_id, value)
        if value != before[knob_id]:
            outcome.moved.append(RestoredKnob(name, Change(knob_id, before[knob_id], value)))
        if value != wanted:
            said = receipt.error or f"reads back as {value}"
            outcome.failed.append(f"{name}: {knob_id} is not {wanted}: {said}")
        elif after and knob_id in after.manual:
            outcome.left.append(Left(name, knob_id, value))
        elif value != entry.original[knob_id]:
            outcome.notes.append(f"{name}: {knob_id} stays at {value}, what its server now allows")
    if receipt.error and all(receipt.actual[key] == value for key, value in receipt.wanted.items()):
        outcome.notes.append(receipt.error)


def _require(root: str | Path) -> None:
    try:
        there = stat.S_ISDIR(Path(root).stat().st_mode)
    except FileNotFoundError:
        there = False
    except OSError as error:
        raise AccessError(f"{root}: {error.strerror}") from None
    if not there:
        raise MissingError(f"{root}: no such directory")
