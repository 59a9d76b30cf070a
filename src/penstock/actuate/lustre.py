"""The actuator of a real Lustre client: get, set, verify and restore, target by target.

Knobs are written in the order pages, flight, dirty, because storing an RPC knob recomputes max_dirty_mb, and
all three are read back. The original is in the journal before the first knob moves. A value that somebody
else gave a knob is never overwritten.
"""

from __future__ import annotations

import errno
import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from penstock.actuate import budget
from penstock.actuate.errors import (
    DENIED,
    GONE,
    JournalUnwritableError,
    RefusedError,
    TargetGoneError,
)
from penstock.actuate.files import KNOB_FILES, Connection, OscFiles, OscPlaces
from penstock.actuate.journal import Entry, Journal
from penstock.actuate.ownership import merged, reachable, reconcile, store
from penstock.actuate.system import SYSTEM, System
from penstock.decision import Receipt
from penstock.errors import DataError, PenstockError
from penstock.knobs import KnobSpace, Setting
from penstock.observe.lustre.layout import osc_target
from penstock.snapshot import Target
from penstock.spaces import lustre as lustre_space

log = logging.getLogger(__name__)
# So many targets share one write of the journal.
BATCH = 128
_RESCAN_S = 30.0
_READ_ONLY = DENIED | {errno.EROFS}


@dataclass(frozen=True, slots=True)
class Difference:
    """A knob that does not hold what it should."""

    target: str
    knob_id: str
    expected: int
    actual: int
    why: str


