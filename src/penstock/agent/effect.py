"""The headline about the effect of tuning: from a trial if that decided anything, otherwise before against after."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.gains import Gain, GainVerdict, mean_gain, measured


def headline(trial: Mapping[str, Any] | None, gains: Iterable[Gain]) -> dict[str, Any] | None:
    """The result of the last switchback trial, or the mean over judged changes, or None; each with its verdict.

    A gain before against after may be due to the workload. That of a switchback trial is not. But a trial that is
    undecided replaces nothing: it is said beside what the changes showed.
    """
    known, tried = list(gains), trial_gain(trial)
    if trial is not None and tried is not None:
        said = {
            "kind": "switchback",
            **_figures(tried),
            "pairs": trial.get("pairs"),
            "time_s": trial.get("time_s"),
        }
        if tried.verdict is not GainVerdict.UNDECIDED or not known:
            return said
    mean = mean_gain(known)
    if mean is None:
        return None
    found = {"kind": "before/after", **_figures(mean), "changes": len(known)}
    return {**found, "trial": said} if tried is not None else found


def trial_gain(trial: Mapping[str, Any] | None) -> Gain | None:
    """What a trial measured, whatever verdict the version that made it gave; None if it measured nothing."""
    if trial is None or trial.get("gain") is None:
        return None
    low, high = (None if trial.get(key) is None else float(trial[key]) for key in ("low", "high"))
    return Gain(float(trial["gain"]), low, high)


def effect_gain(event: Mapping[str, Any]) -> list[Gain]:
    """What an effect event says a change brought; nothing if nothing was moved before it."""
    before, after = float(event["before_bytes_per_s"]), float(event["after_bytes_per_s"])
    if before <= 0:
        return []
    error = event.get("error")
    return [measured(float(event.get("gain", after / before)), None if error is None else float(error))]


def _figures(gain: Gain) -> dict[str, Any]:
    return {"gain": gain.ratio, "low": gain.low, "high": gain.high, "verdict": gain.verdict.value}
