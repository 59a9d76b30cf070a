"""`penstock agent status|explain|mode|pause|resume`: commands to a running agent over its socket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import NearestChoice, console, emit_json, json_option, state_dir_option
from penstock.cli.tables import and_more, grouped
from penstock.errors import UsageError
from penstock.units import counted

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
    paused = f", paused: {_paused_words(answer['paused'])}" if answer["paused"] else ""
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


def _paused_words(paused: list[str]) -> str:
    """What is paused: everything, or the targets and file systems by name.

    >>> _paused_words(["*", "scratch"]), _paused_words(["scratch"])
    ('everything', 'scratch')
    """
    return "everything" if "*" in paused else ", ".join(paused)


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
    from penstock.cli.decision_lines import explanation
    from penstock.events import dump

    found = find(state_dir / LOG_FILE, decision_id)
    if as_json:
        effect = None if found.effect is None else dump(found.effect)
        emit_json({"decision": dump(found.decision), "effect": effect})
        return
    for line in explanation(found.decision, found.effect):
        click.echo(line)


def why_not_lines(targets: list[dict[str, Any]]) -> list[str]:
    """What keeps targets from something new, in lines for people: for each the rules, and the last word about it."""
    lines = []
    shown = [one for one in targets if one["windows"] or len(targets) == 1]
    for one in shown:
        group = (
            f", in the group {one['unit']}" if one["unit"] and not one["unit"].endswith(one["target"]) else ""
        )
        state = f", now {one['state']}" if one["state"] else ""
        lines.append(f"{one['target']}{group}: seen at work in {counted(one['windows'], 'window')}{state}")
        rules = sorted(one["held_back"].items(), key=lambda rule: -rule[1])
        wide = max((len(rule) for rule, _ in rules), default=0)
        lines += [
            f"  {rule:<{wide}} {count:>6} window{'s' * (count != 1)}; last: {one['sentences'][rule]}"
            for rule, count in rules
        ]
        if not rules:
            lines.append("  no rule kept a candidate from being tried")
        lines.append(f"  now: {one['sentence']}" + (f" [{one['reason']}]" if one["reason"] else ""))
    if len(shown) < len(targets):
        lines.append(f"{len(targets) - len(shown)} more targets: not seen at work")
    return lines


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
    if answer.get("paused") and target:
        sentence += (
            f"\nstill paused: {_paused_words(answer['paused'])}; to end every pause: penstock agent resume"
        )
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
