"""The explanation of one change: measurements, expected gains, what the guard said, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.dash.book import Book, kind_of
from penstock.gains import measured

Document = Mapping[str, Any]
_RULES = {
    "guard.revert": "The guard took the setting back: it had lost what a visit may lose.",
    "guard.switchback": "The guard went back to the original for a moment, to measure it again.",
    "guard.return": "The guard had measured the original and brought the setting back.",
    "guard.unpaid": "The guard had measured the original and stayed there: the other setting brought no more.",
}


def explain(book: Book, decision_id: str) -> dict[str, Any] | None:
    """Everything the page shows about a change, or None if the change is unknown."""
    decision = book.decision(decision_id)
    if decision is None:
        return None
    effects = book.effects(decision_id)
    return {
        **_what(decision),
        "measured": [_window(window) for window in decision.get("history") or ()],
        "evidence": dict(decision.get("evidence") or {}),
        "map": _map(decision),
        "path": [dict(setting) for setting in book.path(decision_id)],
        "guard": _guard(decision),
        "outcome": _outcome(decision, effects, book.next_of(decision_id)),
        "effects": [_effect(effect) for effect in effects],
    }


def _what(decision: Document) -> dict[str, Any]:
    kept = (
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
    )
    return {
        **{key: decision.get(key) for key in kept},
        "t_s": decision["time_s"],
        "kind": kind_of(decision),
        "changes": list(decision.get("made") or decision.get("changes") or ()),
        "mode": decision.get("mode"),
        "jobs": list(decision.get("jobs") or ()),
    }


def _window(window: Document) -> dict[str, Any]:
    """One measured interval in the units that people use."""
    seconds, metrics = float(window["t1"]) - float(window["t0"]), window["metrics"]
    rates = {way: (metrics.get(f"{way}.bytes") or 0.0) / seconds / 1e6 for way in ("read", "write")}
    return {"seconds": seconds, "setting": dict(window["setting"]), "mbps": rates, "metrics": dict(metrics)}


def _map(decision: Document) -> dict[str, Any] | None:
    """The candidates as the policy saw them: expected gain and its deviation if it has them, otherwise the
    probability.
    """
    found = (decision.get("outlook") or {}).get("map")
    if not found:
        return None
    return {**found, "unit": "gain" if found.get("gain_log2") else "chance"}


def _guard(decision: Document) -> str:
    reason = str(decision.get("reason"))
    if reason in _RULES:
        return _RULES[reason]
    if reason.startswith("guard."):
        return f"The guard refused: {decision.get('sentence')}."
    if decision.get("guarded") is False:
        return "No guard: this policy runs as it was published."
    if kind_of(decision) == "advice":
        return "The guard would let it through; nothing was set, because the agent only advises."
    return "The guard let it through."


def _effect(effect: Document) -> dict[str, Any]:
    kept = ("gain", "error", "switchback", "before_bytes_per_s", "after_bytes_per_s", "time_s")
    return {key: effect.get(key) for key in kept}


def _outcome(decision: Document, effects: Sequence[Document], then: Document | None) -> str:
    """The outcome in one or two sentences."""
    if decision.get("error"):
        return f"Not all done: {decision['error']}."
    kind = kind_of(decision)
    if kind == "advice":
        return "Advised, not done."
    if kind == "look":
        return "A look at the original, to know what the other setting is worth."
    said = []
    if effects:
        last = effects[-1]
        how = "measured in turns with the original" if last.get("switchback") else "before and after"
        gain = measured(float(last["gain"]), last.get("error"))
        said.append(f"{gain.verdict.capitalize()}: {gain.words} what the original brings ({how}).")
    if then is not None:
        verb = (
            "Taken back by the guard" if then.get("reason") == "guard.revert" else "Left for another setting"
        )
        said.append(f"{verb} {float(then['time_s']) - float(decision['time_s']):.1f} s later.")
    return " ".join(said) or "In force; not judged yet."
