"""`penstock plan job`: a review of a job by its Darshan log."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import SIZE, console, emit_json, json_option
from penstock.units import format_size

if TYPE_CHECKING:
    from penstock.plan.job import JobAdvice
    from penstock.plan.prediction import Prediction


@click.command(epilog="Example: penstock plan job --darshan app.darshan --nodes 8 --out hints")
@click.option("--darshan", type=click.Path(path_type=Path), required=True, help="The job's log.")
@click.option("--nodes", type=int, help="Nodes the job ran on; the log does not say.")
@click.option("--osts", type=int, default=64, show_default=True, help="Lustre targets a file may use.")
@click.option("--stripe-size", type=SIZE, help="The stripe size to advise, a multiple of 64k.")
@click.option(
    "--system",
    default="titan",
    show_default=True,
    help="Whose write-time model predicts: cetus, titan, FILE.toml.",
)
@click.option("--profile", type=click.Path(path_type=Path), help="Rank hints by this file of `plan profile`.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Leave hints file and job lines in this directory."
)
@json_option
def job(**options: Any) -> None:
    """Review how a job writes: findings with evidence, hints, striping, and predicted write times."""
    advice = _advice(options)
    if options["as_json"]:
        emit_json(document(advice))
    else:
        _show(advice)
    if options["out"] is not None:
        _leave(advice, options["out"])


def _advice(options: dict[str, Any]) -> JobAdvice:
    from penstock.plan.darshan import facts, read_log
    from penstock.plan.job import Site, advise_job
    from penstock.plan.system import load_system

    site = Site(options["nodes"], options["osts"], options["stripe_size"])
    system = load_system(options["system"])
    surrogates = None
    if options["profile"] is not None:
        from penstock.plan.collective.profile import load
        from penstock.plan.collective.surrogates import Surrogates

        surrogates = Surrogates(load(options["profile"]))
    return advise_job(facts(read_log(options["darshan"])), site, system, surrogates)


def document(advice: JobAdvice) -> dict[str, Any]:
    """The review as JSON."""
    found: dict[str, Any] = {
        "facts": asdict(advice.facts),
        "write": None if advice.shape is None else asdict(advice.shape),
        "nodes": advice.nodes,
        "findings": [asdict(finding) for finding in advice.findings],
        "hints": advice.hints,
        "striping": None if advice.striping is None else asdict(advice.striping),
        "reasons": list(advice.reasons),
        "predicted": {"now": _prediction(advice.now), "advised": _prediction(advice.advised)},
    }
    if advice.collective is not None:
        from penstock.cli.plan_collective import document as collective_document

        found["collective"] = collective_document(advice.collective)
    return found


def _prediction(prediction: Prediction | None) -> dict[str, Any] | None:
    if prediction is None:
        return None
    return {
        "seconds": prediction.seconds,
        "model": prediction.model,
        "outside": [one.name for one in prediction.outside],
        "notes": list(prediction.notes),
    }


def _show(advice: JobAdvice) -> None:
    screen, facts, written = console(), advice.facts, advice.shape
    screen.print(
        f"{facts.program}: {facts.ranks} ranks, {format_size(facts.bytes_written)} written to "
        f"{facts.files_written} files, {format_size(facts.bytes_read)} read, {facts.run_s:.0f} s"
    )
    if written is not None:
        how = "collective" if written.collective else "independent"
        where = "one shared file" if facts.shared else "files of their own"
        screen.print(
            f"largest file: {how} {written.pattern} writes of "
            f"{format_size(written.bytes_per_call)} a rank to {where}"
        )
    for finding in advice.findings:
        screen.print(
            f"[{finding.severity}] {finding.id} {finding.evidence}\n    -> {finding.advice}", markup=False
        )
    if advice.striping is not None:
        unit = format_size(advice.striping.unit_bytes)
        now = f"{facts.stripe_count} x {format_size(facts.stripe_bytes or 0)}"
        screen.print(f"striping: {advice.striping.count} x {unit} (now {now})")
    for name, value in advice.hints.items():
        screen.print(f"hint: {name} {value}")
    for reason in advice.reasons:
        screen.print(f"- {reason}", markup=False)
    layer = facts.mpiio or facts.posix
    if layer is not None and layer.span_s:
        screen.print(f"observed: first to last write of that file {layer.span_s:.3g} s")
    _show_prediction("as it is", advice.now)
    if advice.advised is not advice.now:
        _show_prediction("as advised", advice.advised)


def _show_prediction(what: str, prediction: Prediction | None) -> None:
    if prediction is None:
        return
    beyond = ", ".join(one.name for one in prediction.outside)
    note = f" (outside its training range: {beyond})" if beyond else ""
    console().print(
        f"predicted write {what}: {prediction.seconds:.3g} s by the {prediction.model} model{note}"
    )


def _leave(advice: JobAdvice, out: Path) -> None:
    if not advice.hints:
        click.echo("penstock: no hints advised: nothing written", err=True)
        return
    from penstock.plan.collective.outputs import write_all

    for path in write_all(out, advice.hints):
        click.echo(f"penstock: wrote {path}", err=True)
