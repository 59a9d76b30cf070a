"""`penstock plan write`: predicts write time and its composition, and gives advice."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import DURATION, SIZE, NearestChoice, console, emit_json, json_option
from penstock.errors import FindingsError

if TYPE_CHECKING:
    from penstock.plan.storage import StorageSystem
    from penstock.plan.write.adapt import WriteAdvice
    from penstock.plan.write.jobscript import JobSettings
    from penstock.plan.write.question import WriteAnswer

SHOWN_TERMS = 15


@click.command(epilog="Example: penstock plan write --system titan --nodes 64 --cores 8 --burst 1GB")
@click.option("--system", help="cetus, titan, or FILE.toml; a fitted model knows its own.")
@click.option("--nodes", type=int, required=True, help="Compute nodes that write (m).")
@click.option("--cores", type=int, required=True, help="Writing processes per node (n).")
@click.option("--burst", type=SIZE, required=True, help="What each process writes (K), such as 100MB.")
@click.option("--transfer", type=SIZE, help="What one call writes; default: the whole burst.")
@click.option("--stripes", type=int, help="Lustre stripe count; the file system's default if not given.")
@click.option("--stripe-size", type=SIZE, help="Lustre stripe size, a multiple of 64k.")
@click.option(
    "--locations",
    default="scattered",
    show_default=True,
    help="Where the job sits: compact, scattered, or a file of node numbers and ranges.",
)
@click.option("--model", default="published", show_default=True, help="published, or a file of `plan fit`.")
@click.option(
    "--operation",
    type=NearestChoice(("write", "read")),
    help="What is asked about; must be what the model was fitted on. Default: that.",
)
@click.option("--adapt", is_flag=True, help="Search aggregators, their places and striping.")
@click.option("--observed", type=DURATION, help="The time such a write really took: corrects the advice.")
@click.option("--budget", help="Share of the run writing may take (10%): gives a checkpoint interval.")
@click.option("--job-dir", type=click.Path(path_type=Path), help="Leave settings for the job here (--adapt).")
@click.option(
    "--hint", multiple=True, metavar="NAME=VALUE", help="Another ROMIO hint for the settings (--adapt)."
)
@json_option
def write(**options: Any) -> None:
    """Predict how long a job's synchronous write, or read, takes and what makes it up.

    Every process moves one burst of a file of its own. The published models of Cetus/Mira-FS1 and
    Titan/Atlas2 need nothing but this package; they are of writes. A model of your own answers with an
    interval first, and with exit code 6 for more nodes or bytes than its own held-out scales support.
    """
    from penstock.plan.write.jobscript import write_job_files
    from penstock.plan.write.question import WriteQuestion, answer

    as_json = options.pop("as_json")
    question = WriteQuestion(**options)
    found = answer(question)
    if as_json:
        emit_json(document(found))
    elif found.prediction.refused is None:
        _show(found)
    if found.prediction.refused is not None:
        raise FindingsError(found.prediction.refused)
    if found.advice is not None and found.settings is not None and question.job_dir is not None:
        for path in write_job_files(question.job_dir, found.settings, found.advice):
            click.echo(f"wrote {path}", err=True)


def document(answer: WriteAnswer) -> dict[str, Any]:
    """The answer as documented for --json."""
    said = answer.prediction
    refused = said.refused is not None
    found: dict[str, Any] = {
        "interval": None if said.interval is None else asdict(said.interval),
        "seconds": None if refused else said.seconds,
        "refused": said.refused,
        "operation": answer.operation,
        "model": said.model,
        "system": answer.system.name,
        "features": dict(said.features),
        "contributions": {} if refused else dict(said.contributions),
        "outside_training_range": [
            {
                "name": entry.name,
                "value": entry.value,
                "low": entry.seen.low,
                "high": None if entry.seen.high == float("inf") else entry.seen.high,
            }
            for entry in said.outside
        ],
        "notes": list(said.notes),
    }
    if answer.advice is not None and answer.settings is not None:
        found["advice"] = _advice(answer.system, answer.advice) | {"settings": asdict(answer.settings)}
    if answer.checkpoint is not None:
        found["checkpoint"] = asdict(answer.checkpoint)
    return found


def _advice(system: StorageSystem, advice: WriteAdvice) -> dict[str, Any]:
    pattern = advice.pattern
    return {
        "aggregators": pattern.bursts,
        "per_aggregator_bytes": pattern.burst_bytes,
        "placement": {
            "policy": "balanced" if advice.changed else "as it is",
            "nodes": [int(node) for node in pattern.locations],
            "per_node": pattern.cores,
        },
        "stripes": pattern.stripes if system.kind == "lustre" else None,
        "seconds": advice.seconds,
        "write_seconds": advice.write_s,
        "move_seconds": advice.move_s,
        "speedup": advice.speedup,
    }


def _show(answer: WriteAnswer) -> None:
    from rich.table import Table

    said = answer.prediction
    screen = console()
    for entry in said.outside:
        trained = (
            f"at least {entry.seen.low:g}"
            if entry.seen.high == float("inf")
            else f"{entry.seen.low:g} to {entry.seen.high:g}"
        )
        screen.print(
            f"Outside the training range: {entry.name} = {entry.value:.4g}, trained on {trained}.",
            soft_wrap=True,
        )
    screen.print(_answer_line(answer), soft_wrap=True)
    table = Table(title="what the point forecast is made of")
    table.add_column("what")
    table.add_column("value", justify="right")
    table.add_column("seconds", justify="right")
    ranked = sorted(said.contributions.items(), key=lambda item: -abs(item[1]))
    for name, share in ranked[:SHOWN_TERMS]:
        value = said.features.get(name)
        table.add_row(name, "" if value is None else f"{value:.6g}", f"{share:+.3f}")
    if len(ranked) > SHOWN_TERMS:
        rest = sum(share for _, share in ranked[SHOWN_TERMS:])
        table.add_row(f"{len(ranked) - SHOWN_TERMS} smaller ones", "", f"{rest:+.3f}")
    screen.print(table)
    for note in said.notes:
        screen.print(f"Note: {note}.")
    if answer.advice is not None and answer.settings is not None:
        _show_advice(answer.advice, answer.settings)
    if answer.checkpoint is not None:
        plan = answer.checkpoint
        screen.print(
            f"Checkpoint every {plan.interval_s:.0f} s ({plan.compute_s:.0f} s of computing): writing takes "
            f"{plan.share:.0%} of the run, {plan.share_low:.0%} to {plan.share_high:.0%} if the model is "
            "30% off."
        )


def _answer_line(answer: WriteAnswer) -> str:
    """The interval first and the point second: the point alone looks surer than it is."""
    said = answer.prediction
    where = f"{answer.operation} on {answer.system.title or answer.system.name}, model {said.model}"
    if said.interval is None:
        return f"{said.seconds:.3g} s: {where}; this model tells no interval"
    held = said.interval.measured
    known = "" if held is None else f"; such intervals held {held:.0%} of samples kept apart"
    ends = f"{said.interval.low_s:.3g} to {said.interval.high_s:.3g} s"
    return f"{ends} in {said.interval.level:.0%} of cases, {said.seconds:.3g} s expected: {where}{known}"


def _show_advice(advice: WriteAdvice, settings: JobSettings) -> None:
    from penstock.units import format_size

    screen = console()
    pattern = advice.pattern
    if not advice.changed:
        screen.print("Advice: write as it is; no choice of aggregators is predicted to be faster.")
        return
    screen.print(
        f"Advice: {pattern.bursts} aggregators ({pattern.cores} on each of {pattern.nodes} balanced nodes), "
        f"{format_size(pattern.burst_bytes)} each: {advice.seconds:.1f} s with {advice.move_s:.1f} s of "
        f"moving data, {advice.speedup:.2f} times as fast."
    )
    for name, value in settings.romio.items():
        screen.print(f"  {name} {value}")
    screen.print(f"  ADIOS: {settings.adios1}")
    if settings.setstripe:
        screen.print(f"  {settings.setstripe}")
