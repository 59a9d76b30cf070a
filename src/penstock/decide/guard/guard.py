"""One interval's review: judge what was tried, ask the rules, keep the node's cache within its budget."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from penstock.decide.guard.record import Ban, GuardLimits, Record, Seen, Trial, useful_bytes_per_s
from penstock.decide.guard.rules import RULES, Refusal
from penstock.decide.tuner import SpaceOf
from penstock.decision import Decision
from penstock.snapshot import Target
from penstock.window import Void, Window


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the guard must know of the node: the limit for all dirty data, and how much memory is left."""

    dirty_budget_mib: float = float("inf")
    memory_available_ratio: float | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change turned out to do, measured against the target's own past and untouched targets."""

    decision_id: str
    target: Target
    t_s: float
    before_bytes_per_s: float
    after_bytes_per_s: float
    control_ratio: float

    @property
    def gain(self) -> float:
        """After over before, less what happened to everybody."""
        return self.after_bytes_per_s / self.before_bytes_per_s / self.control_ratio


class Guard:
    """Reviews the decisions of one interval. Pure: windows, decisions and times in, decisions out.

    A refused change comes back as a decision to keep, its reason `guard.RULE`. A change after which a target
    does clearly worse than before, while untouched ones do not, is taken back and its setting blacklisted.
    """

    def __init__(self, limits: GuardLimits | None = None, seed: int = 0) -> None:
        self.limits = limits or GuardLimits()
        self._seed = seed
        self._records: dict[Target, Record] = {}
        self._effects: list[Effect] = []

    def effects(self) -> tuple[Effect, ...]:
        """What changes turned out to do since this was last asked."""
        found, self._effects = tuple(self._effects), []
        return found

    def review(
        self,
        seen: Sequence[Window | Void],
        decisions: Sequence[Decision],
        space_of: SpaceOf,
        node: NodeView,
    ) -> tuple[Decision, ...]:
        """The decisions that may be carried out, one for each that was given, in the same order."""
        for window in seen:
            self._take(window)
        # How untouched targets do is only asked for where a change still has to prove itself.
        tried = any(self._record(decision.target).trial is not None for decision in decisions)
        control = self._control_ratio() if tried else 1.0
        held_mib = {w.target: w.setting["dirty"] for w in seen if isinstance(w, Window)}
        reviewed = []
        for decision in decisions:
            verdict = self._judge(decision, control) or self._ask(decision)
            verdict = self._within_budget(verdict, held_mib, space_of, node)
            self._note(verdict)
            reviewed.append(verdict)
        return tuple(reviewed)

    def forget(self, target: Target) -> None:
        """Drop everything remembered of a target that is gone."""
        self._records.pop(target, None)

    def _take(self, window: Window | Void) -> None:
        if window.target not in self._records and isinstance(window, Window) and window.bytes_per_s <= 0:
            return
        record, now_s = self._record(window.target), window.t1_s
        if isinstance(window, Void):
            record.start_anew(now_s + self.limits.dwell_s)
            return
        rate = useful_bytes_per_s(window)
        if rate <= 0 and window.bytes_per_s <= 0:
            return
        if now_s - record.last_busy_s > self.limits.pause_s:
            record.start_anew(now_s + self._jitter_s(window.target, record))
        record.last_busy_s = now_s
        seen = Seen(window, rate)
        record.recent.append(seen)
        if record.trial is not None:
            record.trial.take(seen)

    def _judge(self, decision: Decision, control: float) -> Decision | None:
        """Take back a change that did harm; None when there is none to judge, or it did well enough."""
        record = self._record(decision.target)
        trial = record.trial
        if trial is None or not (due := self._windows_due(trial, control)):
            return None
        record.trial = None
        if decision.before != trial.went_to:
            return None
        rate, baseline = statistics.fmean(trial.rates[-due:]), trial.baseline_bytes_per_s
        self._effects.append(
            Effect(trial.decision_id, decision.target, decision.t_s, baseline, rate, control)
        )
        if rate >= self.limits.worse_ratio * baseline * min(control, 1.0):
            return None
        ban = record.banned.get(trial.went_to, Ban(decision.t_s, 0))
        record.banned[trial.went_to] = ban.again(decision.t_s, self.limits.blacklist_s)
        record.reverted_s.append(decision.t_s)
        return replace(
            decision,
            wanted=decision.before.replace(trial.came_from),
            reason="guard.revert",
            sentence=f"{baseline / 1e6:.0f} MB/s fell to {rate / 1e6:.0f} after the change "
            f"to {trial.went_to}, untouched targets kept {control:.0%}: taken back",
            evidence={
                "before_bytes_per_s": baseline,
                "after_bytes_per_s": rate,
                "control_ratio": control,
            },
        )

    def _windows_due(self, trial: Trial, control: float) -> int:
        """How many windows to judge by now: all in the end, a few when throughput collapsed, else none."""
        limits = self.limits
        if len(trial.rates) >= limits.judge_windows:
            return limits.judge_windows
        few = trial.rates[-limits.crash_windows :]
        floor = limits.crash_ratio * trial.baseline_bytes_per_s * min(control, 1.0)
        collapsed = len(few) == limits.crash_windows and statistics.fmean(few) < floor
        return limits.crash_windows if collapsed else 0

    def _ask(self, decision: Decision) -> Decision:
        if not decision.changes:
            return decision
        record = self._record(decision.target)
        for rule in RULES:
            refusal = rule(decision, record, self.limits, decision.t_s)
            if refusal is not None:
                return _kept(decision, refusal)
        return decision

    def _within_budget(
        self, decision: Decision, held_mib: dict[Target, int], space_of: SpaceOf, node: NodeView
    ) -> Decision:
        """Refuse what lifts the node's dirty limits over its budget, the system's own coupling included."""
        if not decision.changes:
            return decision
        wanted = {change.knob_id: change.new for change in decision.changes}
        limit_mib = space_of(decision.target).settle(decision.before, wanted)["dirty"]
        if limit_mib > decision.before["dirty"]:
            refusal = self._why_no_more_cache(decision.target, limit_mib, held_mib, node)
            if refusal is not None:
                return _kept(decision, refusal)
        held_mib[decision.target] = limit_mib
        return decision

    def _why_no_more_cache(
        self, target: Target, limit_mib: int, held_mib: dict[Target, int], node: NodeView
    ) -> Refusal | None:
        left = node.memory_available_ratio
        if left is not None and left < self.limits.memory_floor_ratio:
            sentence = f"only {left:.0%} of memory is left: dirty limits do not rise"
            return Refusal("memory", sentence, {"memory_available_ratio": left})
        total_mib = sum(held_mib.values()) - held_mib.get(target, 0) + limit_mib
        if total_mib > node.dirty_budget_mib:
            sentence = f"all dirty limits would be {total_mib} MiB, above {node.dirty_budget_mib:.0f}"
            return Refusal("cache", sentence, {"total_mib": total_mib})
        return None

    def _note(self, decision: Decision) -> None:
        if not decision.changes:
            return
        record = self._record(decision.target)
        record.changed_s.append(decision.t_s)
        record.path.append(decision.wanted)
        record.left_s[decision.before] = decision.t_s
        if decision.reason == "guard.revert":
            return
        self._put_on_trial(record, decision)

    def _put_on_trial(self, record: Record, decision: Decision) -> None:
        if not record.recent:
            return
        work, echo, trial = record.recent[-1].work, record.recent[-1].echo, record.trial
        if trial is not None and trial.went_to == decision.before and trial.work.like(work):
            trial.joined(decision.wanted, echo)
            return
        rates = [s.rate for s in record.recent if s.setting == decision.before and s.work.like(work)]
        if rates and max(rates) > 0:
            before = statistics.fmean(rates)
            record.trial = Trial(decision.id, decision.before, decision.wanted, before, work, skip=1 + echo)

    def _control_ratio(self) -> float:
        """How untouched busy targets do now against a little while ago; 1 where there are none."""
        ratios = []
        for record in self._records.values():
            rates = [seen.rate for seen in record.recent]
            untouched = record.trial is None and len({seen.setting for seen in record.recent}) == 1
            if untouched and len(rates) >= 4 and min(rates) > 0:
                half = len(rates) // 2
                ratios.append(statistics.median(rates[half:]) / statistics.median(rates[:half]))
        return statistics.median(ratios) if ratios else 1.0

    def _record(self, target: Target) -> Record:
        record = self._records.get(target)
        if record is None:
            record = self._records[target] = Record()
        return record

    def _jitter_s(self, target: Target, record: Record) -> float:
        """A wait of the target's own; a generator each would be most of what is kept of a thousand targets."""
        record.pauses += 1
        rng = Random(f"{self._seed}/{target.name}/guard/{record.pauses}")
        return rng.uniform(0.0, self.limits.jitter_s)


def _kept(decision: Decision, refusal: Refusal) -> Decision:
    wish = ", ".join(str(change) for change in decision.changes)
    return replace(
        decision,
        wanted=decision.before,
        reason=f"guard.{refusal.rule}",
        sentence=f"{refusal.sentence} (wished: {wish})",
        evidence={**decision.evidence, **refusal.evidence},
    )
