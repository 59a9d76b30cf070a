"""`penstock agent report` and `trial`: what tuning did here, from the log, or by experiment."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    DURATION,
    console,
    emit_json,
    json_option,
    places,
    seed_option,
    state_dir_option,
)

if TYPE_CHECKING:
    from penstock.agent.summary import JobSummary, Summary, TargetSummary
    from penstock.agent.switchback import Block, Verdict


@click.command(epilog="Example: penstock agent report --last 8h")
@click.option("--last", type=DURATION, default="24h", show_default=True, help="How far to look back.")
@state_dir_option
@json_option
def report(last: float, state_dir: Path, as_json: bool) -> None:
    """Sum up what was changed, or in advise mode would have been, and what it did, from the decision log."""
    from penstock.agent.log import read_log
    from penstock.agent.startup import LOG_FILE
    from penstock.agent.summary import summarise
    from penstock.errors import MissingError

    path = state_dir / LOG_FILE
    if not path.exists():
        raise MissingError(f"{path}: no decision log")
    now_s = time.time()
    summary = summarise(read_log(path), now_s - last, now_s)
    if as_json:
        emit_json(_document(summary))
    else:
        _show(summary)


def _document(summary: Summary) -> dict[str, object]:
    rows = [
        {
            "target": row.target,
            "made": row.made,
            "advised": row.advised,
            "reverted": row.reverted,
            "failed": row.failed,
            "judged": len(row.gains),
            "mean_gain": row.mean_gain,
            "reasons": dict(row.reasons),
        }
        for row in summary.targets
    ]
    jobs = [
        {
            "job": job.job,
            "user": job.user,
            "began_s": job.began_s,
            "ended_s": job.ended_s,
            "made": job.made,
            "advised": job.advised,
            "reverted": job.reverted,
            "judged": len(job.gains),
            "mean_gain": job.mean_gain,
        }
        for job in summary.jobs
    ]
    period = {"since_s": summary.since_s, "until_s": summary.until_s, "starts": summary.starts}
    return {**period, "targets": rows, "jobs": jobs}


def _show(summary: Summary) -> None:
    from rich.table import Table

    table = Table(title=f"the last {(summary.until_s - summary.since_s) / 3600:.1f} h")
    table.add_column("target", overflow="fold")
    for heading in ("changes", "advised", "taken back", "refused", "mean effect"):
        table.add_column(heading, justify="right")
    table.add_column("last")
    for row in summary.targets:
        counts = (str(count) for count in (row.made, row.advised, row.reverted, row.failed))
        table.add_row(row.target, *counts, _effect(row), row.last)
    console().print(table)
    if summary.jobs:
        _show_jobs(summary)
    if not summary.targets:
        click.echo("Nothing was decided in this period.")


def _effect(row: TargetSummary | JobSummary) -> str:
    return f"{row.mean_gain:.2f}x of {len(row.gains)}" if row.mean_gain is not None else "not judged"


def _show_jobs(summary: Summary) -> None:
    from rich.table import Table

    table = Table(title="jobs on this node")
    for heading in ("job", "user", "began", "ended"):
        table.add_column(heading)
    for heading in ("changes", "advised", "taken back", "mean effect"):
        table.add_column(heading, justify="right")
    for job in summary.jobs:
        began = _clock(job.began_s) if job.began_s is not None else "earlier"
        ended = _clock(job.ended_s) if job.ended_s is not None else "running"
        counts = (str(count) for count in (job.made, job.advised, job.reverted))
        table.add_row(job.job, job.user or "-", began, ended, *counts, _effect(job))
    console().print(table)


def _clock(time_s: float) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.localtime(time_s))


@click.command(epilog="Example: penstock agent trial --on 10m --off 10m --for 8h")
@click.option(
    "--on", "on_s", type=DURATION, default="10m", show_default=True, help="Length of a tuned block."
)
@click.option("--off", "off_s", type=DURATION, default="10m", show_default=True, help="Of an untuned one.")
@click.option("--for", "total_s", type=DURATION, default="8h", show_default=True, help="Of the whole trial.")
@places
@seed_option
@json_option
def trial(
    on_s: float, off_s: float, total_s: float, root: Path, state_dir: Path, seed: int, as_json: bool
) -> None:
    """Switch the running agent on and off in turns and say what tuning is worth on this node.

    The verdict comes with its interval, and is "no difference" when there is none. However it ends, the agent
    gets back the mode it was in. Exit 7 when no agent runs.
    """
    from penstock.agent.experiment import Experiment
    from penstock.agent.switchback import Plan, check, judge, run

    plan = Plan(on_s, off_s, total_s)
    check(plan)
    with Experiment(root, state_dir) as experiment:
        blocks = run(plan, experiment.switch, experiment.measure, seed)
    verdict = judge(blocks)
    if as_json:
        emit_json(_verdict_document(verdict, blocks))
    else:
        click.echo(verdict.sentence)


def _verdict_document(verdict: Verdict, blocks: list[Block]) -> dict[str, object]:
    return {
        "pairs": verdict.pairs,
        "gain": verdict.gain,
        "low": verdict.low,
        "high": verdict.high,
        "verdict": verdict.sentence,
        "blocks": [{"tuned": block.tuned, "bytes_per_s": block.bytes_per_s} for block in blocks],
    }
