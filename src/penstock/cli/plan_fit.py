"""`penstock plan fit`: a model of your own system from your own IOR results."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
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

if TYPE_CHECKING:
    from penstock.plan.accuracy import Accuracy
    from penstock.plan.fitted import FittedModel
    from penstock.plan.ior import IorRun
    from penstock.plan.samples import Samples
    from penstock.plan.search import Trial

CHOICES = ("best", "linear", "lasso", "ridge", "tree", "forest", "svr-rbf", "svr-poly", "gp-rbf", "gp-poly")


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one call."""

    data: tuple[Path, ...]
    system: str | None
    out: Path
    technique: str
    locations: str
    where: tuple[str, ...]
    cores: int | None
    stripes: int | None
    shortest: float
    train_up_to: int | None
    plot: Path | None
    seed: int
    as_json: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The chosen model and how it did on samples it never saw."""

    model: FittedModel
    trials: Sequence[Trial]
    best: Trial
    base: Trial
    used: int
    unconverged: int
    validation: Accuracy
    test: Accuracy | None
    unseen: Mapping[str, Samples]
    runs: Sequence[IorRun]


@click.command(
    epilog="Example: penstock plan fit --data ior1.json --data ior2.csv --system mine.toml --out mine.json"
)
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
@click.option(
    "--train-up-to", type=int, help="Train on at most so many nodes; larger runs become a test set."
)
@click.option("--plot", type=click.Path(path_type=Path), help="Leave errors.png and variability.png here.")
@seed_option
@json_option
def fit(more: tuple[Path, ...], **options: Any) -> None:
    """Fit a write-time model on IOR results and write it to a file.

    Identical runs make one sample. Every combination of write scales is tried as training data and judged on
    a held-out fifth of each scale; `best` does so for five techniques and keeps the best.
    """
    request = Request(**(options | {"data": (*options["data"], *more)}))
    _check(request)
    outcome = _fit(request)
    from penstock.plan.modelfile import dump_model

    write_text(request.out, dump_model(outcome.model))
    if request.plot is not None:
        _plot(outcome, request.plot)
    if request.as_json:
        emit_json(_document(outcome, request))
    else:
        _show(outcome, request)


def _check(request: Request) -> None:
    from penstock.errors import UsageError

    for name, value in (
        ("cores", request.cores),
        ("stripes", request.stripes),
        ("train-up-to", request.train_up_to),
    ):
        if value is not None and value < 1:
            raise UsageError(f"--{name} {value} is not positive")
    if request.locations not in {"compact", "scattered"}:
        raise UsageError(f"--locations {request.locations!r} is not compact or scattered")


def _read(request: Request) -> tuple[Samples, list[IorRun]]:
    from penstock.plan.convergence import ConvergenceRule
    from penstock.plan.gather import gather
    from penstock.plan.ior import Assumed, read_runs
    from penstock.plan.system import load_system

    system = None if request.system is None else load_system(request.system)
    assumed = Assumed(request.cores, request.stripes, _filters(request.where))
    runs = [run for path in request.data for run in read_runs(path, assumed)]
    click.echo(f"read {len(runs)} writes from {len(request.data)} files", err=True)
    return gather(runs, system, request.locations, ConvergenceRule()), runs


def _filters(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    from penstock.errors import UsageError

    found = []
    for word in words:
        column, equals, value = word.partition("=")
        if not equals or not column:
            raise UsageError(f"--where {word!r} is not COLUMN=VALUE")
        found.append((column, value))
    return tuple(found)


def _fit(request: Request) -> Outcome:
    from penstock.errors import DataError
    from penstock.plan.accuracy import measure
    from penstock.plan.search import refit, split_validation

    samples, runs = _read(request)
    everything = samples.long_enough(request.shortest)
    usable = everything.take(everything.converged)
    if len(usable) == 0:
        raise DataError(f"no converged sample of at least {request.shortest:g} s; --shortest lowers the bar")
    limit = request.train_up_to or max(usable.scales)
    training, rest = usable.take(usable.nodes <= limit), usable.take(usable.nodes > limit)
    if len(training) == 0:
        raise DataError(f"no sample of up to {limit} nodes to train on")
    trials, bases = _search(training, request)
    best = min(trials, key=lambda trial: trial.mse)
    model = refit(training, best, request.seed, str(request.out))
    held = training.take(split_validation(training, request.seed))
    return Outcome(
        model=model,
        trials=trials,
        best=best,
        base=next(base for base in bases if base.technique == best.technique),
        used=len(usable),
        unconverged=len(everything) - len(usable),
        validation=measure(model.predict_samples(held), held.seconds),
        test=measure(model.predict_samples(rest), rest.seconds) if len(rest) else None,
        unseen={"held out": held, "larger runs": rest},
        runs=runs,
    )


def _search(training: Samples, request: Request) -> tuple[list[Trial], list[Trial]]:
    """The best trial and the base trial of every technique asked for."""
    from penstock.plan.search import search
    from penstock.plan.techniques import COMPARED

    wanted = COMPARED if request.technique == "best" else (request.technique,)
    count = (2 ** len(training.scales) - 1) * len(wanted)
    best, base = [], []
    bar = click.progressbar(length=count, label="fitting", file=sys.stderr)
    with bar:
        for technique in wanted:
            found = search(training, technique, request.seed, lambda: bar.update(1))
            best.append(found.best)
            base.append(found.base)
    return best, base


def _plot(outcome: Outcome, directory: Path) -> None:
    """The signed errors on samples the model never saw, and how far identical runs lie apart."""
    from penstock.plan.accuracy import relative_errors
    from penstock.plan.figures import signed_errors, variability_cdf
    from penstock.plan.gather import spreads

    panels = {}
    for name, part in outcome.unseen.items():
        if len(part):
            errors = relative_errors(outcome.model.predict_samples(part), part.seconds)
            panels[f"{name} ({len(part)})"] = {outcome.best.technique: (part.seconds, errors)}
    signed_errors(panels, directory / "errors.png", str(outcome.model.name))
    ratios = spreads(outcome.runs)
    if ratios:
        variability_cdf({"all samples": ratios}, directory / "variability.png", "Identical runs")


def _document(outcome: Outcome, request: Request) -> dict[str, Any]:
    return {
        "model": str(request.out),
        "system": outcome.model.samples.system.name,
        "technique": outcome.best.technique,
        "scales": list(outcome.best.scales),
        "samples": outcome.used,
        "unconverged_samples": outcome.unconverged,
        "training_samples": outcome.best.samples,
        "validation": asdict(outcome.validation),
        "base_mse": outcome.base.mse,
        "test": None if outcome.test is None else asdict(outcome.test),
        "techniques": {
            trial.technique: {"mse": trial.mse, "scales": list(trial.scales)} for trial in outcome.trials
        },
    }


def _show(outcome: Outcome, request: Request) -> None:
    from rich.table import Table

    screen = console()
    table = Table(title=f"{outcome.used} samples; error on a held-out fifth of each scale")
    for heading in ("technique", "mean square error", "trained on nodes"):
        table.add_column(heading)
    for trial in sorted(outcome.trials, key=lambda trial: trial.mse):
        table.add_row(trial.technique, f"{trial.mse:.4g}", ", ".join(map(str, trial.scales)))
    screen.print(table)
    for name, found in (("held out", outcome.validation), ("larger runs", outcome.test)):
        if found is not None:
            screen.print(
                f"{name}: {found.samples} samples, {found.within_20:.0%} within 20%, "
                f"{found.within_30:.0%} within 30%"
            )
    screen.print(f"Model ({outcome.best.technique}): {request.out}", soft_wrap=True)
