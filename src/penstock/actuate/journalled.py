"""The base class of real actuators: get, set, verify and restore, with every original in a journal.

Knobs are written in the order of their space, and all are read back. The original is in the journal before the first
knob changes. A value that somebody else set is never overwritten. A subclass defines what is specific to a file
system: where its knobs are, their bounds, and what must be set together.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from penstock.actuate.detour import arises_only, writes_to
from penstock.actuate.journal import NO_BASELINE, Baseline, Entry, Journal
from penstock.actuate.knob_errors import (
    GONE,
    JournalUnwritableError,
    RefusedError,
    TargetGoneError,
    TargetUnusableError,
)
from penstock.actuate.knobfiles import KnobFiles
from penstock.actuate.learned_bounds import LearnedBounds
from penstock.actuate.ownership import merged, reachable, reconcile
from penstock.decision import Receipt
from penstock.errors import DataError
from penstock.knobs import Knob, KnobSpace, Scope, Setting
from penstock.snapshot import Target

log = logging.getLogger(__name__)
# The number of targets that share one write of the journal.
BATCH = 128


@dataclass(frozen=True, slots=True)
class Difference:
    """A knob that does not have the expected value."""

    target: str
    knob_id: str
    expected: int
    actual: int
    why: str


@dataclass(frozen=True, slots=True)
class TargetWish:
    """The requested setting of one target, and its state."""

    name: str
    entry: Entry
    before: Setting
    wanted: Setting
    #: Knobs that belong to the administrator or that the configuration denies.
    fixed: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The plan for one request: the receipt if nothing more happens, the journal entry to write first, and the
    goal.
    """

    receipt: Receipt
    entry: Entry | None = None
    goal: Setting = field(default_factory=Setting)

    @property
    def target(self) -> Target:
        return self.receipt.target

    @property
    def wanted(self) -> Setting:
        return self.receipt.wanted


def nothing_denied(target: Target) -> frozenset[str]:
    """Every knob may be set."""
    return frozenset()


