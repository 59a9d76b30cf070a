"""`penstock agent replay`: the decisions of a log made again from the windows that were recorded beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import PolicyName, emit_json, json_option, state_dir_option
from penstock.decide.policies import POLICY_NAMES
from penstock.errors import ExitCode, FindingsError, MissingError

if TYPE_CHECKING:
    from penstock.agent.decision_replay import Remade, RunReplay


@click.command(epilog="Example: penstock agent replay state")
@click.argument("log", type=click.Path(path_type=Path, readable=False), required=False)
@click.option(
    "--policy", type=PolicyName(POLICY_NAMES), help="The file of a policy of your own, if one decided."
)
@click.option(
    "--model", type=click.Path(path_type=Path), help="The model file, where it is not the shipped one."
)
@state_dir_option
@json_option
def replay(log: Path | None, policy: str | None, model: Path | None, state_dir: Path, as_json: bool) -> None:
    """Make the decisions of LOG again and say of each whether it came out the same.

    LOG is an agent's state directory or the decisions.jsonl in it, by default that of this node's agent; the
    windows that were decided from are in windows.jsonl.gz beside it. Nothing is read from or written to the
    client. A run can be replayed from its start as far as its windows were recorded; decisions beyond that are
    listed as not replayed.

    Exit 0 when all that was replayed is the same, 6 when anything differs, 3 when nothing can be replayed. A run that
    was recorded in an older format, or decided by other policy code, is shown and not judged: one line, exit 0.
    """
    from penstock.agent.decision_replay import Replayer, rebuild
    from penstock.agent.startup import LOG_FILE, WINDOWS_FILE

    place = log or state_dir
    path = place / LOG_FILE if place.is_dir() else place
    replayer = Replayer(path, path.with_name(WINDOWS_FILE), rebuild(path.parent, policy, model))
    runs = replayer.runs()
    unknown = replayer.unknown()
    if as_json:
        emit_json(_document(path, runs, unknown))
    else:
        _show(runs, unknown)
    if replayer.not_judged:
        click.echo(f"{path}: is shown, not judged: {replayer.not_judged}", err=True)
        return
    for run in runs:
        if run.not_judged:
            click.echo(
                f"{path}: a run of policy {run.start.policy} is shown, not judged: {run.not_judged}", err=True
            )
    judged = [run for run in runs if not run.not_judged]
    if not any(run.intervals for run in judged):
        if len(judged) < len(runs):
            return
        reason = next((gap for run in runs for gap in run.gaps), "no whole interval was recorded")
        raise MissingError(f"{path}: nothing can be replayed: {reason}")
    if not all(run.exact for run in judged):
        if as_json:
            raise click.exceptions.Exit(int(ExitCode.FINDINGS))
        raise FindingsError(_finding(judged))


def _finding(runs: list[RunReplay]) -> str:
    wrong = sum(one.verdict in ("differs", "not in the log") for run in runs for one in run.decisions)
    if wrong:
        return f"{wrong} decisions did not come out as the log has them"
    return (
        f"{sum(run.intervals - run.same for run in runs)} intervals did not give the decisions they gave then"
    )


def _document(path: Path, runs: list[RunReplay], unknown: list[Remade]) -> dict[str, Any]:
    decisions = [_decision(one) for run in runs for one in run.decisions]
    decisions += [_decision(one) for one in unknown]
    judged = [run for run in runs if not run.not_judged]
    counts = dict.fromkeys(("same", "differs", "not in the log", "not replayed"), 0)
    for one in decisions:
        counts[one["verdict"]] += 1
    return {
        "log": str(path),
        "same": all(run.exact for run in judged) if any(run.intervals for run in judged) else None,
        "verdicts": counts,
        "runs": [_run(run) for run in runs],
        "decisions": decisions,
    }


def _run(run: RunReplay) -> dict[str, Any]:
    start = run.start
    return {
        "policy": start.policy,
        "model": start.model,
        "version": start.version,
        "seed": start.seed,
        "intervals": run.intervals,
        "same_intervals": run.same,
        "decided": run.decided,
        "first_difference_s": run.differs_at_s,
        "judged": not run.not_judged,
        "not_judged": run.not_judged or None,
        "gaps": run.gaps,
        "notes": run.notes,
    }


def _decision(one: Remade) -> dict[str, Any]:
    from penstock.events import dump

    logged, again = ({} if side is None else dump(side) for side in (one.logged, one.again))
    shown = logged or again
    return {
        "id": shown["id"],
        "t_s": one.t_s,
        "target": one.target,
        "changes": shown["changes"],
        "reason": shown["reason"],
        "verdict": str(one.verdict),
        "differences": {name: {"log": logged.get(name), "replay": again.get(name)} for name in one.fields},
    }


def _show(runs: list[RunReplay], unknown: list[Remade]) -> None:
    for run in runs:
        start = run.start
        model = f", model {start.model[:12]}..." if start.model else ""
        click.echo(f"run of policy {start.policy}{model}, version {start.version}")
        for note in run.notes:
            click.echo(f"  note: {note}")
        for one in run.decisions:
            _show_decision(one)
        click.echo(
            f"  {run.same} of {run.intervals} intervals the same, {run.decided} decisions with those to keep"
        )
        if run.differs_at_s is not None:
            click.echo(f"  the first interval that differs ended at t = {run.differs_at_s:.1f} s")
        for gap in run.gaps:
            click.echo(f"  not replayed: {gap}")
    for one in unknown:
        _show_decision(one)
    if unknown:
        click.echo(f"{len(unknown)} decisions of runs that were not recorded: not replayed")


def _show_decision(one: Remade) -> None:
    shown: Any = one.logged or one.again
    click.echo(f"  {one.verdict:<14}  {shown.id}  {one.target}  {', '.join(shown.changes)} [{shown.reason}]")
    for name in one.fields:
        then, now = (getattr(side, name, None) for side in (one.logged, one.again))
        if name not in ("history", "outlook"):
            click.echo(f"      {name}: log {then!r}, replay {now!r}")
        else:
            click.echo(f"      {name}: other numbers (--json shows them)")
