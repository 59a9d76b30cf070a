"""What the agent has done since it started: the last change of each target, and counters."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from penstock.agent.loop import Step
from penstock.decide.guard import Effect
from penstock.decision import Decision, Receipt, made
from penstock.decision_reasons import Reason, guard_rule
from penstock.events import TrialEvent
from penstock.gains import Gain, measured
from penstock.serve.status import LastChange
from penstock.snapshot import Target
from penstock.window import Void

MOST_GAINS = 1000


@dataclass(slots=True)
class AgentLedger:
    """Written by the loop only. Entries are replaced, never changed, so other threads always read complete values."""

    last: dict[str, LastChange] = field(default_factory=dict)
    knob_changes: dict[tuple[str, str, str], int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    advices: dict[str, int] = field(default_factory=dict)
    refusals: dict[str, int] = field(default_factory=dict)
    voids: dict[str, int] = field(default_factory=dict)
    guarded: dict[str, str] = field(default_factory=dict)
    #: What the last changes that were judged brought.
    gains: deque[Gain] = field(default_factory=lambda: deque(maxlen=MOST_GAINS))
    #: The last switchback trial, in the form of the log.
    trial: TrialEvent | None = None
    failures: int = 0
    restores: int = 0
    policy_errors: int = 0

    def take(self, steps: Sequence[Step]) -> None:
        """Count the events of one tick besides changes, and forget targets that are gone."""
        guarded = {}
        for step in steps:
            window, decision = step.window, step.decision
            if isinstance(window, Void):
                _count(self.voids, window.reason.name.lower())
            elif decision is not None and not decision.changes and (rule := guard_rule(decision.reason)):
                guarded[window.target.name] = rule
                _count(self.refusals, rule)
        self.guarded = guarded
        if steps and len(self.last) > len(steps):
            self._forget_all_but({step.window.target.name for step in steps})

    def _forget_all_but(self, present: set[str]) -> None:
        self.last = {name: change for name, change in self.last.items() if name in present}
        self.knob_changes = {key: n for key, n in self.knob_changes.items() if key[1] in present}

    def changed(self, decision: Decision, receipt: Receipt | None, wall_s: float) -> None:
        """Record one change, or one piece of advice if there is no receipt. A refused change is only counted."""
        moved = decision.changes if receipt is None else made(decision, receipt)
        if moved:
            self.last[decision.target.name] = LastChange(
                decision.id,
                wall_s,
                tuple(str(change) for change in moved),
                decision.reason,
                decision.sentence,
                receipt is not None,
            )
        if receipt is None:
            _count(self.advices, decision.reason)
            return
        self.failures += receipt.error is not None
        if moved:
            _count(self.changes, decision.reason)
        for change in moved:
            key = (decision.target.fs, decision.target.name, change.knob_id)
            self.knob_changes[key] = self.knob_changes.get(key, 0) + 1

    def judged(self, effect: Effect) -> None:
        """Record the measured effect of a change."""
        if effect.before_bytes_per_s <= 0:
            return
        gain = measured(effect.gain, effect.error)
        self.gains.append(gain)
        last = self.last.get(effect.target.name)
        if last is not None and last.id == effect.decision_id:
            self.last[effect.target.name] = replace(last, gain=gain)

    def state(self, target: Target, now_s: float, trial_s: float) -> str:
        """The guard's state for a target: the rule that holds it back, `trial`, or an empty string."""
        rule = self.guarded.get(target.name)
        if rule is not None:
            return rule
        last = self.last.get(target.name)
        if last is None or not last.made or last.gain is not None or now_s - last.time_s >= trial_s:
            return ""
        # Who goes back to what is known tries nothing.
        goes_back = last.reason == Reason.BEST_MEASURED or guard_rule(last.reason) is not None
        return "" if goes_back else "trial"


def _count(counts: dict[str, int], reason: str) -> None:
    counts[reason] = counts.get(reason, 0) + 1