class JournalledActuator(ABC):
    """Sets targets of one kind. It has one journal and is for one process and one thread.

    `whole` has the knobs with the widest bounds that any target of this kind may have.
    """

    #: Knobs whose values the system rounds. The rounded value is remembered, so that it is not tried again.
    rounded: frozenset[str] = frozenset()

    def __init__(self, journal: Journal, whole: KnobSpace) -> None:
        self.journal = journal
        self.whole = whole
        #: The knobs of a target that the configuration does not allow to be set.
        self.denied: Callable[[Target], frozenset[str]] = nothing_denied
        self._learned: dict[str, LearnedBounds] = {}

    @abstractmethod
    def targets(self) -> tuple[Target, ...]:
        """Every target there is now."""

    @abstractmethod
    def target_named(self, name: str) -> Target | None:
        """The target with this name in the journal, or None if the name belongs to another kind."""

    @abstractmethod
    def open(self, target: Target) -> KnobFiles:
        """The target's files, for the length of a `with` block."""

    @abstractmethod
    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The knobs within the bounds that this target's files state."""

    def checked(self, wanted: Setting) -> None:
        """Raise `KnobError` for an unknown knob, or for a value that must never be written."""
        self.whole.check(wanted)

    def baseline(self, files: KnobFiles) -> Baseline:
        """What an original must be seen under to be compared with later values, for the journal."""
        return NO_BASELINE

    def rebased(self, entry: Entry, files: KnobFiles, now: Setting) -> Entry:
        """The entry under the present baseline: what the system itself changed for everybody is in it."""
        return entry

    def storing(self, files: KnobFiles) -> KnobSpace:
        """The knobs as this target stores them, including rounding."""
        return self.whole

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal with everything that must be set along with it."""
        return goal

    def commands(self, target: Target, setting: Mapping[str, int]) -> list[str]:
        """The commands that an administrator would type to make this setting."""
        with self.open(target) as files:
            lines = [
                files.command(knob_id, setting[knob_id]) for knob_id in self.whole.ids if knob_id in setting
            ]
        return [line for line in lines if line]

    def space(self, target: Target) -> KnobSpace:
        """The knobs that this target accepts: within its bounds, without refused values, without knobs of others."""
        with self.open(target) as files:
            space, now = self.bounds(target, files), files.setting()
        learned = self._learned.get(target.name, LearnedBounds())
        original = self.original(target) or now
        knobs = []
        for knob in space.knobs:
            low = learned.floors.get(knob.id, knob.floor)
            high = learned.ceilings.get(knob.id, knob.ceiling)
            fixed = knob.id in self.yielded(target) | self.denied(target) | learned.read_only.keys()
            if fixed or arises_only(self.whole, knob.id, original[knob.id]):
                low = high = min(max(now[knob.id], knob.floor), knob.ceiling)
            knobs.append(knob.within(low, high))
        return replace(space, knobs=tuple(knobs))

    def get(self, target: Target) -> Setting:
        """The setting in force. Raises `TargetGoneError` if the target was unmounted."""
        with self.open(target) as files:
            return files.setting()

    def original(self, target: Target) -> Setting | None:
        """What a restore would bring back, as the journal states it; None if the target was never changed."""
        entry = self.journal.get(target.name)
        return entry.original if entry else None

    def yielded(self, target: Target) -> frozenset[str]:
        """The knobs of this target that belong to its administrator."""
        entry = self.journal.get(target.name)
        return entry.manual if entry else frozenset()

    def notice(self, target: Target) -> None:
        """Give up the knobs that somebody else has set since the last change, and note new values of those given up.

        Raises `TargetUnusableError` if the target cannot be read and `JournalUnwritableError` if giving up cannot be
        recorded.
        """
        entry = self.journal.get(target.name)
        if entry is None:
            return
        with self._opened(target) as files:
            known = self._reconciled(entry, files, files.setting())
        if (known.manual, known.original) != (entry.manual, entry.original):
            self.journal.record(target.name, known)

    def take_back(self, target: Target) -> Setting:
        """Manage given-up knobs again, with the administrator's values as the originals. Returns these values."""
        entry = self.journal.get(target.name)
        if entry is None or not entry.manual:
            return Setting()
        self.journal.record(target.name, replace(entry, manual=frozenset()))
        return entry.original.only(*sorted(entry.manual))

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Write the given knobs and read all back. If one fails, none stays changed."""
        return self.set_all([(target, wanted)])[0]

    def set_all(self, wishes: Sequence[tuple[Target, Setting]]) -> list[Receipt]:
        """Like `set` for several targets, journalled in batches.

        A batch's originals are on disk before its first write.
        """
        found: list[Receipt] = []
        for start in range(0, len(wishes), BATCH):
            plans = [self._plan(target, wanted) for target, wanted in wishes[start : start + BATCH]]
            receipts = [plan.receipt for plan in plans]
            settled: dict[str, Entry] = {}
            try:
                self.journal.record_all({plan.target.name: plan.entry for plan in plans if plan.entry})
                receipts = [self._carry_out(plan, settled) if plan.goal else plan.receipt for plan in plans]
                self.journal.record_all(settled)
            except JournalUnwritableError as error:
                # Either nothing was changed or everything was, so the journal on disk covers every value that may be
                # in force.
                affected = settled or {plan.target.name for plan in plans if plan.entry}
                receipts = [_with_problem(one, str(error), affected) for one in receipts]
            found += receipts
        return found

    def restore(self, target: Target) -> Receipt:
        """Restore every original. A knob that somebody else changed keeps that value."""
        entry = self.journal.get(target.name)
        try:
            with self.open(target) as files:
                if entry is None:
                    return Receipt(target, Setting(), files.setting())
                return self._restore(files, target, entry)
        except TargetGoneError as error:
            self._forget(target.name)
            return Receipt(target, Setting(), Setting(), str(error))
        except (OSError, DataError) as error:
            return Receipt(target, entry.original if entry else Setting(), Setting(), str(error))

    def verify(self, target: Target, *, tuned: bool = True) -> tuple[Difference, ...]:
        """The knobs that differ from what was last set or, if no agent runs, from their originals."""
        entry = self.journal.get(target.name)
        if entry is None:
            return ()
        with self.open(target) as files:
            now = files.setting()
            known = self._reconciled(entry, files, now)
        expected = entry.actual if tuned and entry.actual is not None else known.original
        found = []
        for knob_id in self.whole.ids:
            should = entry.original[knob_id] if knob_id in known.manual else expected[knob_id]
            if now[knob_id] != should and knob_id not in entry.manual:
                why = _why(entry, known, knob_id, now[knob_id])
                found.append(Difference(target.name, knob_id, should, now[knob_id], why))
        return tuple(found)

    def _reconciled(self, entry: Entry, files: KnobFiles, now: Setting) -> Entry:
        """The entry, updated to the present baseline and to the values found in force."""
        return reconcile(self.rebased(entry, files, now), now, self.whole)

    @contextmanager
    def _opened(self, target: Target) -> Iterator[KnobFiles]:
        """The target's files.

        `TargetUnusableError` says why they cannot be used. A target that is gone is forgotten.
        """
        try:
            with self.open(target) as files:
                yield files
        except TargetGoneError as error:
            self._forget(target.name)
            raise TargetUnusableError(str(error)) from None
        except (OSError, DataError) as error:
            raise TargetUnusableError(f"{target.name}: {error}") from None

    def _plan(self, target: Target, wanted: Setting) -> _Plan:
        """What to change, and the journal entry that covers every value on the way. Nothing is changed yet."""
        self.checked(wanted)
        try:
            with self._opened(target) as files:
                before = files.setting()
                known = self.journal.get(target.name)
                fresh = Entry(before, kind=self.whole.kind.name, baseline=self.baseline(files))
                entry = self._reconciled(known or fresh, files, before)
                storing = self.storing(files)
        except TargetUnusableError as error:
            return _Plan(Receipt(target, wanted, Setting(), str(error)))
        if not self.journal.trusted:
            return _Plan(Receipt(target, wanted, before, f"observing only: {self.journal.note}", before))
        goal, problems = self._goal(target, entry, before, wanted)
        receipt = Receipt(target, wanted, before, "; ".join(problems) or None, before)
        if not goal:
            return _Plan(receipt, entry if known is not None else None)
        fixed = entry.manual | self.denied(target)
        goal = self.completed(TargetWish(target.name, entry, before, wanted, fixed), goal)
        path = reachable(storing, before, goal)
        if lost := [knob_id for knob_id in self._irreplaceable(entry) if len(path[knob_id]) > 1]:
            said = f"{', '.join(lost)} would move, and its value cannot be written back: left alone"
            return _Plan(replace(receipt, error=said), entry if known is not None else None)
        return _Plan(receipt, replace(entry, possible=merged(entry.possible, path)), goal)

    def _carry_out(self, plan: _Plan, settled: dict[str, Entry]) -> Receipt:
        """Change one target of a batch, unless somebody else changed it since it was read."""
        before = plan.receipt.actual
        problems = [plan.receipt.error] if plan.receipt.error else []
        try:
            with self._opened(plan.target) as files:
                now = files.setting()
                if now != before or plan.entry is None:
                    said = "somebody moved a knob just now: left alone"
                    return Receipt(plan.target, plan.wanted, now, said, now)
                try:
                    self._move(files, plan.goal)
                except RefusedError as error:
                    problems += self._revert(files, before, error)
                actual = self._read_back(files, plan, problems)
        except TargetUnusableError as error:
            return Receipt(plan.target, plan.wanted, Setting(), str(error))
        possible = {knob_id: frozenset({actual[knob_id]}) for knob_id in self.whole.ids}
        settled[plan.target.name] = replace(plan.entry, actual=actual, possible=possible)
        return Receipt(plan.target, plan.wanted, actual, "; ".join(problems) or None, before)

    def _read_back(self, files: KnobFiles, plan: _Plan, problems: Sequence[str]) -> Setting:
        """The setting really in force. Rounded values are remembered."""
        actual = files.setting()
        becomes = self._learned.setdefault(files.name, LearnedBounds()).becomes
        for knob_id in self.rounded & plan.wanted.keys() if not problems else ():
            becomes[knob_id, plan.wanted[knob_id]] = actual[knob_id]
        return actual

    def _goal(
        self, target: Target, entry: Entry, before: Setting, wanted: Setting
    ) -> tuple[Setting, list[str]]:
        """What shall and may change, and why the rest may not. One value out of bounds stops the whole group."""
        learned, denied = self._learned.get(target.name, LearnedBounds()), self.denied(target)
        goal: dict[str, int] = {}
        problems: list[str] = []
        for knob_id in self.whole.ids:
            value = wanted.get(knob_id, before[knob_id])
            if learned.becomes.get((knob_id, value), value) == before[knob_id]:
                continue
            low, high = learned.floors.get(knob_id, 0), learned.ceilings.get(knob_id, value)
            if knob_id in entry.manual:
                problems.append(f"{knob_id} is its administrator's ({before[knob_id]})")
            elif knob_id in denied:
                problems.append(f"{knob_id} is denied by the configuration")
            elif knob_id in self._irreplaceable(entry):
                problems.append(f"{knob_id}={entry.original[knob_id]} cannot be written back: left alone")
            elif not self.whole.may_set(knob_id):
                problems.append(f"{knob_id} is not set while jobs run: {_why_advice(self.whole[knob_id])}")
            elif knob_id in learned.read_only:
                problems.append(learned.read_only[knob_id])
            elif not low <= value <= high:
                refusal = f"{knob_id}={value} is outside what this target accepts"
                return Setting(), [*problems, refusal]
            else:
                goal[knob_id] = value
        return Setting(goal), problems

    def _irreplaceable(self, entry: Entry) -> list[str]:
        """The knobs whose originals only a side effect can make. They are never changed."""
        return [one for one in self.whole.ids if arises_only(self.whole, one, entry.original[one])]

    def _revert(self, files: KnobFiles, before: Setting, error: RefusedError) -> list[str]:
        """Remember a refusal and revert the other knobs of the group. Returns what to report."""
        if error.errno in GONE:
            raise TargetGoneError(f"{files.name} is gone (unmounted)") from None
        said = self._learned.setdefault(files.name, LearnedBounds()).refuse(files.name, error, before)
        try:
            self._move(files, before)
        except RefusedError as second:
            return [said, f"reverting failed as well: {second}"]
        return [f"{said}; the group was reverted"]

    def _restore(self, files: KnobFiles, target: Target, entry: Entry) -> Receipt:
        before = files.setting()
        entry = self._reconciled(entry, files, before)
        goal = entry.original
        ragged = [knob_id for knob_id in self.whole.ids if not files.read(knob_id)[1]]
        path = reachable(self.storing(files), before, goal)
        problems: list[str] = []
        if before != goal or ragged:
            problems += self._record_if_possible(
                target.name, replace(entry, possible=merged(entry.possible, path))
            )
            try:
                self._move(files, goal)
            except RefusedError as error:
                if error.errno in GONE:
                    raise TargetGoneError(f"{files.name} is gone (unmounted)") from None
                return Receipt(target, goal, files.setting(), str(error))
        actual = files.setting()
        if actual == goal:
            problems += self._finish(target.name, entry, actual)
        return Receipt(target, goal, actual, "; ".join(problems) or None)

    def _record_if_possible(self, name: str, entry: Entry) -> list[str]:
        try:
            self.journal.record(name, entry)
        except JournalUnwritableError as error:
            # Restoring the originals is right with or without a journal.
            return [str(error)]
        return []

    def _finish(self, name: str, entry: Entry, actual: Setting) -> list[str]:
        """Nothing of ours is left. Only the knobs that belong to the administrator are remembered."""
        try:
            if entry.manual:
                self.journal.record(name, replace(entry, original=actual, possible={}, actual=None))
            else:
                self.journal.drop(name)
        except JournalUnwritableError as error:
            return [str(error)]
        return []

    def _move(self, files: KnobFiles, goal: Mapping[str, int]) -> None:
        """Write, in order, every knob that does not have its new value. Each is read right before it is written.

        A value that can neither be written nor be made by other knobs any more becomes the most that may be written.
        """
        for knob_id in self.whole.ids:
            if knob_id in goal and not files.is_at(knob_id, goal[knob_id]):
                space = self.storing(files)
                for written, value in writes_to(space, files.setting(), knob_id, goal[knob_id]):
                    files.write(written, value)

    def _forget(self, name: str) -> None:
        """Drop everything known about a target that was unmounted."""
        self._learned.pop(name, None)
        try:
            self.journal.drop(name)
        except JournalUnwritableError as error:
            log.warning("%s: %s", name, error)


def _why_advice(knob: Knob) -> str:
    return "it is node-wide" if knob.scope is Scope.NODE else f"it acts {knob.acts.value}"


def _with_problem(receipt: Receipt, problem: str, affected: Container[str]) -> Receipt:
    if receipt.target.name not in affected:
        return receipt
    return replace(receipt, error="; ".join(part for part in (receipt.error, problem) if part))


def _why(entry: Entry, known: Entry, knob_id: str, value: int) -> str:
    if knob_id in known.manual:
        return "changed by somebody else"
    if value in entry.possible.get(knob_id, ()):
        return "still holds a tuned value"
    return "changed by a reconnect"
