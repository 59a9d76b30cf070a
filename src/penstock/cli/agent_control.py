"""`penstock agent status|explain|mode|pause|resume`: talking to a running agent over its socket."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import NearestChoice, console, emit_json, json_option, state_dir_option
from penstock.errors import UsageError

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
    screen.print(_targets_table(answer["targets"]))
    for problem in answer["problems"]:
        screen.print(f"note: {problem}", soft_wrap=True, markup=False)


def _targets_table(rows: list[dict[str, Any]]) -> Table:
    from rich.table import Table

    table = Table()
    for heading in ("target", "setting", "read MB/s", "write MB/s", "last word"):
        table.add_column(heading, justify="right" if heading.endswith("MB/s") else "left", overflow="fold")
    for row in rows:
        if "void" in row:
            table.add_row(row["target"], "", "", "", row["void"])
            continue
        setting = " ".join(f"{knob_id}={value}" for knob_id, value in row["setting"].items())
        rates = (f"{row[f'{direction}_bytes_per_s'] / 1e6:.1f}" for direction in ("read", "write"))
        table.add_row(row["target"], setting, *rates, row["sentence"] or "idle")
    return table


@click.command(epilog="Example: penstock agent explain 3fa9c2")
@click.argument("decision_id", metavar="ID")
@state_dir_option
@json_option
def explain(decision_id: str, state_dir: Path, as_json: bool) -> None:
    """Show one decision: what changed, why, and every number it was based on.

    Reads the decision log, so it works without a running agent. The beginning of an id is enough.
    """
    from penstock.agent.commands import explain as find
    from penstock.agent.startup import LOG_FILE

    found = find(state_dir / LOG_FILE, decision_id)
    if as_json:
        emit_json(found)
        return
    for line in explanation(found["decision"], found["effect"]):
        click.echo(line)


def explanation(decision: dict[str, Any], effect: dict[str, Any] | None) -> list[str]:
    """One decision in lines for people."""
    lines = [
        f"{decision['id']}  {decision['target']}  ({decision['mode']})",
        f"what:     {', '.join(decision['changes'])}",
        f"why:      {decision['sentence']} [{decision['reason']}]",
    ]
    if decision["confidence"] is not None:
        lines.append(f"sure:     {decision['confidence']:.2f}, model {decision['model']}")
    if decision["error"]:
        lines.append(f"problem:  {decision['error']}")
    lines += [f"evidence: {name} = {value:g}" for name, value in decision["evidence"].items()]
    for window in decision["history"]:
        setting = " ".join(f"{knob_id}={value}" for knob_id, value in window["setting"].items())
        lines.append(f"window:   {window['t1'] - window['t0']:.2f} s at {setting}")
        known = {name: value for name, value in window["metrics"].items() if value}
        lines += [f"          {name} = {value:g}" for name, value in known.items()]
    if decision["outlook"]:
        best = sorted(decision["outlook"]["candidates"], key=lambda candidate: -candidate["p"])[:5]
        lines += [f"model:    pages={c['pages']} flight={c['flight']} p={c['p']:.3f}" for c in best]
    if effect:
        before, after = effect["before_bytes_per_s"] / 1e6, effect["after_bytes_per_s"] / 1e6
        lines.append(f"effect:   {before:.1f} -> {after:.1f} MB/s, untouched {effect['control_ratio']:.0%}")
    return lines


@click.command(epilog="Example: penstock agent mode advise")
@click.argument("wanted", metavar="MODE", type=NearestChoice(("observe", "advise", "tune")))
@state_dir_option
@json_option
def mode(wanted: str, state_dir: Path, as_json: bool) -> None:
    """Switch the running agent; leaving tune gives originals back as the rollback policy says."""
    _tell(_ask(state_dir, "mode", mode=wanted), as_json, f"mode {wanted}")


@click.command(epilog="Example: penstock agent pause scratch")
@click.argument("target", required=False)
@state_dir_option
@json_option
def pause(target: str | None, state_dir: Path, as_json: bool) -> None:
    """Leave a target, a file system or (without an argument) everything as it is, until resumed."""
    _tell(_ask(state_dir, "pause", target=target), as_json, f"paused {target or 'everything'}")


@click.command(epilog="Example: penstock agent resume scratch-OST0003-osc-ff1100010179b000 --take-back")
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
