"""The actuator of a real Lustre client: get, set, verify and restore, target by target.

Knobs are written in the order pages, flight, dirty, because storing an RPC knob recomputes max_dirty_mb, and
all three are read back. The original is in the journal before the first knob moves. A value that somebody
else gave a knob is never overwritten.
"""

from __future__ import annotations

import errno
import logging
import time
from collections.abc import Mapping
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

    def take_back(self, target: Target) -> None:
        """Manage yielded knobs again, with the administrator's values as the originals."""
        entry = self._journal.get(target.name)
        if entry:
            self._journal.record(target.name, replace(entry, manual=frozenset()))

    def set(self, target: Target, wanted: Setting) -> Receipt:
        """Write the given knobs, read all back. When one of them fails, none of them stays changed."""
        try:
            with self._files(target) as files:
                return self._set(files, target, wanted)
        except TargetGoneError as error:
            self._forget(target.name)
            return Receipt(target, wanted, Setting(), str(error))
        except (OSError, DataError) as error:
            return Receipt(target, wanted, Setting(), f"{target.name}: {error}")

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

    def _set(self, files: OscFiles, target: Target, wanted: Setting) -> Receipt:
        for knob_id in wanted:
            self._whole[knob_id]
        before, connection = files.setting(), files.connection()
        if not self._journal.trusted:
            return Receipt(target, wanted, before, f"observing only: {self._journal.note}")
        known = self._journal.get(target.name)
        entry = known or Entry(
            before, generation=connection.generation, brw_pages=connection.brw_pages, actual=None
        )
        entry = reconcile(entry, before, connection, self._whole)
        goal, problems = self._goal(target.name, entry, before, wanted)
        try:
            if not goal:
                if known is not None:
                    self._journal.record(target.name, entry)
                return Receipt(target, wanted, before, "; ".join(problems) or None)
            goal = self._capped(target.name, entry, before, goal, connection)
            entry = replace(
                entry,
                possible=merged(entry.possible, reachable(self._whole, before, goal, connection.chunk_pages)),
            )
            self._journal.record(target.name, entry)
        except JournalUnwritableError as error:
            return Receipt(target, wanted, before, str(error))
        problem = self._move_or_revert(files, before, goal)
        return self._settled(files, target, wanted, entry, [*problems, *problem])

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

    def _settled(
        self, files: OscFiles, target: Target, wanted: Setting, entry: Entry, problems: list[str]
    ) -> Receipt:
        """Read back, remember what rounding made of the values, and journal what is really ours now."""
        actual = files.setting()
        self._dirty[target.name] = actual["dirty"]
        becomes = self._learned.setdefault(target.name, _Learned()).becomes
        if not problems:
            becomes.update({("pages", wanted["pages"]): actual["pages"]} if "pages" in wanted else {})
        possible = {knob_id: frozenset({actual[knob_id]}) for knob_id in self._whole.ids}
        try:
            self._journal.record(target.name, replace(entry, actual=actual, possible=possible))
        except JournalUnwritableError as error:
            # What is on disk still covers every value that may be in force.
            problems = [*problems, str(error)]
        return Receipt(target, wanted, actual, "; ".join(problems) or None)

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


def _why(entry: Entry, known: Entry, knob_id: str, value: int) -> str:
    if knob_id in known.manual:
        return "changed by somebody else"
    if value in entry.possible.get(knob_id, ()):
        return "still holds a tuned value"
    return "changed by a reconnect"
