"""`penstock agent report` and `trial`: the effect of tuning on this node, from the log or by experiment."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    DURATION,
    console,
    emit_json,
    json_option,
    require_writable,
    seed_option,
    state_dir_option,
    write_text,
)
from penstock.units import counted, format_duration

if TYPE_CHECKING:
    from penstock.agent.summary import JobSummary, Summary, TargetSummary
    from penstock.agent.switchback import Block, Verdict
    from penstock.gains import Gain


@click.command(epilog="Example: penstock agent report --last 8h")
@click.option("--last", type=DURATION, default="24h", show_default=True, help="How far to look back.")
@click.option("--html", type=click.Path(path_type=Path), help="Also write a page with charts to this file.")
@state_dir_option
@json_option
def report(last: float, html: Path | None, state_dir: Path, as_json: bool) -> None:
    """Sum up what was changed, or in advise mode would have been, and what it did, from the decision log."""
    from penstock.agent.log import read_log
    from penstock.agent.startup import LOG_FILE
    from penstock.agent.summary import summarise
    from penstock.errors import MissingError

    path = state_dir / LOG_FILE
    if not path.exists():
        raise MissingError(f"{path}: no decision log")
    now_s = time.time()
    events = list(read_log(path))
    summary = summarise(events, now_s - last, now_s)
    if html is not None:
        from penstock.agent.startup import WINDOWS_FILE
        from penstock.dash.paper import node_page
        from penstock.dash.recorded_points import RecordedPoints

        recorded = RecordedPoints(state_dir / WINDOWS_FILE).read(now_s - last)
        period, title = (now_s - last, now_s), f"Penstock on {socket.gethostname()}"
        write_text(html, node_page(events, *period, title, recorded))
        click.echo(f"penstock: page in {html}", err=True)
    if as_json:
        emit_json(_document(summary))
    else:
        _show(summary)


def _document(summary: Summary) -> dict[str, object]:
    rows = [
        {
            "target": row.target,
            "made": row.made,
            "looks": row.looks,
            "advised": row.advised,
            "reverted": row.reverted,
            "failed": row.failed,
            "judged": len(row.gains),
            **_gain(row.gain),
            "reasons": dict(row.reasons),
            "last": {"id": row.last_id, "changes": row.last} if row.last else None,
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
            **_gain(job.gain),
        }
        for job in summary.jobs
    ]
    period = {"since_s": summary.since_s, "until_s": summary.until_s, "starts": summary.starts}
    return {**period, "effect": summary.effect, "targets": rows, "jobs": jobs}


def _gain(gain: Gain | None) -> dict[str, object]:
    if gain is None:
        return {"mean_gain": None, "low": None, "high": None, "verdict": None}
    return {"mean_gain": gain.ratio, "low": gain.low, "high": gain.high, "verdict": gain.verdict.value}


def _show(summary: Summary) -> None:
    from rich.table import Table

    from penstock.serve.status import effect_sentence

    table = Table(title=f"the last {format_duration(summary.until_s - summary.since_s)}")
    # A narrow terminal drops columns from the right, so the important ones come first.
    for heading in (
        "target",
        "changes",
        "before/after",
        "last [id]",
        "taken back",
        "looks",
        "refused",
        "advised",
    ):
        table.add_column(heading, justify="left" if heading[:4] in ("targ", "last") else "right")
    for row in summary.targets:
        counts = (str(count) for count in (row.reverted, row.looks, row.failed, row.advised))
        last = f"{row.last} [{row.last_id}]" if row.last else ""
        table.add_row(row.short, str(row.changes), _effect(row), last, *counts)
    click.echo(effect_sentence(summary.effect))
    if summary.targets:
        console().print(table)
    else:
        click.echo(f"Nothing was decided in {table.title}.")
    if summary.jobs:
        _show_jobs(summary)


def _effect(row: TargetSummary | JobSummary) -> str:
    return f"{row.gain.words} ({counted(len(row.gains), 'comparison')})" if row.gain else "not judged"


def _show_jobs(summary: Summary) -> None:
    from rich.table import Table

    table = Table(title="jobs on this node")
    for heading in ("job", "user", "began", "ended"):
        table.add_column(heading)
    for heading in ("changes", "advised", "taken back", "before/after"):
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
@click.option(
    "--html", type=click.Path(path_type=Path), help="Also write a page with every pair to this file."
)
@click.option("--forget", is_flag=True, help="Drop the verdict that the agent keeps; no trial is made.")
@state_dir_option
@seed_option
@json_option
def trial(
    on_s: float,
    off_s: float,
    total_s: float,
    html: Path | None,
    forget: bool,
    state_dir: Path,
    seed: int,
    as_json: bool,
) -> None:
    """Switch the running agent on and off in turns and say what tuning is worth on this node.

    The verdict so far is shown after every pair of blocks: a gain where the whole 95 % interval is above 1, a loss
    where it is below, no difference where it lies within 0.97 and 1.03, else undecided. Ctrl-C ends the trial early
    and gives the verdict on the pairs that are done. However it ends, the agent gets back the mode it was in, and
    keeps the verdict for `status`, `top` and `report`, until `--forget` drops it. Exit 7 when no agent runs.
    """
    from penstock.agent.experiment import SwitchbackTrial, forget_verdict
    from penstock.agent.switchback import TrialPlan, check, judge, run

    if forget:
        forgotten = forget_verdict(state_dir)
        if as_json:
            emit_json({"forgotten": forgotten})
        else:
            click.echo("the verdict of the last trial is forgotten, here and in reports of the log")
        return
    plan = TrialPlan(on_s, off_s, total_s)
    blocks: list[Block] = []
    check(plan)
    if html is not None:
        require_writable(html)
    with SwitchbackTrial(state_dir) as experiment:
        try:
            for block in run(plan, experiment.switch, experiment.measure, seed):
                blocks.append(block)
                click.echo(_progress(blocks, plan.pairs), err=True)
        finally:
            verdict = judge(blocks)
            _tell_verdict(verdict, blocks, as_json)
            if html is not None:
                write_text(html, verdict_page(verdict, blocks))
            experiment.report(verdict)


def _progress(blocks: list[Block], pairs: int) -> str:
    """One line after each block, and after each pair the verdict so far."""
    from penstock.agent.switchback import judge

    last = blocks[-1]
    kind = "tuned" if last.tuned else "untuned"
    said = f"pair {(len(blocks) + 1) // 2} of {pairs}: {kind} {last.bytes_per_s / 1e6:.1f} MB/s"
    return said if len(blocks) % 2 else f"{said}; so far: {judge(blocks).sentence}"


def _tell_verdict(verdict: Verdict, blocks: list[Block], as_json: bool) -> None:
    if as_json:
        emit_json(_verdict_document(verdict, blocks))
    else:
        click.echo(verdict.sentence)


def verdict_page(verdict: Verdict, blocks: list[Block]) -> str:
    from penstock.report import bars, interval
    from penstock.report.page import Figure, Section, Table, render

    pairs = [sorted(pair, key=lambda b: b.tuned) for pair in zip(blocks[::2], blocks[1::2], strict=False)]
    ratios = [
        bars.Bar(f"pair {number}", on.bytes_per_s / off.bytes_per_s, None)
        for number, (off, on) in enumerate(pairs, 1)
        if min(on.bytes_per_s, off.bytes_per_s) > 0
    ]
    rows = [
        [str(number // 2 + 1), "tuned" if block.tuned else "untuned", f"{block.bytes_per_s / 1e6:.1f}"]
        for number, block in enumerate(blocks)
    ]
    picture = None
    if verdict.gain is not None:
        drawn = interval.draw(verdict.gain, verdict.low, verdict.high)
        picture = Figure("Tuned over untuned throughput, with its 95 % interval", drawn)
    drawing = (
        [Figure("Tuned over untuned, pair by pair", bars.draw("pairs", ratios, "tuned"))] if ratios else []
    )
    sections = [Section("Every pair", (), drawing, [Table(["pair", "block", "MB/s"], rows)])]
    lead = [
        "Tuning was switched on and off in turns on this node, in an order drawn for each pair of blocks."
    ]
    return render("A switchback trial", lead, sections, f"{verdict.sentence.capitalize()}.", picture)


def _verdict_document(verdict: Verdict, blocks: list[Block]) -> dict[str, object]:
    return {
        "pairs": verdict.pairs,
        "gain": verdict.gain,
        "low": verdict.low,
        "high": verdict.high,
        "verdict": verdict.verdict.value,
        "sentence": verdict.sentence,
        "blocks": [{"tuned": block.tuned, "bytes_per_s": block.bytes_per_s} for block in blocks],
    }
