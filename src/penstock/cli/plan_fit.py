"""`penstock plan fit`: fits a model of the user's system to the user's IOR results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    console,
    emit_json,
    json_option,
    seed_option,
    write_text,
)
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.plan.write.accuracy import Accuracy
    from penstock.plan.write.fitting import FitOutcome, FitRequest, Judged
    from penstock.plan.write.ior_results import IorRun, Tally

CHOICES = (
    "best",
    "stack",
    "linear",
    "lasso",
    "ridge",
    "tree",
    "forest",
    "svr-rbf",
    "svr-poly",
    "gp-rbf",
    "gp-poly",
)


@click.command(epilog="Example: penstock plan fit --data ior.csv --technique lasso --out mine.json")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    multiple=True,
    required=True,
    help="IOR JSON or CSV; repeatable.",
)
@click.argument("more", nargs=-1, type=click.Path(path_type=Path))
@click.option("--system", help="cetus, titan or FILE.toml; without it only job sizes are known.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The model file to write.")
@click.option("--technique", type=NearestChoice(CHOICES), default="best", show_default=True)
@click.option("--locations", default="scattered", show_default=True, help="compact or scattered.")
@click.option("--where", multiple=True, metavar="COLUMN=VALUE", help="Only such lines of a table.")
@click.option("--cores", type=int, help="Processes per node, where the data do not tell.")
@click.option("--stripes", type=int, help="Stripe count, where the data do not tell.")
@click.option("--shortest", type=DURATION, default="5s", show_default=True, help="Leave out shorter writes.")
@click.option("--operation", type=NearestChoice(("write", "read")), default="write", show_default=True)
@click.option("--files", type=NearestChoice(("own", "shared")), help="Only runs to such files.")
@click.option(
    "--unconverged",
    type=NearestChoice(("drop", "use")),
    default="use",
    show_default=True,
    help="Samples whose identical runs differ too much.",
)
@click.option(
    "--train-up-to", type=int, help="Train on at most so many nodes; larger runs become a test set."
)
@click.option(
    "--as-printed",
    is_flag=True,
    help="The paper's method: converged samples, five techniques, lambda 0.01, mean square errors.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Leave errors.png and variability.png here.")
@seed_option
@json_option
def fit(more: tuple[Path, ...], **options: Any) -> None:
    """Fit a write-time model on IOR results and write it to a file.

    Identical runs make one sample. `best` tunes five techniques, each on every combination of write scales, and a
    stack of simple models, and keeps the one with the least relative error on held-out patterns and scales.

    --as-printed leaves out samples that did not converge and the stack, tunes nothing, and keeps what has the least
    mean square error on a fifth of every scale. All larger runs are then scored; without it, those with a forecast.
    """
    from penstock.plan.write.fitting import FitRequest, fit_runs, read_all
    from penstock.plan.write.ior_results import Tally
    from penstock.plan.write.stored_model import dump_model

    as_json, plot = options.pop("as_json"), options.pop("plot")
    request = FitRequest(**(options | {"data": (*options["data"], *more)}))
    tally = Tally()
    runs = read_all(request, tally)
    _say_read(tally, runs, request)
    outcome = fit_runs(request, runs, _progress)
    write_text(request.out, dump_model(outcome.model))
    if plot is not None:
        _plot(outcome, plot)
    if as_json:
        emit_json(_document(outcome, request, tally))
    else:
        _show(outcome, request, tally)


def _say_read(tally: Tally, runs: Sequence[IorRun], request: FitRequest) -> None:
    """Report what was read, and that a table with several systems needs --where."""
    click.echo(f"read {len(runs)} {request.operation}s from {counted(len(request.data), 'file')}", err=True)
    for column, values in tally.mixed.items():
        shown = ", ".join(values)
        click.echo(
            f"the data mix {column} = {shown}: one model of all is seldom right; "
            f"pass --where {column}={values[0]} for one of them",
            err=True,
        )


@contextmanager
def _progress(steps: int) -> Iterator[Callable[[], object]]:
    with click.progressbar(length=steps, label="fitting", file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _plot(outcome: FitOutcome, directory: Path) -> None:
    """Plot the signed errors on larger runs that the model has not seen, and the variability of identical runs."""
    from penstock.plan.write.accuracy import relative_errors
    from penstock.plan.write.error_plots import signed_errors, variability_cdf
    from penstock.plan.write.gather import spreads

    parts = {"trained on": outcome.model.samples, "larger runs": outcome.tested}
    panels = {}
    for name, part in parts.items():
        if len(part):
            errors = relative_errors(outcome.model.predict_samples(part), part.seconds)
            panels[f"{name} ({len(part)})"] = {outcome.model.technique: (part.seconds, errors)}
    signed_errors(panels, directory / "errors.png", str(outcome.model.name))
    ratios = spreads(outcome.runs)
    if ratios:
        variability_cdf({"all samples": ratios}, directory / "variability.png", "Identical runs")


def _document(outcome: FitOutcome, request: FitRequest, tally: Tally) -> dict[str, Any]:
    return {
        "model": str(request.out),
        "system": outcome.model.samples.system.name,
        "operation": outcome.model.subject.operation,
        "files": outcome.model.subject.files,
        "technique": outcome.model.technique,
        "parameters": dict(outcome.model.given),
        "scales": list(outcome.best.trial.scales),
        "samples": outcome.used,
        "unconverged_samples": outcome.unconverged,
        "training_samples": len(outcome.model.samples),
        "left_out": {**tally.left_out, **outcome.left_out},
        "short_writes": tally.short,
        "inside": _figures(outcome.best.inside),
        "beyond": _figures(outcome.best.beyond),
        "test": _figures(outcome.test),
        "support": asdict(outcome.model.support) | {"nodes": _most_nodes(outcome)},
        "as_printed": request.as_printed,
        "techniques": {
            one.trial.technique: {
                "error": one.score,
                **_squares(one, request.as_printed),
                "parameters": dict(one.trial.given),
                "scales": list(one.trial.scales),
                "inside": _figures(one.inside),
                "beyond": _figures(one.beyond),
            }
            for one in outcome.judged
        },
    }


def _squares(one: Judged, as_printed: bool) -> dict[str, float]:
    """The mean square errors that the paper compares, in seconds squared."""
    return {"validation_mse": one.trial.error, "base_validation_mse": one.base.error} if as_printed else {}


def _figures(found: Accuracy | None) -> dict[str, float | None] | None:
    """What JSON has no word for, the mean of nothing, is null."""
    if found is None:
        return None
    return {name: None if value != value else value for name, value in asdict(found).items()}  # noqa: PLR0124


def _most_nodes(outcome: FitOutcome) -> int:
    """The most nodes that the model gives a forecast for."""
    return outcome.model.support.limit(max(outcome.model.samples.scales))


def _show(outcome: FitOutcome, request: FitRequest, tally: Tally) -> None:
    from rich.table import Table

    screen = console()
    lines = Table("lines, runs and samples", "count", box=None)
    lines.add_row("read", str(tally.read))
    for reason, count in {**tally.left_out, **outcome.left_out}.items():
        lines.add_row(f"left out: {reason}", str(count))
    lines.add_row("moved less than asked; counted with what they moved", str(tally.short))
    lines.add_row("samples used", str(outcome.used))
    if outcome.unconverged:
        text = "of them with runs that differ too much (--unconverged drop leaves them out)"
        lines.add_row(text, str(outcome.unconverged))
    screen.print(lines)
    table = Table(title="shares within 20% / 30% on held-out patterns, and on held-out larger scales")
    for heading in ("technique", "patterns", "larger scales", "mean error", "trained on nodes"):
        table.add_column(heading)
    for one in sorted(outcome.judged, key=lambda one: one.score):
        scales = ", ".join(map(str, one.trial.scales))
        table.add_row(
            one.trial.technique, _within(one.inside), _within(one.beyond), f"{one.score:.0%}", scales
        )
    screen.print(table)
    if outcome.test is not None:
        _show_test(outcome.test)
    screen.print(
        f"Forecasts up to {_most_nodes(outcome)} nodes: {outcome.model.support.reason}", soft_wrap=True
    )
    screen.print(f"Model ({outcome.model.technique}): {request.out}", soft_wrap=True)


def _show_test(found: Accuracy) -> None:
    """Larger runs that had no part in the fit."""
    refused = f", {found.refused} without a forecast" if found.refused else ""
    said = f"{_within(found)}{_held(found)}" if found.samples else "no forecast"
    console().print(f"larger runs, {found.samples} samples{refused}: {said}", soft_wrap=True)


def _held(found: Accuracy) -> str:
    if found.held is None:
        return ", no intervals"
    return f", {found.held:.0%} of {found.intervals} inside their 80% interval"


def _within(found: Accuracy | None) -> str:
    return "-" if found is None else f"{100 * found.within_20:.0f} / {100 * found.within_30:.0f}"
