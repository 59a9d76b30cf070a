"""`penstock plan write`: seconds, what they are made of, and advice."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import DURATION, SIZE, console, emit_json, json_option

if TYPE_CHECKING:
    from penstock.plan.adapt import Advice
    from penstock.plan.budget import Checkpointing
    from penstock.plan.jobscript import JobSettings
    from penstock.plan.pattern import WritePattern
    from penstock.plan.prediction import Prediction, WriteModel
    from penstock.plan.system import System

SHOWN_TERMS = 15


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one call."""

    system: str | None
    nodes: int
    cores: int
    burst: int
    stripes: int | None
    stripe_size: int | None
    locations: str
    model: str
    adapt: bool
    observed: float | None
    budget: str | None
    job_dir: Path | None
    hint: tuple[str, ...]
    as_json: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything there is to say about one pattern."""

    system: System
    prediction: Prediction
    advice: Advice | None
    checkpoint: Checkpointing | None
    settings: JobSettings | None


@click.command(
    epilog="Example: penstock plan write --system titan --nodes 512 --cores 8 --burst 100MB --adapt"
)
@click.option("--system", help="cetus, titan, or FILE.toml; a fitted model knows its own.")
@click.option("--nodes", type=int, required=True, help="Compute nodes that write (m).")
@click.option("--cores", type=int, required=True, help="Writing processes per node (n).")
@click.option("--burst", type=SIZE, required=True, help="What each process writes (K), such as 100MB.")
@click.option("--stripes", type=int, help="Lustre stripe count; the file system's default if not given.")
@click.option("--stripe-size", type=SIZE, help="Lustre stripe size, a multiple of 64k.")
@click.option(
    "--locations",
    default="scattered",
    show_default=True,
    help="Where the job sits: compact, scattered, or a file of node numbers and ranges.",
)
@click.option("--model", default="published", show_default=True, help="published, or a file of `plan fit`.")
@click.option("--adapt", is_flag=True, help="Search aggregators, their places and striping.")
@click.option("--observed", type=DURATION, help="The time such a write really took: corrects the advice.")
@click.option("--budget", help="Share of the run writing may take (10%): gives a checkpoint interval.")
@click.option("--job-dir", type=click.Path(path_type=Path), help="Leave settings for the job here (--adapt).")
@click.option(
    "--hint", multiple=True, metavar="NAME=VALUE", help="Another ROMIO hint for the settings (--adapt)."
)
@json_option
def write(**options: Any) -> None:
    """Predict how long a job's synchronous write takes and what makes it up.

    Every process writes one burst to a file of its own. The published models of Cetus/Mira-FS1 and
    Titan/Atlas2 need nothing but this package.
    """
    request = Request(**options)
    answer = _answer(request)
    if request.as_json:
        emit_json(document(answer))
    else:
        _show(answer)
    if answer.advice is not None and answer.settings is not None and request.job_dir is not None:
        from penstock.plan.jobscript import write_job_files

        for path in write_job_files(request.job_dir, answer.settings, answer.advice):
            click.echo(f"wrote {path}", err=True)


def _answer(request: Request) -> Answer:
    from penstock.plan.adapt import adapt
    from penstock.plan.budget import checkpointing, parse_share
    from penstock.plan.hints import parse_hints
    from penstock.plan.jobscript import job_settings

    _check(request)
    share = None if request.budget is None else parse_share(request.budget)
    extra = parse_hints(request.hint)
    system, model = _system_and_model(request)
    pattern = _pattern(request, system)
    prediction = model.predict(system, pattern)
    advice = adapt(model, system, pattern, request.observed) if request.adapt else None
    seconds = prediction.seconds if request.observed is None else request.observed
    return Answer(
        system,
        prediction,
        advice,
        None if share is None else checkpointing(seconds, share),
        None if advice is None else job_settings(system, advice, extra),
    )


def _check(request: Request) -> None:
    from penstock.errors import UsageError

    if not request.adapt and (request.job_dir is not None or request.hint):
        raise UsageError("--job-dir and --hint need --adapt: there is no advice to write down")
    if request.observed is not None and request.observed <= 0:
        raise UsageError(f"--observed {request.observed:g} is not a positive time")


def _system_and_model(request: Request) -> tuple[System, WriteModel]:
    from penstock.errors import UsageError
    from penstock.plan.system import load_system, restripe

    system = None if request.system is None else load_system(request.system)
    model: WriteModel
    if request.model == "published":
        from penstock.plan.published import published_model

        if system is None:
            raise UsageError("--system is missing: cetus, titan or FILE.toml")
        model = published_model(system)
    else:
        from penstock.plan.modelfile import load_model

        model = fitted = load_model(Path(request.model))
        system = system or fitted.samples.system
    if request.stripe_size is not None:
        system = restripe(system, request.stripe_size)
    return system, model


def _pattern(request: Request, system: System) -> WritePattern:
    from penstock.plan.location import locate
    from penstock.plan.parameters import require_lustre
    from penstock.plan.pattern import WritePattern, check_pattern

    stripes = require_lustre(system, request.stripes)
    places = locate(system, request.nodes, request.locations)
    pattern = WritePattern(places, request.cores, request.burst, stripes)
    check_pattern(system, pattern)
    return pattern


def document(answer: Answer) -> dict[str, Any]:
    """The answer as documented for --json."""
    said = answer.prediction
    found: dict[str, Any] = {
        "seconds": said.seconds,
        "model": said.model,
        "system": answer.system.name,
        "features": dict(said.features),
        "contributions": dict(said.contributions),
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


def _advice(system: System, advice: Advice) -> dict[str, Any]:
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


def _show(answer: Answer) -> None:
    from rich.table import Table

    said = answer.prediction
    screen = console()
    table = Table(
        title=f"{said.seconds:.1f} s on {answer.system.title or answer.system.name}, model {said.model}"
    )
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
    for entry in said.outside:
        range_text = f"{entry.seen.low:g} to {entry.seen.high:g}"
        screen.print(f"Outside the training range: {entry.name} = {entry.value:g}, trained on {range_text}.")
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


def _show_advice(advice: Advice, settings: JobSettings) -> None:
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