@dataclass(slots=True)
class _Learned:
    """What one target taught by refusing or rounding, for as long as the agent lives."""

    floors: dict[str, int] = field(default_factory=dict)
    ceilings: dict[str, int] = field(default_factory=dict)
    read_only: dict[str, str] = field(default_factory=dict)
    becomes: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is to become of one wish: a receipt as things stand, the entry that must be on disk, the goal."""

    receipt: Receipt
    entry: Entry | None = None
    goal: Setting = field(default_factory=Setting)

    @property
    def target(self) -> Target:
        return self.receipt.target

    @property
    def wanted(self) -> Setting:
        return self.receipt.wanted

    def refused(self, why: str) -> Receipt:
        return replace(self.receipt, error=why) if self.entry is not None else self.receipt


class LustreActuator:
    """Sets Lustre data paths below a root. One process, one journal, not for use from several threads.

    `node_limit_mib` caps the sum of all targets' dirty limits; by default it is Lustre's own.
    """

    def __init__(
        self,
        root: str | Path,
        journal: Journal,
        *,
        system: System = SYSTEM,
        node_limit_mib: int | None = None,
    ) -> None:
        self._places = OscPlaces(system, str(root))
        self._journal = journal
        self._ram_bytes = budget.memory_bytes(root)
        self._limit_mib = node_limit_mib or budget.node_limit_mib(root, self._ram_bytes)
        self._whole = lustre_space(self._ram_bytes, pages_ceiling=4096)
        self._learned: dict[str, _Learned] = {}
        self._dirty: dict[str, int] = {}
        self._scanned_s = float("-inf")

    def targets(self) -> tuple[Target, ...]:
        """Every client data path there is now."""
        found = (osc_target(name) for name in self._places.names())
        return tuple(target for target in found if target is not None)

    def space(self, target: Target) -> KnobSpace:
        """The knobs within what this target takes: its bulk size, its floor, its refusals, the memory."""
        with self._files(target) as files:
            connection, floor = files.connection(), files.pages_floor()
            now = files.setting()
        space = lustre_space(
            self._ram_bytes, pages_floor=floor, pages_ceiling=max(floor, connection.brw_pages or 1024)
        )
        learned = self._learned.get(target.name, _Learned())
        knobs = []
        for knob in space.knobs:
            low = learned.floors.get(knob.id, knob.floor)
            high = learned.ceilings.get(knob.id, knob.ceiling)
            if knob.id in learned.read_only or knob.id in self.yielded(target):
                low = high = min(max(now[knob.id], knob.floor), knob.ceiling)
            knobs.append(knob.within(low, high))
        return replace(space, knobs=tuple(knobs))

    def get(self, target: Target) -> Setting:
        """What is in force now. Raises `TargetGoneError` when the target was unmounted."""
        with self._files(target) as files:
            return files.setting()

    def yielded(self, target: Target) -> frozenset[str]:
        """The knobs of this target that belong to its administrator."""
        entry = self._journal.get(target.name)
        return entry.manual if entry else frozenset()

    def take_back(self, target: Target) -> Setting:
        """Manage yielded knobs again, with the administrator's values as the originals; returns those."""
        entry = self._journal.get(target.name)
        if entry is None or not entry.manual:
            return Setting()
        self._journal.record(target.name, replace(entry, manual=frozenset()))
        return entry.original.only(*sorted(entry.manual))

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Write the given knobs, read all back. When one of them fails, none of them stays changed."""
        return self.set_all([(target, wanted)])[0]

    def set_all(self, wishes: Sequence[tuple[Target, Setting]]) -> list[Receipt]:
        """As `set` for each, journalled in batches: a batch's originals are on disk before its first move."""
        found: list[Receipt] = []
        for start in range(0, len(wishes), BATCH):
            found += self._set_batch(wishes[start : start + BATCH])
        return found

    def restore(self, target: Target) -> Receipt:
        """Bring back every original; a knob that somebody else moved keeps their value."""
        entry = self._journal.get(target.name)
        try:
            with self._files(target) as files:
                if entry is None:
                    return Receipt(target, Setting(), files.setting())
                return self._restore(files, target, entry)
        except TargetGoneError as error:
            self._forget(target.name)
            return Receipt(target, Setting(), Setting(), str(error))
        except (OSError, DataError) as error:
            return Receipt(target, entry.original if entry else Setting(), Setting(), str(error))

    def verify(self, target: Target, *, tuned: bool = True) -> tuple[Difference, ...]:
        """The knobs that differ from what was last set or, when no agent is at work, from their originals."""
        entry = self._journal.get(target.name)
        if entry is None:
            return ()
        with self._files(target) as files:
            now = files.setting()
            known = reconcile(entry, now, files.connection(), self._whole)
        expected = entry.actual if tuned and entry.actual is not None else known.original
        found = []
        for knob_id in self._whole.ids:
            should = entry.original[knob_id] if knob_id in known.manual else expected[knob_id]
            if now[knob_id] != should and knob_id not in entry.manual:
                why = _why(entry, known, knob_id, now[knob_id])
                found.append(Difference(target.name, knob_id, should, now[knob_id], why))
        return tuple(found)

    def _files(self, target: Target) -> OscFiles:
        return OscFiles(self._places, target.name)

    def _set_batch(self, wishes: Sequence[tuple[Target, Setting]]) -> list[Receipt]:
        planned = [
            self._for_target(target, wanted, functools.partial(self._plan, target=target, wanted=wanted))
            for target, wanted in wishes
        ]
        try:
            self._journal.record_all({plan.target.name: plan.entry for plan in planned if plan.entry})
        except JournalUnwritableError as error:
            return [plan.refused(str(error)) for plan in planned]
        settled: dict[str, Entry] = {}
        receipts = [
            self._for_target(
                plan.target, plan.wanted, functools.partial(self._carry_out, plan=plan, settled=settled)
            ).receipt
            if plan.goal
            else plan.receipt
            for plan in planned
        ]
        try:
            self._journal.record_all(settled)
        except JournalUnwritableError as error:
            # What is on disk still covers every value that may be in force.
            said = str(error)
            return [_with_problem(one, said) if one.target.name in settled else one for one in receipts]
        return receipts

    def _for_target(self, target: Target, wanted: Setting, work: Callable[[OscFiles], _Plan]) -> _Plan:
        """Do something with a target's files; a target that is gone or cannot be read yields why."""
        try:
            with self._files(target) as files:
                return work(files)
        except TargetGoneError as error:
            self._forget(target.name)
            return _Plan(Receipt(target, wanted, Setting(), str(error)))
        except (OSError, DataError) as error:
            return _Plan(Receipt(target, wanted, Setting(), f"{target.name}: {error}"))

    def _plan(self, files: OscFiles, target: Target, wanted: Setting) -> _Plan:
        """What shall move, and the journal's entry that covers every value on the way; nothing moves yet."""
        for knob_id in wanted:
            self._whole[knob_id]
        before, connection = files.setting(), files.connection()
        if not self._journal.trusted:
            return _Plan(Receipt(target, wanted, before, f"observing only: {self._journal.note}"))
        known = self._journal.get(target.name)
        entry = known or Entry(
            before, generation=connection.generation, brw_pages=connection.brw_pages, actual=None
        )
        entry = reconcile(entry, before, connection, self._whole)
        goal, problems = self._goal(target.name, entry, before, wanted)
        receipt = Receipt(target, wanted, before, "; ".join(problems) or None)
        if not goal:
            return _Plan(receipt, entry if known is not None else None)
        goal = self._capped(target.name, entry, before, goal, connection)
        path = reachable(self._whole, before, goal, connection.chunk_pages)
        return _Plan(receipt, replace(entry, possible=merged(entry.possible, path)), goal)

    def _carry_out(self, files: OscFiles, plan: _Plan, settled: dict[str, Entry]) -> _Plan:
        """Move one target of a batch, unless somebody else did since it was looked at."""
        before, now = plan.receipt.actual, files.setting()
        if now != before or plan.entry is None:
            return _Plan(Receipt(plan.target, plan.wanted, now, "somebody moved a knob just now: left alone"))
        said = [plan.receipt.error] if plan.receipt.error else []
        problems = said + self._move_or_revert(files, before, plan.goal)
        actual = self._read_back(files, plan, problems)
        possible = {knob_id: frozenset({actual[knob_id]}) for knob_id in self._whole.ids}
        settled[files.name] = replace(plan.entry, actual=actual, possible=possible)
        return _Plan(Receipt(plan.target, plan.wanted, actual, "; ".join(problems) or None))

    def _read_back(self, files: OscFiles, plan: _Plan, problems: Sequence[str]) -> Setting:
        """What is really in force; what rounding made of a value is remembered."""
        actual = files.setting()
        self._dirty[files.name] = actual["dirty"]
        becomes = self._learned.setdefault(files.name, _Learned()).becomes
        if not problems and "pages" in plan.wanted:
            becomes["pages", plan.wanted["pages"]] = actual["pages"]
        return actual

    def _goal(self, name: str, entry: Entry, before: Setting, wanted: Setting) -> tuple[Setting, list[str]]:
        """What shall and may move, and why the rest may not; one value out of bounds stops the group."""
        learned = self._learned.get(name, _Learned())
        goal: dict[str, int] = {}
        problems: list[str] = []
        for knob_id in self._whole.ids:
            value = wanted.get(knob_id, before[knob_id])
            if learned.becomes.get((knob_id, value), value) == before[knob_id]:
                continue
            low, high = learned.floors.get(knob_id, 0), learned.ceilings.get(knob_id, value)
            if knob_id in entry.manual:
                problems.append(f"{knob_id} is its administrator's ({before[knob_id]})")
            elif knob_id in learned.read_only:
                problems.append(learned.read_only[knob_id])
            elif not low <= value <= high:
                refusal = f"{knob_id}={value} is outside what this target accepts"
                return Setting(), [*problems, refusal]
            else:
                goal[knob_id] = value
        return Setting(goal), problems

    def _capped(
        self, name: str, entry: Entry, before: Setting, goal: Setting, connection: Connection
    ) -> Setting:
        """The goal with a dirty limit that fits the node, or the administrator's own put back."""
        if "dirty" in entry.manual:
            return goal.replace(dirty=before["dirty"])
        after = before
        for knob_id in self._whole.ids:
            if knob_id in goal:
                after = store(self._whole, after, knob_id, goal[knob_id], connection.chunk_pages)
        if after["dirty"] <= entry.original["dirty"]:
            return goal
        fits = budget.allowed(
            after["dirty"], entry.original["dirty"], self._others_mib(name), self._limit_mib
        )
        # Others of the same batch must not be given the same room again.
        self._dirty[name] = max(before["dirty"], fits)
        return goal if fits == after["dirty"] else goal.replace(dirty=fits)

    def _others_mib(self, name: str) -> int:
        now_s = time.monotonic()
        if now_s - self._scanned_s > _RESCAN_S:
            self._dirty = {}
            for other in self._places.names():
                try:
                    with OscFiles(self._places, other) as files:
                        self._dirty[other] = files.read("dirty")[0]
                except (OSError, PenstockError):
                    continue
            self._scanned_s = now_s
        return sum(value for other, value in self._dirty.items() if other != name)

    def _move_or_revert(self, files: OscFiles, before: Setting, goal: Setting) -> list[str]:
        try:
            _move(files, goal)
        except RefusedError as error:
            if error.errno in GONE:
                raise TargetGoneError(f"{files.name} is gone (unmounted)") from None
            said = self._learn(files.name, error, before)
            try:
                _move(files, before)
            except RefusedError as second:
                return [said, f"reverting failed as well: {second}"]
            return [f"{said}; the group was reverted"]
        return []

    def _restore(self, files: OscFiles, target: Target, entry: Entry) -> Receipt:
        before, connection = files.setting(), files.connection()
        entry = reconcile(entry, before, connection, self._whole)
        goal = entry.original
        ragged = [knob_id for knob_id in self._whole.ids if not files.read(knob_id)[1]]
        path = reachable(self._whole, before, goal, connection.chunk_pages)
        problems: list[str] = []
        if before != goal or ragged:
            problems += self._record_if_possible(
                target.name, replace(entry, possible=merged(entry.possible, path))
            )
            try:
                _move(files, goal)
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
            self._journal.record(name, entry)
        except JournalUnwritableError as error:
            # Going back to the originals is right with or without a journal.
            return [str(error)]
        return []

    def _finish(self, name: str, entry: Entry, actual: Setting) -> list[str]:
        """Nothing of ours is left: keep only the memory of knobs that belong to their administrator."""
        try:
            if entry.manual:
                self._journal.record(name, replace(entry, original=actual, possible={}, actual=None))
            else:
                self._journal.drop(name)
        except JournalUnwritableError as error:
            return [str(error)]
        return []

    def _learn(self, name: str, error: RefusedError, before: Setting) -> str:
        learned = self._learned.setdefault(name, _Learned())
        if error.errno == errno.ERANGE and error.value >= 0:
            if error.value > before[error.knob_id]:
                known = learned.ceilings.get(error.knob_id, error.value)
                learned.ceilings[error.knob_id] = min(known, error.value - 1)
            else:
                known = learned.floors.get(error.knob_id, error.value)
                learned.floors[error.knob_id] = max(known, error.value + 1)
            log.warning("%s: learned a bound: %s", name, error)
        elif error.errno in _READ_ONLY:
            if error.knob_id not in learned.read_only:
                log.warning("%s: observing %s only: %s", name, error.knob_id, error)
            learned.read_only[error.knob_id] = f"{error.knob_id} cannot be set: {error}"
        return str(error)

    def _forget(self, name: str) -> None:
        """Drop a target that was unmounted, with everything known of it."""
        self._learned.pop(name, None)
        self._dirty.pop(name, None)
        try:
            self._journal.drop(name)
        except JournalUnwritableError as error:
            log.warning("%s: %s", name, error)


def _move(files: OscFiles, goal: Mapping[str, int]) -> None:
    """Write, in order, every knob that does not hold its goal; each is looked at right before its turn."""
    for knob_id in KNOB_FILES:
        if knob_id in goal and not files.is_at(knob_id, goal[knob_id]):
            files.write(knob_id, goal[knob_id])


def _with_problem(receipt: Receipt, problem: str) -> Receipt:
    return replace(receipt, error="; ".join(part for part in (receipt.error, problem) if part))


def _why(entry: Entry, known: Entry, knob_id: str, value: int) -> str:
    if knob_id in known.manual:
        return "changed by somebody else"
    if value in entry.possible.get(knob_id, ()):
        return "still holds a tuned value"
    return "changed by a reconnect"
