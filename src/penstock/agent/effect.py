"""The headline about the effect of tuning: from a trial if that decided anything, otherwise before against after."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.events import EffectEvent, TrialEvent
from penstock.gains import Gain, GainVerdict, mean_gain, measured

# No setting brings a billion times as much. Whoever wrote that into a log is not believed.
BELIEVABLE = 1e9


def headline(trial: TrialEvent | None, gains: Iterable[Gain]) -> dict[str, Any] | None:
    """The result of the last switchback trial, or the mean over judged changes, or None; each with its verdict.

    A gain before against after may be due to the workload. That of a switchback trial is not. But a trial that is
    undecided replaces nothing: it is said beside what the changes showed.
    """
    known, tried = list(gains), trial_gain(trial)
    if trial is not None and tried is not None:
        said = {"kind": "switchback", **_figures(tried), "pairs": trial.pairs, "time_s": trial.time_s}
        if tried.verdict is not GainVerdict.UNDECIDED or not known:
            return said
    mean = mean_gain(known)
    if mean is None:
        return None
    found = {"kind": "before/after", **_figures(mean), "changes": len(known)}
    return {**found, "trial": said} if tried is not None else found


def trial_gain(trial: TrialEvent | None) -> Gain | None:
    """What a trial measured, whatever verdict the version that made it gave; None if it measured nothing."""
    if trial is None or trial.gain is None or not 1 / BELIEVABLE < trial.gain < BELIEVABLE:
        return None
    return Gain(trial.gain, trial.low, trial.high)


def effect_gain(event: EffectEvent) -> Gain | None:
    """What an effect event says a change brought; None if nothing was moved before it."""
    before = event.before_bytes_per_s
    if before <= 0:
        return None
    ratio = event.after_bytes_per_s / before if event.gain is None else event.gain
    return measured(ratio, event.error) if 1 / BELIEVABLE < ratio < BELIEVABLE else None


def _figures(gain: Gain) -> dict[str, Any]:
    return {"gain": gain.ratio, "low": gain.low, "high": gain.high, "verdict": gain.verdict.value}
