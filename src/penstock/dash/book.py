"""Keeps the decisions from the log's events, for the charts, the counts and the headline of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.agent.effect import effect_gain, headline
from penstock.decision_reasons import Reason
from penstock.events import (
    ControlEvent,
    DecisionEvent,
    DisturbedEvent,
    EffectEvent,
    JobEvent,
    LogEvent,
    RestoreEvent,
    StartEvent,
    StopEvent,
    TakeBackEvent,
    TargetsEvent,
    TrialEvent,
    TrialForgottenEvent,
    YieldEvent,
)
from penstock.gains import Gain, from_log2
from penstock.serve.status import effect_sentence
from penstock.units import counted

# Only this many changes are kept; the log has the older ones.
MOST_CHANGES = 500
MOST_GAINS = 1000
MOST_NOTES = 50
KINDS = {
    "change": "changed",
    "revert": "taken back",
    "look": "looked at the original",
    "advice": "advised",
    "failed": "refused",
}


class Book:
    """Takes events in order and answers the page's questions about them."""

    def __init__(self) -> None:
        self._decisions: dict[str, DecisionEvent] = {}
        self._effects: dict[str, list[EffectEvent]] = {}
        self._counts: Counter[str] = Counter()
        self._gains: list[Gain] = []
        self._trial: TrialEvent | None = None
        self.notes: list[dict[str, Any]] = []

    def take(self, events: Iterable[LogEvent]) -> list[str]:
        """Add events. Returns the ids of changes that are new or have new information."""
        touched: dict[str, None] = {}
        for event in events:
            if isinstance(event, DecisionEvent):
                touched[self._decide(event)] = None
            elif isinstance(event, EffectEvent):
                touched[self._judge(event)] = None
            elif (said := note(event)) is not None:
                self.notes = [*self.notes, said][-MOST_NOTES:]
            if isinstance(event, TrialEvent | TrialForgottenEvent):
                self._trial = event if isinstance(event, TrialEvent) else None
        return [one for one in touched if one in self._decisions]

    def decision(self, decision_id: str) -> DecisionEvent | None:
        """A decision with all its evidence."""
        return self._decisions.get(decision_id)

    def effects(self, decision_id: str) -> list[EffectEvent]:
        """The measured effects of a change, in the order they were judged."""
        return self._effects.get(decision_id, [])

    def path(self, decision_id: str) -> list[Mapping[str, int]]:
        """The settings that a target went through up to this decision, without the looks at the original."""
        last = self._decisions[decision_id]
        found: list[Mapping[str, int]] = []
        for decision in self._decisions.values():
            if decision.target == last.target and (kind_of(decision) != "look" or decision is last):
                found += [decision.before] if not found else []
                found.append(decision.actual or decision.wanted)
            if decision is last:
                break
        return found

    def next_of(self, decision_id: str) -> DecisionEvent | None:
        """The next decision about the same target that was not a look at the original."""
        found = False
        for decision in self._decisions.values():
            same = decision.target == self._decisions[decision_id].target
            if found and same and kind_of(decision) != "look":
                return decision
            found = found or decision.id == decision_id
        return None

    def changes(self, ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The chart marks of all changes, or of the given ones, oldest first."""
        wanted = self._decisions if ids is None else [one for one in ids if one in self._decisions]
        return [self._mark(self._decisions[one]) for one in wanted]

    def worth(
        self, effect: Mapping[str, Any] | None = None, said: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The headline: the effect in one sentence, and the counts behind it.

        Without an `effect` it is the log's own, so that it counts what the list below it shows. Where the log tells
        none, it is what the agent `said` of itself since it started.
        """
        found = effect or headline(self._trial, self._gains) or said
        counts = {name: self._counts[name] for name in ("change", "revert", "look", "advice", "failed")}
        return {"effect": dict(found) if found else None, "sentence": sentence(found), "counts": counts}

    def advice(self) -> list[dict[str, Any]]:
        """For every target the last advice that was not carried out, with its expected gain."""
        last = {decision.target: decision for decision in self._decisions.values()}
        return [self._mark(decision) for decision in last.values() if decision.outcome == "advised"]

    def _decide(self, event: DecisionEvent) -> str:
        known = self._decisions.get(event.id)
        if known is not None:
            self._counts[kind_of(known)] -= 1
        self._counts[kind_of(event)] += 1
        self._decisions[event.id] = event
        while len(self._decisions) > MOST_CHANGES:
            oldest = next(iter(self._decisions))
            del self._decisions[oldest]
            self._effects.pop(oldest, None)
        return event.id

    def _judge(self, event: EffectEvent) -> str:
        if (gain := effect_gain(event)) is not None:
            self._gains = [*self._gains, gain][-MOST_GAINS:]
            if event.decision in self._decisions:
                self._effects.setdefault(event.decision, []).append(event)
        return event.decision

    def _mark(self, decision: DecisionEvent) -> dict[str, Any]:
        gains = [gain for one in self.effects(decision.id) if (gain := effect_gain(one)) is not None]
        evidence = decision.evidence
        return {
            "id": decision.id,
            "t_s": decision.time_s,
            "target": decision.target,
            "kind": kind_of(decision),
            "changes": list(decision.shown_changes),
            "reason": decision.reason,
            "sentence": decision.sentence,
            "gain": gains[-1].ratio if gains else None,
            # The ratio where it is known, else the interval.
            "outcome": gains[-1].words.removesuffix(" times") if gains else None,
            "expected": from_log2(evidence["gain_log2"]) if "gain_log2" in evidence else None,
            "spread_log2": evidence.get("deviation_log2"),
            "pending": decision.pending,
            "setting": in_force(decision),
        }


def kind_of(decision: DecisionEvent) -> str:
    """The kind of a decision: `change`, `revert` (undone), `look` (at the original), `advice` or `failed`."""
    if decision.outcome == "made" or decision.pending:
        if decision.reason == Reason.GUARD_REVERT:
            return "revert"
        return "look" if decision.is_look else "change"
    return "advice" if decision.outcome == "advised" else "failed"


def in_force(decision: DecisionEvent) -> dict[str, int] | None:
    """The complete setting in force after a decision, or None if it set nothing."""
    if decision.outcome != "made":
        return None
    return {**decision.before, **(decision.actual or decision.wanted)}


def sentence(effect: Mapping[str, Any] | None) -> str:
    """The effect as a sentence that claims no more than the figure supports."""
    if effect is None:
        return "Not known yet: nothing was judged."
    if effect["kind"] == "simulated":
        return (
            f"{effect['gain']:.2f} times as fast as the same client left at its defaults "
            f"(its application got {effect['tuned_mbps']:.0f} against {effect['default_mbps']:.0f} MB/s)."
        )
    said = effect_sentence(effect).removeprefix("effect: ")
    return said[0].upper() + said[1:] + "."


def _said(event: ControlEvent) -> list[str]:
    """The arguments that were given: of a switch its name."""
    known = event.arguments.items()
    return [key.replace("_", "-") if value == "True" else value for key, value in known if value != "None"]


def note(event: LogEvent) -> dict[str, Any] | None:
    """One line for an event that is not a decision; None for what the page does not show."""
    text = _note_text(event)
    return None if text is None else {"t_s": event.time_s, "kind": event.kind, "text": text}


def _note_text(event: LogEvent) -> str | None:  # noqa: PLR0911 - one line a kind of event
    match event:
        case StartEvent():
            return f"the agent started, mode {event.mode}, policy {event.policy}"
        case StopEvent():
            return "the agent stopped"
        case RestoreEvent():
            return f"{event.target}: originals brought back{f': {event.error}' if event.error else ''}"
        case YieldEvent():
            return f"{event.target}: knobs left to their administrator, who set them"
        case TakeBackEvent():
            return f"{event.target}: knobs taken back from their administrator"
        case ControlEvent():
            return f"somebody asked for {event.verb}{''.join(f' {word}' for word in _said(event))}"
        case JobEvent():
            return f"job {event.job}: {event.what}"
        case TargetsEvent():
            return f"{event.fs}: {counted(len(event.targets), 'target')} {event.what}"
        case TrialEvent():
            return f"a switchback trial of {counted(event.pairs, 'pair')} ended"
        case TrialForgottenEvent():
            return "the verdict of the last trial was dropped"
        case DisturbedEvent():
            return event.sentence
        case _:
            return None
