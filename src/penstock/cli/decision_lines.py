"""A decision of the log in lines for people: what changed, why, and every number it was based on."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.events import DecisionEvent, EffectEvent, LoggedMap
from penstock.gains import from_log2, measured
from penstock.knobs.target_kind import DATA_PATH
from penstock.target_kinds import MDC


def explanation(decision: DecisionEvent, effect: EffectEvent | None) -> list[str]:
    """One decision in lines for people."""
    lines = [
        f"{decision.id}  {decision.target}  ({decision.mode})",
        f"what:     {_what(decision)}",
        f"why:      {decision.sentence} [{decision.reason}]",
    ]
    if decision.confidence is not None:
        lines.append(f"sure:     {decision.confidence:.2f}, model {decision.model}")
    if decision.error:
        lines.append(f"problem:  {decision.error}")
    lines += [f"evidence: {in_units(name, value)}" for name, value in decision.evidence.items()]
    lines += _decided_for(decision)
    for window in decision.history:
        setting = " ".join(f"{knob_id}={value}" for knob_id, value in window.setting.items())
        lines.append(f"window:   {window.t1 - window.t0:.2f} s at {setting}")
        known = {name: value for name, value in window.metrics.items() if value}
        lines += [f"          {name} = {value:g}" for name, value in known.items()]
    lines += _candidates(decision)
    if effect:
        scale, unit = _scale(decision)
        before, after = effect.before_bytes_per_s / scale, effect.after_bytes_per_s / scale
        lines.append(f"effect:   {before:.1f} -> {after:.1f} {unit}, {_against(effect)}")
        if memory := effect.memory_bytes_per_s:
            waits = effect.unsent_bytes / 1e6
            lines.append(
                f"          {memory / 1e6:.1f} MB/s of it were written over in memory; {waits:.0f} MB wait unsent"
            )
    return lines


def _decided_for(decision: DecisionEvent) -> list[str]:
    """Whose windows follow; logs of earlier versions do not tell."""
    unit, work = decision.unit, decision.work
    if not unit:
        return []
    grouped = not unit.endswith(decision.target)
    whose = f"the group {unit}, windows are its targets' mean" if grouped else "this target alone"
    return [f"for:      {whose}{f' ({work})' if work and not grouped else ''}"]


def in_units(name: str, value: float) -> str:
    """A figure in MB/s or as a ratio; logarithms are for machines.

    >>> in_units("gain_log2", 1.0), in_units("best_log2", 27.0), in_units("before_bytes_per_s", 5e6)
    ('gain = 2.00 times', 'best = 134.2 MB/s', 'before = 5.0 MB/s')
    """
    if name.endswith("bytes_per_s"):
        return f"{name.removesuffix('bytes_per_s').rstrip('_') or 'rate'} = {value / 1e6:.1f} MB/s"
    if not name.endswith("_log2"):
        return f"{name} = {value:g}"
    short = name.removesuffix("_log2")
    # No gain is a thousandfold, so a larger value is a rate and not a logarithm of a gain.
    return (
        f"{short} = {from_log2(value) / 1e6:.1f} MB/s"
        if value > 10
        else f"{short} = {from_log2(value):.2f} times"
    )


def _candidates(decision: DecisionEvent) -> list[str]:
    """The model's expectation for the best candidates, as ratios and, from the last window's rate, in its unit."""
    if decision.outlook is None:
        return []
    found = decision.outlook.candidates
    by_gain = sorted(found, key=lambda one: -one.get("gain_log2", one["p"]))[:5]
    base = _base(decision)
    return [f"model:    {_candidate(one, *base)}" for one in by_gain]


def _base(decision: DecisionEvent) -> tuple[float, str]:
    """The rate that a gain of 1 stands for, with its unit: the last window's rate without the expected gain of the
    setting in force.
    """
    if not decision.history:
        return 0.0, "MB/s"
    window = decision.history[-1]
    scale, unit = _scale(decision)
    moved = sum(window.metrics.get(way.moved) or 0.0 for way in (*DATA_PATH.ways, *MDC.ways)) / scale
    gain = _mapped_gain(None if decision.outlook is None else decision.outlook.map, window.setting)
    return float(moved / (window.t1 - window.t0) / from_log2(gain)), unit


def _scale(decision: DecisionEvent) -> tuple[float, str]:
    """By what rates of this target are divided, and the unit they are then in."""
    counted = (window.metrics for window in decision.history)
    operations = any(way.moved in metrics for metrics in counted for way in MDC.ways)
    return (1.0, "operations/s") if operations else (1e6, "MB/s")


def _mapped_gain(surface: LoggedMap | None, setting: Mapping[str, int]) -> float:
    """The gain of a setting in the map of all candidates, or 0 if it is not in the map."""
    if surface is None or not surface.gain_log2:
        return 0.0
    rows = zip(*surface.knobs.values(), strict=True)
    wanted = tuple(setting.get(knob_id) for knob_id in surface.knobs)
    return next((gain for row, gain in zip(rows, surface.gain_log2, strict=True) if row == wanted), 0.0)


def _candidate(one: Mapping[str, float], now: float, unit: str) -> str:
    figures = ("p", "gain_log2", "spread_log2")
    setting = " ".join(f"{knob_id}={value:g}" for knob_id, value in one.items() if knob_id not in figures)
    if "gain_log2" not in one:
        return f"{setting}: pays with probability {one['p']:.2f}"
    low, mid, high = (from_log2(one["gain_log2"] + by * one["spread_log2"]) for by in (-1, 0, 1))
    return (
        f"{setting}: {mid:.2f} times ({low:.2f} to {high:.2f}), "
        f"{mid * now:.1f} {unit} ({low * now:.1f} to {high * now:.1f})"
    )


def _against(effect: EffectEvent) -> str:
    """What an effect was measured against."""
    how = "switchback" if effect.switchback else "before/after"
    if effect.gain is None:
        return how
    gain = measured(effect.gain, effect.error)
    interval = "" if gain.low is None else f", 95 % between {gain.low:.2f} and {gain.high:.2f}"
    return f"{gain.verdict}: {gain.ratio:.2f} times the original{interval} ({how})"


def _what(decision: DecisionEvent) -> str:
    """What was done. A change that was only proposed is described as such."""
    wished = ", ".join(decision.changes)
    done = ", ".join(decision.made or ())
    if done == wished:
        return done
    if decision.mode == "tune" and (decision.error or decision.made is not None):
        return f"{done or 'nothing'} (wished: {wished})"
    return wished if decision.mode == "tune" else f"{wished} (advised)"
