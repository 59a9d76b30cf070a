"""`penstock agent status|explain|mode|pause|resume`: commands to a running agent over its socket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import NearestChoice, console, emit_json, json_option, state_dir_option
from penstock.cli.tables import and_more, grouped
from penstock.errors import UsageError
from penstock.gains import from_log2, measured
from penstock.knobs.target_kind import DATA_PATH
from penstock.target_kinds import MDC

if TYPE_CHECKING:
    from rich.table import Table


def _ask(state_dir: Path, verb: str, **arguments: Any) -> dict[str, Any]:
    from penstock.agent.control import request
    from penstock.agent.startup import SOCKET_FILE

    return request(state_dir / SOCKET_FILE, verb, **arguments)


@click.command(epilog="Example: penstock agent status --json")
@state_dir_option
@json_option
def status(state_dir: Path, as_json: bool) -> None:
    """Show what the agent sees and does, target by target. Exit 7 when no agent answers."""
    from penstock.serve.status import effect_sentence

    answer = _ask(state_dir, "status")
    if as_json:
        emit_json(answer)
        return
    screen = console()
    paused = f", paused: {', '.join(answer['paused'])}" if answer["paused"] else ""
    screen.print(
        f"mode {answer['mode']}, policy {answer['policy']}, every {answer['interval_s']:g} s, "
        f"up {answer['uptime_s']:.0f} s{paused}"
    )
    screen.print(effect_sentence(answer["effect"]), soft_wrap=True)
    if answer["targets"]:
        screen.print(_targets_table(answer["targets"]))
    if answer["hands_off"]:
        screen.print(f"left alone because a job asked for it: {', '.join(answer['hands_off'])}")
    if answer["policy_errors"]:
        screen.print(f"the policy failed {answer['policy_errors']} times; its targets were left alone")
    for problem in answer["problems"]:
        screen.print(f"note: {problem}", soft_wrap=True, markup=False)


def _targets_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    from penstock.serve.status import rate_words

    table = Table()
    for heading in ("target", "setting", "read MB/s", "write MB/s", "state", "last word"):
        table.add_column(heading, justify="right" if heading.endswith("MB/s") else "left", overflow="fold")
    for same in grouped(rows, _shown_alike):
        row = same[0]
        setting = " ".join(f"{knob_id}={value}" for knob_id, value in row.get("setting", {}).items())
        rates = ("", "") if "void" in row else rate_words(same, unit="")
        table.add_row(and_more([one["short"] for one in same]), setting, *rates, *_stand(row))
    return table


def _shown_alike(row: dict[str, Any]) -> str:
    """Equal for targets of which the same is to be said."""
    from penstock.serve.status import is_busy

    return repr((row["fs"], row.get("kind"), row.get("setting"), is_busy(row), *_stand(row)))


def _stand(row: dict[str, Any]) -> tuple[str, str]:
    """Where a target stands. An agent of an earlier version that still runs does not say it."""
    return row.get("state") or "", row.get("words") or row.get("sentence") or row.get("void") or "idle"


@click.command(epilog="Example: penstock agent explain last")
@click.argument("decision_id", metavar="ID|TARGET")
@click.option(
    "--why-not",
    "asks_why_not",
    is_flag=True,
    help="Of a TARGET or a file system: which rules kept the best candidates from being tried, in windows.",
)
@state_dir_option
@json_option
def explain(decision_id: str, asks_why_not: bool, state_dir: Path, as_json: bool) -> None:
    """Show one decision: what changed, why, and every number it was based on.

    Reads the decision log, so it works without a running agent. The beginning of an id is enough;
    `last` is the newest. With --why-not the running agent is asked why it tries nothing new on a target.
    """
    if asks_why_not:
        answer = _ask(state_dir, "why-not", target=decision_id)
        if as_json:
            emit_json(answer)
        else:
            click.echo("\n".join(why_not_lines(answer["targets"])))
        return
    from penstock.agent.log_search import explain as find
    from penstock.agent.startup import LOG_FILE

    found = find(state_dir / LOG_FILE, decision_id)
    if as_json:
        emit_json(found)
        return
    for line in explanation(found["decision"], found["effect"]):
        click.echo(line)


def why_not_lines(targets: list[dict[str, Any]]) -> list[str]:
    """What keeps targets from something new, in lines for people: for each the rules, and the last word about it."""
    lines = []
    shown = [one for one in targets if one["windows"] or len(targets) == 1]
    for one in shown:
        group = (
            f", in the group {one['unit']}" if one["unit"] and not one["unit"].endswith(one["target"]) else ""
        )
        lines.append(f"{one['target']}{group}: seen at work in {one['windows']} windows")
        rules = sorted(one["held_back"].items(), key=lambda rule: -rule[1])
        wide = max((len(rule) for rule, _ in rules), default=0)
        lines += [
            f"  {rule:<{wide}} {count:>6} windows; last: {one['sentences'][rule]}" for rule, count in rules
        ]
        if not rules:
            lines.append("  no rule kept a candidate from being tried")
        lines.append(f"  now: {one['sentence']}" + (f" [{one['reason']}]" if one["reason"] else ""))
    if len(shown) < len(targets):
        lines.append(f"{len(targets) - len(shown)} more targets: not seen at work")
    return lines


def explanation(decision: dict[str, Any], effect: dict[str, Any] | None) -> list[str]:
    """One decision in lines for people."""
    lines = [
        f"{decision['id']}  {decision['target']}  ({decision['mode']})",
        f"what:     {_what(decision)}",
        f"why:      {decision['sentence']} [{decision['reason']}]",
    ]
    if decision["confidence"] is not None:
        lines.append(f"sure:     {decision['confidence']:.2f}, model {decision['model']}")
    if decision["error"]:
        lines.append(f"problem:  {decision['error']}")
    lines += [f"evidence: {in_units(name, value)}" for name, value in decision["evidence"].items()]
    lines += _decided_for(decision)
    for window in decision["history"]:
        setting = " ".join(f"{knob_id}={value}" for knob_id, value in window["setting"].items())
        lines.append(f"window:   {window['t1'] - window['t0']:.2f} s at {setting}")
        known = {name: value for name, value in window["metrics"].items() if value}
        lines += [f"          {name} = {value:g}" for name, value in known.items()]
    lines += _candidates(decision)
    if effect:
        scale, unit = _scale(decision)
        before, after = effect["before_bytes_per_s"] / scale, effect["after_bytes_per_s"] / scale
        lines.append(f"effect:   {before:.1f} -> {after:.1f} {unit}, {_against(effect)}")
        if memory := effect.get("memory_bytes_per_s") or 0.0:
            waits = (effect.get("unsent_bytes") or 0.0) / 1e6
            lines.append(
                f"          {memory / 1e6:.1f} MB/s of it were written over in memory; {waits:.0f} MB wait unsent"
            )
    return lines


def _decided_for(decision: dict[str, Any]) -> list[str]:
    """Whose windows follow; logs of earlier versions do not tell."""
    unit, work = decision.get("unit") or "", decision.get("work") or ""
    if not unit:
        return []
    grouped = not unit.endswith(decision["target"])
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


def _candidates(decision: dict[str, Any]) -> list[str]:
    """The model's expectation for the best candidates, as ratios and, from the last window's rate, in its unit."""
    if not decision["outlook"]:
        return []
    found = decision["outlook"]["candidates"]
    by_gain = sorted(found, key=lambda one: -one.get("gain_log2", one["p"]))[:5]
    base = _base(decision)
    return [f"model:    {_candidate(one, *base)}" for one in by_gain]


def _base(decision: dict[str, Any]) -> tuple[float, str]:
    """The rate that a gain of 1 stands for, with its unit: the last window's rate without the expected gain of the
    setting in force.
    """
    if not decision["history"]:
        return 0.0, "MB/s"
    window = decision["history"][-1]
    scale, unit = _scale(decision)
    moved = sum(window["metrics"].get(way.moved) or 0.0 for way in (*DATA_PATH.ways, *MDC.ways)) / scale
    gain = _mapped_gain(decision["outlook"].get("map"), window["setting"])
    return float(moved / (window["t1"] - window["t0"]) / from_log2(gain)), unit


def _scale(decision: dict[str, Any]) -> tuple[float, str]:
    """By what rates of this target are divided, and the unit they are then in."""
    counted = (window["metrics"] for window in decision["history"])
    operations = any(way.moved in metrics for metrics in counted for way in MDC.ways)
    return (1.0, "operations/s") if operations else (1e6, "MB/s")


def _mapped_gain(surface: dict[str, Any] | None, setting: dict[str, int]) -> float:
    """The gain of a setting in the map of all candidates, or 0 if it is not in the map."""
    if not surface or not surface["gain_log2"]:
        return 0.0
    rows = zip(*surface["knobs"].values(), strict=True)
    wanted = tuple(setting.get(knob_id) for knob_id in surface["knobs"])
    return next((gain for row, gain in zip(rows, surface["gain_log2"], strict=True) if row == wanted), 0.0)


def _candidate(one: dict[str, float], now: float, unit: str) -> str:
    figures = ("p", "gain_log2", "spread_log2")
    setting = " ".join(f"{knob_id}={value:g}" for knob_id, value in one.items() if knob_id not in figures)
    if "gain_log2" not in one:
        return f"{setting}: pays with probability {one['p']:.2f}"
    low, mid, high = (from_log2(one["gain_log2"] + by * one["spread_log2"]) for by in (-1, 0, 1))
    return (
        f"{setting}: {mid:.2f} times ({low:.2f} to {high:.2f}), "
        f"{mid * now:.1f} {unit} ({low * now:.1f} to {high * now:.1f})"
    )


def _against(effect: dict[str, Any]) -> str:
    """What an effect was measured against."""
    how = "switchback" if effect.get("switchback") else "before/after"
    if effect.get("gain") is None:
        return how
    gain = measured(float(effect["gain"]), effect.get("error"))
    interval = "" if gain.low is None else f", 95 % between {gain.low:.2f} and {gain.high:.2f}"
    return f"{gain.verdict}: {gain.ratio:.2f} times the original{interval} ({how})"


def _what(decision: dict[str, Any]) -> str:
    """What was done. A change that was only proposed is described as such."""
    wished = ", ".join(decision["changes"])
    done = ", ".join(decision.get("made") or ())
    if done == wished:
        return done
    if decision["mode"] == "tune" and (decision["error"] or "made" in decision):
        return f"{done or 'nothing'} (wished: {wished})"
    return wished if decision["mode"] == "tune" else f"{wished} (advised)"


@click.command(epilog="Example: penstock agent mode advise")
@click.argument("wanted", metavar="MODE", type=NearestChoice(("observe", "advise", "tune")))
@state_dir_option
@json_option
def mode(wanted: str, state_dir: Path, as_json: bool) -> None:
    """Switch the running agent; leaving tune gives originals back as the rollback policy says."""
    _tell(_ask(state_dir, "mode", mode=wanted), as_json, f"mode {wanted}")


@click.command(epilog="Example: penstock agent pause lustre")
@click.argument("target", required=False)
@state_dir_option
@json_option
def pause(target: str | None, state_dir: Path, as_json: bool) -> None:
    """Leave a target, a file system or (without an argument) everything as it is, until resumed."""
    _tell(_ask(state_dir, "pause", target=target), as_json, f"paused {target or 'everything'}")


@click.command(epilog="Example: penstock agent resume lustre")
@click.argument("target", required=False)
@click.option(
    "--take-back",
    is_flag=True,
    help="Also tune again the knobs of TARGET that somebody else set; their values become the originals.",
)
@state_dir_option
@json_option
def resume(target: str | None, take_back: bool, state_dir: Path, as_json: bool) -> None:
    """Tune what was paused again. A knob that its administrator set stays theirs without --take-back."""
    if take_back and not target:
        raise UsageError("--take-back needs the TARGET, or the file system, whose knobs shall be tuned again")
    arguments = {"target": target, **({"take_back": True} if take_back else {})}
    answer = _ask(state_dir, "resume", **arguments)
    sentence = f"resumed {target or 'everything'}"
    for left in answer.get("left", ()):
        sentence += (
            f"\n{left['target']}: {', '.join(left['knobs'])} left to the administrator who set it; "
            f"to tune it again: penstock agent resume {left['target']} --take-back"
        )
    for taken in answer.get("taken_back", ()):
        knobs = ", ".join(f"{knob_id} (original now {value})" for knob_id, value in taken["knobs"].items())
        sentence += f"\n{taken['target']}: tuned again: {knobs}"
    if take_back and not answer["taken_back"]:
        sentence += "\nno knob of it belonged to its administrator"
    _tell(answer, as_json, sentence)


def _tell(answer: dict[str, Any], as_json: bool, sentence: str) -> None:
    if as_json:
        emit_json(answer)
    else:
        click.echo(sentence)
