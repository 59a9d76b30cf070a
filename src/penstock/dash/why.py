"""The explanation of one change: measurements, expected gains, what the guard said, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.agent.effect import effect_gain
from penstock.dash.book import Book, kind_of
from penstock.decision_reasons import Reason, guard_rule
from penstock.events import DecisionEvent, EffectEvent, LoggedWindow, dump

_RULES: Mapping[str, str] = {
    Reason.GUARD_REVERT: "The guard took the setting back: it had lost what a visit may lose.",
    Reason.GUARD_SWITCHBACK: "The guard went back to the original for a moment, to measure it again.",
    Reason.GUARD_RETURN: "The guard had measured the original and brought the setting back.",
    Reason.GUARD_UNPAID: "The guard had measured the original and left the other setting: it brought no more.",
}
_KEPT = (
    "id",
    "target",
    "before",
    "wanted",
    "actual",
    "reason",
    "sentence",
    "confidence",
    "model",
    "error",
    "mode",
)


def explain(book: Book, decision_id: str) -> dict[str, Any] | None:
    """Everything the page shows about a change, or None if the change is unknown."""
    decision = book.decision(decision_id)
    if decision is None:
        return None
    effects, said = book.effects(decision_id), dump(decision)
    return {
        **{key: said[key] for key in _KEPT},
        "t_s": decision.time_s,
        "kind": kind_of(decision),
        "changes": list(decision.shown_changes),
        "jobs": list(decision.jobs),
        "measured": [_window(window) for window in decision.history],
        "evidence": said["evidence"],
        "map": _map(decision),
        "path": [dict(setting) for setting in book.path(decision_id)],
        "guard": _guard(decision),
        "outcome": _outcome(decision, effects, book.next_of(decision_id)),
        "effects": [dump(effect) for effect in effects],
    }


def _window(window: LoggedWindow) -> dict[str, Any]:
    """One measured interval in the units that people use."""
    rates, unit = window.rates
    about = {"setting": dict(window.setting), "metrics": dict(window.metrics)}
    return {"seconds": window.t1 - window.t0, "rates": rates, "unit": unit, **about}


def _map(decision: DecisionEvent) -> dict[str, Any] | None:
    """The candidates as the policy saw them: expected gain and its deviation if it has them, otherwise the
    probability.
    """
    found = decision.outlook.map if decision.outlook is not None else None
    if found is None:
        return None
    said = dump(decision)["outlook"]["map"]
    return {**said, "unit": "gain" if found.gain_log2 else "chance"}


def _guard(decision: DecisionEvent) -> str:
    if decision.reason in _RULES:
        return _RULES[decision.reason]
    if guard_rule(decision.reason) is not None:
        return f"The guard refused: {decision.sentence}."
    if not decision.guarded:
        return "No guard: this policy runs as it was published."
    if kind_of(decision) == "advice":
        return "The guard would let it through; nothing was set, because the agent only advises."
    return "The guard let it through."


def _outcome(decision: DecisionEvent, effects: Sequence[EffectEvent], then: DecisionEvent | None) -> str:
    """The outcome in one or two sentences."""
    if decision.error:
        return f"Not all done: {decision.error}."
    kind = kind_of(decision)
    if kind == "advice":
        return "Advised, not done."
    if kind == "look":
        return "A look at the original, to know what the other setting is worth."
    said = []
    gain = effect_gain(effects[-1]) if effects else None
    if gain is not None:
        how = "measured in turns with the original" if effects[-1].switchback else "before and after"
        said.append(f"{gain.verdict.capitalize()}: {gain.words} what the original brings ({how}).")
    if then is not None:
        verb = "Taken back by the guard" if then.was_taken_back else "Left for another setting"
        said.append(f"{verb} {then.time_s - decision.time_s:.1f} s later.")
    return " ".join(said) or "In force; not judged yet."
