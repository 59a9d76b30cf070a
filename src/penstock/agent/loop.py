"""The control loop: observe, compare, decide, set; once an interval, in real or virtual time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Receipt
from penstock.ports import Actuator, Clock, Observer
from penstock.snapshot import NodeSnapshot
from penstock.window import Void, Window, windows


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


def ticks(ports: Ports, tuner: Tuner, interval_s: float) -> Iterator[tuple[Step, ...]]:
    """Run for ever, one tuple of steps an interval; the caller stops by not asking for the next.

    A loop that overran its interval skips what it missed: there is never a burst of catching up.
    """
    before = ports.observer.observe()
    due_s = ports.clock.now() + interval_s
    while True:
        ports.clock.sleep_until(due_s)
        after = ports.observer.observe()
        yield _tick(ports, tuner, windows(before, after))
        before = after
        due_s = _next_due(due_s, interval_s, ports.clock.now(), after)


def _next_due(due_s: float, interval_s: float, now_s: float, after: NodeSnapshot) -> float:
    following = due_s + interval_s
    return following if following > now_s else max(now_s, after.t_s) + interval_s


def _tick(ports: Ports, tuner: Tuner, seen: Sequence[Window | Void]) -> tuple[Step, ...]:
    decisions = tuner.step(seen, ports.actuator.space, ports.clock.now())
    receipts = {decision.target: _carry_out(ports.actuator, decision) for decision in decisions}
    made = {decision.target: decision for decision in decisions}
    return tuple(Step(w, made.get(w.target), receipts.get(w.target)) for w in seen)


def _carry_out(actuator: Actuator, decision: Decision) -> Receipt | None:
    if not decision.changes:
        return None
    return actuator.set(decision.target, decision.wanted.only(*(c.knob_id for c in decision.changes)))
