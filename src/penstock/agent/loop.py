"""The control loop: observe, compare, decide, guard, set; once an interval, in real or virtual time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from penstock.agent.spaces import SpaceBook
from penstock.decide.guard import Guard, NodeView
from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Receipt
from penstock.ports import Actuator, BatchActuator, Clock, Observer
from penstock.snapshot import NodeSnapshot, Target
from penstock.window import Void, Window, windows

LONGEST_INTERVALS = 6
FORGET_TICKS = 120


@dataclass(frozen=True, slots=True)
class Ports:
    """The outside world of one loop."""

    clock: Clock
    observer: Observer
    actuator: Actuator


@dataclass(frozen=True, slots=True)
class Step:
    """What one interval brought for one target."""

    window: Window | Void
    decision: Decision | None
    receipt: Receipt | None


def everything(target: Target) -> bool:
    """The widest scope."""
    return True


@dataclass(slots=True)
class Loop:
    """One node's control loop. `tick` does one interval's work; whoever calls it owns the time between.

    While `acting` is false decisions are made and shown but not carried out. Only targets in `scope` whose
    knobs can all be read are decided about. The guard is optional: the papers' algorithms ran without one.
    """

    ports: Ports
    tuner: Tuner
    interval_s: float
    guard: Guard | None = None
    node: Callable[[], NodeView] = NodeView
    scope: Callable[[Target], bool] = everything
    acting: bool = True
    before: NodeSnapshot | None = None
    spaces: SpaceBook | None = None
    absent: dict[Target, int] = field(default_factory=dict)

    def tick(self) -> tuple[Step, ...]:
        """Observe now and act on what happened since the last look; the first look only looks."""
        after = self.ports.observer.observe()
        before, self.before = self.before, after
        if before is None:
            return ()
        self._forget_the_gone(before, after)
        seen = windows(before, after, LONGEST_INTERVALS * self.interval_s)
        decisions = self._decide([window for window in seen if self._tunable(window)])
        receipts = self._carry_out(decisions)
        made = {decision.target: decision for decision in decisions}
        return tuple(Step(w, made.get(w.target), receipts.get(w.target)) for w in seen)

    def look_again(self, target: Target) -> None:
        """Ask anew what a target's knobs may do: somebody gave one away or took it back."""
        self._book().refresh(target)

    def _decide(self, seen: Sequence[Window | Void]) -> tuple[Decision, ...]:
        space_of = self._book().space_of
        decisions = self.tuner.step(seen, space_of, self.ports.clock.now())
        if self.guard is None:
            return decisions
        return self.guard.review(seen, decisions, space_of, self.node())

    def _carry_out(self, decisions: Sequence[Decision]) -> dict[Target, Receipt]:
        if not self.acting:
            return {}
        wishes = [
            (decision.target, decision.wanted.only(*(change.knob_id for change in moved)))
            for decision in decisions
            if (moved := decision.changes)
        ]
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

    def _tunable(self, window: Window | Void) -> bool:
        if not self.scope(window.target):
            return False
        if isinstance(window, Void):
            self._book().refresh(window.target)
            return True
        return self._book().space_of(window.target).covered_by(window.setting)

    def _forget_the_gone(self, before: NodeSnapshot, after: NodeSnapshot) -> None:
        """Drop targets missing for long; one unreadable moment must not wipe budgets and blacklists."""
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
                self.tuner.forget(target)
                if self.guard is not None:
                    self.guard.forget(target)

    def _book(self) -> SpaceBook:
        if self.spaces is None:
            self.spaces = SpaceBook(self.ports.actuator.space)
        return self.spaces


def ticks(loop: Loop) -> Iterator[tuple[Step, ...]]:
    """Run a loop for ever, one tuple of steps an interval; the caller stops by not asking for the next.

    A loop that overran its interval skips what it missed: there is never a burst of catching up.
    """
    clock = loop.ports.clock
    loop.tick()
    due_s = clock.now() + loop.interval_s
    while True:
        clock.sleep_until(due_s)
        yield loop.tick()
        due_s = next_due_s(due_s, loop.interval_s, clock.now())


def next_due_s(due_s: float, interval_s: float, now_s: float) -> float:
    """The first multiple of the interval after the last due time that still lies ahead.

    >>> next_due_s(10.0, 0.5, 10.1), next_due_s(10.0, 0.5, 11.7)
    (10.5, 12.0)
    """
    missed = max(0, math.ceil((now_s - due_s) / interval_s) - 1)
    return due_s + (missed + 1) * interval_s
