"""The control loop: observe, compare, decide, guard, set. It runs once per interval, in real or virtual time."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from penstock.agent.deciding import Forgotten, IntervalInput, IntervalRecorder, decide
from penstock.agent.space_book import SpaceBook
from penstock.decide.fleet_advice import FleetAdvice
from penstock.decide.guard import Guard, NodeView
from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Receipt
from penstock.errors import PenstockError
from penstock.knobs import KnobSpace
from penstock.ports import BatchActuator, Ports
from penstock.snapshot import NodeSnapshot, Target
from penstock.units import MIB
from penstock.window import Void, Window, windows

LONGEST_INTERVALS = 6
FORGET_TICKS = 120


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one interval for one target."""

    window: Window | Void
    decision: Decision | None
    receipt: Receipt | None


def everything(target: Target) -> bool:
    """A scope that contains every target."""
    return True


def alone() -> FleetAdvice | None:
    """The advice of a node that decides alone."""
    return None


def unrecorded(decisions: tuple[Decision, ...]) -> tuple[Decision, ...]:
    """A recorder that keeps nothing and lets every decision pass."""
    return decisions


@dataclass(slots=True)
class Loop:
    """The control loop of one node. `tick` does the work of one interval; the caller decides when.

    While `acting` is false decisions are made and shown but not carried out. Only targets in `scope` whose
    knobs can all be read are decided about. `record` writes decisions down before they are carried out; one it
    cannot write comes back as a decision to keep. `advice` answers at once with what other nodes said last.
    A `recorder` is shown everything that decisions were made from,
    before they are carried out. The guard is optional: the papers' algorithms ran without one.
    """

    ports: Ports
    tuner: Tuner
    interval_s: float
    guard: Guard | None = None
    node: Callable[[], NodeView] = NodeView
    scope: Callable[[Target], bool] = everything
    acting: bool = True
    record: Callable[[tuple[Decision, ...]], tuple[Decision, ...]] = unrecorded
    before: NodeSnapshot | None = None
    spaces: SpaceBook | None = None
    recorder: IntervalRecorder | None = None
    advice: Callable[[], FleetAdvice | None] = alone
    forgotten: list[Forgotten] = field(default_factory=list)
    absent: dict[Target, int] = field(default_factory=dict)

    def tick(self) -> tuple[Step, ...]:
        """Observe, and act on what happened since the last call. The first call only observes."""
        after = self.ports.observer.observe()
        before, self.before = self.before, after
        if before is None:
            return ()
        self._forget_the_gone(before, after)
        compared = windows(before, after, LONGEST_INTERVALS * self.interval_s)
        seen = tuple(self._with_original(window) for window in compared)
        tunable = [window for window in seen if self._tunable(window)]
        interval = IntervalInput(self.ports.clock.now(), tunable, tuple(self.forgotten), self.advice())
        self.forgotten.clear()
        decided = decide(self.tuner, self.guard, interval, self._book().space_of, self._view)
        decisions = self.record(decided.decisions) if self.acting else decided.decisions
        if self.recorder is not None:
            self.recorder.take(decided, decisions if self.acting else (), self._book().known)
        receipts = self._carry_out(decisions) if self.acting else {}
        made = {decision.target: decision for decision in decisions}
        return tuple(Step(w, made.get(w.target), receipts.get(w.target)) for w in seen)

    def spaces_in_scope(self) -> tuple[KnobSpace, ...]:
        """The distinct knob spaces of the targets in scope at the last observation."""
        seen = self.before.targets if self.before is not None else ()
        found: dict[KnobSpace, None] = {}
        for one in seen:
            # A target that was unmounted since has no space.
            with contextlib.suppress(OSError, PenstockError):
                found |= {self._book().space_of(one.target): None} if self.scope(one.target) else {}
        return tuple(found)

    def look_again(self, target: Target) -> None:
        """Read a target's knob space again, because a knob was given up or taken back."""
        self._book().refresh(target)

    def forget(self, target: Target, *, gone: bool = False) -> None:
        """Drop what was learned of a target; of one that is `gone`, what the guard keeps too."""
        self.forgotten.append(Forgotten(target, gone))
        self.forgotten[-1].apply(self.tuner, self.guard)

    def _view(self, seen: Sequence[Window | Void], decisions: Sequence[Decision]) -> NodeView:
        """The node's limits, with the dirty limits of all targets that are not decided about in this interval."""
        if self.before is None or not any(decision.changes for decision in decisions):
            return NodeView()
        judged = {window.target for window in seen if isinstance(window, Window)}
        held = 0
        for one in self.before.targets:
            if one.target not in judged:
                # A target that was unmounted since holds nothing.
                with contextlib.suppress(OSError, PenstockError, KeyError):
                    held += self._book().space_of(one.target).cache_bytes(one.setting)
        return replace(self.node(), elsewhere_mib=held / MIB)

    def _carry_out(self, decisions: Sequence[Decision]) -> dict[Target, Receipt]:
        """Write the knobs that may be set now. Everything else in a decision is advice for the administrator."""
        wishes = []
        for decision in decisions:
            if decision.changes:
                space = self._book().space_of(decision.target)
                moved = [change.knob_id for change in decision.changes if space.may_set(change.knob_id)]
                wishes += [(decision.target, decision.wanted.only(*moved))] if moved else []
        actuator = self.ports.actuator
        receipts = (
            actuator.set_all(wishes)
            if isinstance(actuator, BatchActuator)
            else [actuator.set(target, wanted) for target, wanted in wishes]
        )
        for receipt in receipts:
            if not receipt.exact:
                self._book().refresh(receipt.target)
        return {receipt.target: receipt for receipt in receipts}

    def _with_original(self, window: Window | Void) -> Window | Void:
        """The window with what the actuator states as the target's original: policy and guard keep none."""
        if isinstance(window, Void):
            return window
        original = self.ports.actuator.original(window.target)
        return window if original is None else replace(window, original=original)

    def _tunable(self, window: Window | Void) -> bool:
        if not self.scope(window.target):
            return False
        if isinstance(window, Void):
            self._book().refresh(window.target)
            return True
        try:
            space = self._book().space_of(window.target)
        except (OSError, PenstockError):
            # A knob's file is missing, or the target was unmounted since.
            return False
        return space.covered_by(window.setting)

    def _forget_the_gone(self, before: NodeSnapshot, after: NodeSnapshot) -> None:
        """Drop targets that were missing for long. A single failed read must not erase budgets and blacklists."""
        present = {snapshot.target for snapshot in after.targets}
        for snapshot in before.targets:
            if snapshot.target not in present:
                self._book().refresh(snapshot.target)
                self.absent[snapshot.target] = 0
        for target in list(self.absent):
            self.absent[target] += 1
            if target in present:
                del self.absent[target]
            elif self.absent[target] > FORGET_TICKS:
                del self.absent[target]
                self.forget(target, gone=True)

    def _book(self) -> SpaceBook:
        if self.spaces is None:
            self.spaces = SpaceBook(self.ports.actuator.space)
        return self.spaces


def ticks(loop: Loop) -> Iterator[tuple[Step, ...]]:
    """Run a loop without end and yield the steps of each interval. The caller stops by not asking for the next.

    If an interval took too long, the missed intervals are skipped. They are not made up for.
    """
    clock = loop.ports.clock
    loop.tick()
    due_s = clock.now() + loop.interval_s
    while True:
        clock.sleep_until(due_s)
        yield loop.tick()
        due_s = next_due_s(due_s, loop.interval_s, clock.now())


def next_due_s(due_s: float, interval_s: float, now_s: float) -> float:
    """The first multiple of the interval after the last due time that is still in the future.

    >>> next_due_s(10.0, 0.5, 10.1), next_due_s(10.0, 0.5, 11.7)
    (10.5, 12.0)
    """
    missed = max(0, math.ceil((now_s - due_s) / interval_s) - 1)
    return due_s + (missed + 1) * interval_s
