"""`penstock plan job`: reviews a job from its Darshan log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import SIZE, console, emit_json, json_option, write_text
from penstock.errors import FindingsError
from penstock.units import counted, format_size

if TYPE_CHECKING:
    from penstock.plan.job.drishti import DrishtiFinding
    from penstock.plan.job.findings import JobFinding
    from penstock.plan.job.job_advice import JobAdvice
    from penstock.plan.job.traffic import FileTraffic
    from penstock.plan.write.prediction import WritePrediction


@click.command(epilog="Example: penstock plan job --darshan app.darshan --nodes 8 --out hints")
@click.option("--darshan", type=click.Path(path_type=Path), required=True, help="The job's log.")
@click.option("--nodes", type=int, help="Nodes the job ran on; the log does not say.")
@click.option("--osts", type=int, default=64, show_default=True, help="Lustre targets a file may use.")
@click.option("--stripe-size", type=SIZE, help="The stripe size to advise, a multiple of 64k.")
@click.option("--system", help="Also forecast the write on another machine: cetus, titan, FILE.toml.")
@click.option("--profile", type=click.Path(path_type=Path), help="Rank hints by this file of `plan profile`.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Leave hints file and job lines in this directory."
)
@click.option("--files", type=click.IntRange(min=0), default=5, show_default=True, help="Files to show.")
@click.option("--html", type=click.Path(path_type=Path), help="Leave the review as a page, with a timeline.")
@click.option(
    "--compare-drishti",
    "drishti",
    is_flag=True,
    help="Run Drishti (drishti-io) too and say what became of each of its findings; exit 6 if one is missed.",
)
@json_option
def job(**options: Any) -> None:
    """Review how a job reads and writes: findings by expected gain, files, hints, striping."""
    from penstock.plan.job.job_advice import JobSite, review_log

    site = JobSite(options["nodes"], options["osts"], options["stripe_size"])
    advice = review_log(options["darshan"], site, options["system"], options["profile"])
    # Files first: whoever reads the review may stop reading, as `head` does.
    if options["html"] is not None:
        from penstock.plan.job.job_page import page_of_log

        write_text(options["html"], page_of_log(options["darshan"], advice))
        click.echo(f"penstock: wrote {options['html']}", err=True)
    if options["out"] is not None:
        _leave(advice, options["out"])
    compared = _compared(options["darshan"], advice) if options["drishti"] else None
    if options["as_json"]:
        beside = {} if compared is None else {"drishti": [asdict(one) for one in compared]}
        emit_json(document(advice) | beside)
    else:
        _show(advice, options["files"])
        _show_drishti(compared)
    missed = [one.code for one in compared or () if one.missed]
    if missed:
        raise FindingsError(f"{options['darshan']}: Drishti's {', '.join(missed)} has no counterpart here")


def _compared(log: Path, advice: JobAdvice) -> tuple[DrishtiFinding, ...]:
    from penstock.plan.job.drishti import compare_drishti

    return compare_drishti(log, advice)


def _show_drishti(compared: tuple[DrishtiFinding, ...] | None) -> None:
    """Show each finding of Drishti with its counterpart here, or the reason why there is none."""
    if compared is None:
        return
    screen = console()
    screen.print(f"Drishti beside this review, {len(compared)} critical findings and warnings:")
    for one in compared:
        here = ", ".join(one.covered) or one.reason or "MISSED"
        screen.print(f"  {one.code} ({one.level}): {here}", markup=False, soft_wrap=True)


def document(advice: JobAdvice) -> dict[str, Any]:
    found: dict[str, Any] = {
        "facts": asdict(advice.facts),
        "write": None if advice.shape is None else asdict(advice.shape),
        "nodes": advice.nodes,
        "findings": [
            asdict(finding) | {"share": finding.share(advice.facts.run_s)} for finding in advice.findings
        ],
        "hints": advice.hints,
        "striping": None if advice.striping is None else asdict(advice.striping),
        "reasons": list(advice.reasons),
        "files": [asdict(one) for one in _costliest(advice)],
        "io_seconds": advice.traffic.io_s,
    }
    if advice.now is not None:
        # The machine that --system names, not the one of the log.
        found["forecast_elsewhere"] = {
            "now": _prediction(advice.now),
            "advised": _prediction(advice.advised),
        }
    if advice.collective is not None:
        from penstock.cli.plan_collective import document as collective_document

        found["collective"] = collective_document(advice.collective)
    return found


def _prediction(prediction: WritePrediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    return {
        "seconds": prediction.seconds,
        "model": prediction.model,
        "outside": [one.name for one in prediction.outside],
        "notes": list(prediction.notes),
    }


def _costliest(advice: JobAdvice) -> list[FileTraffic]:
    return sorted(advice.traffic.files, key=lambda one: -one.seconds)


def _show(advice: JobAdvice, files: int) -> None:
    from penstock.plan.job.findings import OVERLAP

    screen, facts, written = console(), advice.facts, advice.shape
    screen.print(
        f"{facts.program}: {counted(facts.ranks, 'rank')}, {format_size(facts.bytes_written)} written to "
        f"{counted(facts.files_written, 'file')}, {format_size(facts.bytes_read)} read, {facts.run_s:.0f} s, of "
        f"which it waits {advice.traffic.io_s:.3g} s for I/O"
    )
    if written is not None:
        how = "collective" if written.collective else "independent"
        where = "one shared file" if facts.shared else "files of their own"
        screen.print(
            f"largest file: {how} {written.pattern} writes of "
            f"{format_size(written.bytes_per_call)} a rank to {where}"
        )
    slight = [one for one in advice.findings if one.slight(facts.run_s)]
    for finding in advice.findings:
        if finding not in slight:
            screen.print(_finding_text(finding, facts.run_s), markup=False, soft_wrap=True)
    if slight:
        ids = ", ".join(one.id for one in slight)
        screen.print(f"also seen, on less than a thousandth of the run: {ids}", markup=False)
    if sum(one.gain_s is not None for one in advice.findings if one not in slight) > 1:
        screen.print(OVERLAP)
    _show_files(advice, files)
    if advice.striping is not None:
        unit = format_size(advice.striping.unit_bytes)
        now = f"{facts.stripe_count} x {format_size(facts.stripe_bytes or 0)}"
        advised = f"{advice.striping.count} x {unit}"
        screen.print(f"striping: {advised}" + (", as it is" if advised == now else f" (now {now})"))
    for name, value in advice.hints.items():
        screen.print(f"hint: {name} {value}")
    for reason in advice.reasons:
        screen.print(f"- {reason}", markup=False)
    _show_forecast(advice)


def _finding_text(finding: JobFinding, run_s: float) -> str:
    gain = "" if finding.gain_s is None else f" (gains up to {finding.gain_s:.3g} s)"
    share = "" if finding.severity == "info" else f", {finding.shown_share(run_s)} of the run"
    text = f"[{finding.severity}{share}] {finding.id} {finding.evidence}{gain}\n    -> {finding.advice}"
    text += f"\n    line: {finding.change}" if finding.change else ""
    return text + (f"\n    see: {finding.check}" if finding.check else "")


def _show_files(advice: JobAdvice, most: int) -> None:
    from rich.table import Table

    shown = _costliest(advice)[:most]
    if not shown:
        return
    table = Table("file", "op", box=None)
    for heading in ("calls", "bytes", "mean", "<= 1 MiB", "random", "seconds"):
        table.add_column(heading, justify="right")
    for one in shown:
        small, astray = one.small_calls / max(1, one.calls), one.random_calls / max(1, one.calls)
        name = ("shared " if one.shared else "") + one.name.rsplit("/", 1)[-1]
        sizes = (format_size(one.moved_bytes), format_size(one.mean_bytes))
        table.add_row(
            name, one.op, str(one.calls), *sizes, f"{small:.0%}", f"{astray:.0%}", f"{one.seconds:.3g}"
        )
    console().print(table)


def _show_forecast(advice: JobAdvice) -> None:
    """Show the forecast. It is for the machine that --system names, so it is never shown beside an observed time."""
    if advice.now is None:
        return
    console().print(
        "Forecast of such a write on the machine that --system names, not where the log was taken:"
    )
    for what, prediction in (("as it is", advice.now), ("as advised", advice.advised)):
        if prediction is None or (what == "as advised" and prediction is advice.now):
            continue
        beyond = ", ".join(one.name for one in prediction.outside)
        note = f" (outside its training range: {beyond})" if beyond else ""
        console().print(f"  {what}: {prediction.seconds:.3g} s by the {prediction.model} model{note}")


def _leave(advice: JobAdvice, out: Path) -> None:
    if not advice.hints:
        click.echo("penstock: no hints advised: nothing written", err=True)
        return
    from penstock.plan.collective.outputs import write_all

    for path in write_all(out, advice.hints):
        click.echo(f"penstock: wrote {path}", err=True)
