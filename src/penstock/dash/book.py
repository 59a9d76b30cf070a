"""Keeps the decisions from the log's events, for the charts, the counts and the headline of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.agent.effect import effect_gain, headline
from penstock.agent.summary import outcome_of
from penstock.gains import Gain, measured
from penstock.serve.status import effect_sentence

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
_KINDS = {"guard.revert": "revert", "guard.switchback": "look", "guard.return": "look"}
# Event kinds, besides decisions and effects, that the page shows as a line.
_NOTED = (
    "start",
    "stop",
    "restore",
    "yield",
    "take_back",
    "control",
    "job",
    "targets",
    "trial",
    "trial_forgotten",
    "disturbed",
)


class Book:
    """Takes events in order and answers the page's questions about them."""

    def __init__(self) -> None:
        self._decisions: dict[str, Mapping[str, Any]] = {}
        self._effects: dict[str, list[Mapping[str, Any]]] = {}
        self._counts: Counter[str] = Counter()
        self._gains: list[Gain] = []
        self._trial: Mapping[str, Any] | None = None
        self.notes: list[dict[str, Any]] = []

    def take(self, events: Iterable[Mapping[str, Any]]) -> list[str]:
        """Add events. Returns the ids of changes that are new or have new information."""
        touched: dict[str, None] = {}
        for event in events:
            kind = event.get("event")
            if kind == "decision":
                touched[self._decide(event)] = None
            elif kind == "effect":
                touched[self._judge(event)] = None
            elif kind in _NOTED:
                self._trial = {"trial": event, "trial_forgotten": None}.get(str(kind), self._trial)
                self.notes = [*self.notes, note(event)][-MOST_NOTES:]
        return [one for one in touched if one in self._decisions]

    def decision(self, decision_id: str) -> Mapping[str, Any] | None:
        """A decision with all its evidence."""
        return self._decisions.get(decision_id)

    def effects(self, decision_id: str) -> list[Mapping[str, Any]]:
        """The measured effects of a change, in the order they were judged."""
        return self._effects.get(decision_id, [])

    def path(self, decision_id: str) -> list[Mapping[str, int]]:
        """The settings that a target went through up to this decision, without the looks at the original."""
        last = self._decisions[decision_id]
        found: list[Mapping[str, int]] = []
        for decision in self._decisions.values():
            if decision["target"] == last["target"] and (kind_of(decision) != "look" or decision is last):
                found += [decision["before"]] if not found else []
                found.append(decision.get("actual") or decision["wanted"])
            if decision is last:
                break
        return found

    def next_of(self, decision_id: str) -> Mapping[str, Any] | None:
        """The next decision about the same target that was not a look at the original."""
        found = False
        for decision in self._decisions.values():
            same = decision["target"] == self._decisions[decision_id]["target"]
            if found and same and kind_of(decision) != "look":
                return decision
            found = found or decision["id"] == decision_id
        return None

    def changes(self, ids: Iterable[str] | None = None) -> list[dict[str, Any]]:
        """The chart marks of all changes, or of the given ones, oldest first."""
        wanted = self._decisions if ids is None else [one for one in ids if one in self._decisions]
        return [self._mark(self._decisions[one]) for one in wanted]

    def worth(self, effect: Mapping[str, Any] | None) -> dict[str, Any]:
        """The headline: the effect in one sentence, and the counts behind it."""
        found = effect or headline(self._trial, self._gains)
        counts = {name: self._counts[name] for name in ("change", "revert", "look", "advice", "failed")}
        return {"effect": dict(found) if found else None, "sentence": sentence(found), "counts": counts}

    def advice(self) -> list[dict[str, Any]]:
        """For every target the last advice that was not carried out, with its expected gain."""
        last: dict[str, Mapping[str, Any]] = {}
        for decision in self._decisions.values():
            last[str(decision["target"])] = decision
        return [self._mark(decision) for decision in last.values() if outcome_of(decision) == "advised"]

    def _decide(self, event: Mapping[str, Any]) -> str:
        decision_id = str(event.get("id"))
        known = self._decisions.get(decision_id)
        if known is not None:
            self._counts[kind_of(known)] -= 1
        self._counts[kind_of(event)] += 1
        self._decisions[decision_id] = event
        while len(self._decisions) > MOST_CHANGES:
            oldest = next(iter(self._decisions))
            del self._decisions[oldest]
            self._effects.pop(oldest, None)
        return decision_id

    def _judge(self, event: Mapping[str, Any]) -> str:
        decision_id = str(event.get("decision"))
        if float(event.get("before_bytes_per_s") or 0.0) > 0:
            self._gains = [*self._gains, *effect_gain(event)][-MOST_GAINS:]
            if decision_id in self._decisions:
                self._effects.setdefault(decision_id, []).append(event)
        return decision_id

    def _mark(self, decision: Mapping[str, Any]) -> dict[str, Any]:
        effects = self.effects(str(decision["id"]))
        evidence = decision.get("evidence") or {}
        return {
            "id": decision["id"],
            "t_s": decision["time_s"],
            "target": decision["target"],
            "kind": kind_of(decision),
            "changes": list(decision.get("made") or decision.get("changes") or ()),
            "reason": decision.get("reason"),
            "sentence": decision.get("sentence"),
            "gain": effects[-1]["gain"] if effects else None,
            "outcome": _outcome(effects[-1]) if effects else None,
            "expected": 2.0 ** evidence["gain_log2"] if "gain_log2" in evidence else None,
            "spread_log2": evidence.get("deviation_log2"),
            "pending": bool(decision.get("pending")),
            "setting": in_force(decision),
        }


def _outcome(effect: Mapping[str, Any]) -> str:
    """What a change brought, in words for a table: the ratio where it is known, else the interval."""
    return measured(float(effect["gain"]), effect.get("error")).words.removesuffix(" times")


def kind_of(decision: Mapping[str, Any]) -> str:
    """The kind of a decision: `change`, `revert` (undone), `look` (at the original), `advice` or `failed`."""
    outcome = outcome_of(decision)
    if outcome == "made" or decision.get("pending"):
        return _KINDS.get(str(decision.get("reason")), "change")
    return "advice" if outcome == "advised" else "failed"


def in_force(decision: Mapping[str, Any]) -> dict[str, int] | None:
    """The complete setting in force after a decision, or None if it set nothing."""
    if outcome_of(decision) != "made":
        return None
    return {**decision["before"], **(decision.get("actual") or decision["wanted"])}


def sentence(effect: Mapping[str, Any] | None) -> str:
    """The effect as a sentence that claims no more than the figure supports."""
    if effect is None:
        return "Not known yet: nothing was judged."
    if effect["kind"] == "simulated":
        return (
            f"{effect['gain']:.2f} times as fast as the same client left at its defaults "
            f"({effect['tuned_mbps']:.0f} against {effect['default_mbps']:.0f} MB/s)."
        )
    said = effect_sentence(effect).removeprefix("effect: ")
    return said[0].upper() + said[1:] + "."


def note(event: Mapping[str, Any]) -> dict[str, Any]:
    """One line for an event that is not a decision."""
    kind = str(event["event"])
    words = {
        "start": f"the agent started, mode {event.get('mode')}, policy {event.get('policy')}",
        "stop": "the agent stopped",
        "restore": f"{event.get('target')}: originals brought back",
        "yield": f"{event.get('target')}: knobs left to their administrator, who set them",
        "take_back": f"{event.get('target')}: knobs taken back from their administrator",
        "control": f"somebody asked for {event.get('verb')} {_values(event.get('arguments'))}".rstrip(),
        "job": f"job {event.get('job')}: {event.get('what')}",
        "targets": f"{event.get('fs')}: {len(event.get('targets') or ())} targets {event.get('what')}",
        "trial_forgotten": "the verdict of the last trial was dropped",
        "trial": f"a switchback trial of {event.get('pairs')} pairs ended",
        "disturbed": str(event.get("sentence")),
    }
    error = event.get("error")
    return {"t_s": event.get("time_s"), "kind": kind, "text": words[kind] + (f": {error}" if error else "")}


def _values(arguments: Any) -> str:
    return " ".join(map(str, arguments.values())) if isinstance(arguments, Mapping) else ""
