"""`penstock train`: collecting measurements, fitting a model, comparing kinds of models."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import console, emit_json, json_option, seed_option, write_text

if TYPE_CHECKING:
    from penstock.train.fit import Fit
    from penstock.train.judge import Judgement

PATH = click.Path(path_type=Path)
DATA_HELP = "Directory of *.csv.gz (as in lustre-traces) or *.parquet (of train collect)."


@click.group()
def train() -> None:
    """From measurements to a model: collect, fit, compare, study."""


@train.command(epilog="Example: penstock train fit --data traces/ --out model.json")
@click.option("--data", type=PATH, required=True, help=DATA_HELP)
@click.option("--out", type=PATH, required=True, help="Where the model file goes.")
@click.option(
    "--history", type=click.IntRange(0, 16), help="Intervals before the current; else the best known."
)
@click.option("--search", is_flag=True, help="Search for better tree parameters first (bounded; slow).")
@click.option("--trials", type=click.IntRange(1, 1000), default=20, show_default=True, help="Ends --search.")
@click.option(
    "--minutes", type=click.FloatRange(min=0.01), default=30.0, show_default=True, help="Ends --search, too."
)
@click.option("--plot", type=PATH, help="Also draw how reliable the probabilities are (PNG).")
@click.option("--origin", default="", help="What the data is, for the model's provenance.")
@seed_option
@json_option
def fit(
    data: Path,
    out: Path,
    history: int | None,
    search: bool,
    trials: int,
    minutes: float,
    plot: Path | None,
    origin: str,
    seed: int,
    as_json: bool,
) -> None:
    """Fit read and write classifiers and judge them on runs they did not see.

    A sample is three consecutive intervals: does the last, under its own setting, move more than 1.15 times
    the bytes per second of the middle one? Runs are split as a whole, never row by row.
    """
    from penstock.predict import modelfile
    from penstock.train.build import build_model
    from penstock.train.fit import fit_all
    from penstock.train.recipe import Bound, recipe_for
    from penstock.train.table import read_table

    say = progress()
    say(f"reading {data}")
    table = read_table(data)
    check_writable(out)
    recipe = recipe_for(table, history, seed, Bound(trials, minutes * 30) if search else None, say)
    fits = list(fit_all(table, recipe, say))
    model = build_model(fits, table, recipe, origin or data.resolve().name)
    write_text(out, modelfile.dump(model).decode())
    if plot is not None:
        _draw(plot, fits)
    held_out = {item.part.direction: item.judgement for item in fits}
    if as_json:
        document = {name: dataclasses.asdict(verdict) for name, verdict in held_out.items()}
        history_of = {item.part.direction: item.part.history for item in fits}
        emit_json({"model": str(out), "sha256": model.digest, "history": history_of, "held_out": document})
        return
    show_judgements(held_out, "On runs held out of the fit")
    console().print(f"Model: {out}", soft_wrap=True)


def progress() -> Callable[[str], None]:
    """Messages on stderr, one line each, so that logs and terminals can both bear them."""
    screen = console(stderr=True)
    return lambda message: screen.print(message, style="dim", soft_wrap=True, markup=False)


def check_writable(path: Path) -> None:
    """Fail now rather than after minutes of work when an output cannot be written."""
    if not path.exists():
        write_text(path, "")
        path.unlink()


def show_judgements(judgements: Mapping[str, Judgement], title: str) -> None:
    """The figures of `Judgement` as a table, one row a direction."""
    from rich.table import Table

    table = Table(title=title)
    for heading in ("direction", "samples", "positive", "error", "trivial", "precision", "recall", "AUC"):
        table.add_column(heading, justify="left" if heading == "direction" else "right")
    for direction, found in judgements.items():
        shares = (found.error, found.trivial_error, found.precision_at_tau, found.recall_at_tau, found.auc)
        figures = [str(found.samples), str(found.positives), *(shown(value) for value in shares)]
        table.add_row(direction, *figures)
    console().print(table)


def shown(value: float | None, digits: int = 4) -> str:
    """A share for people."""
    return "-" if value is None else f"{value:.{digits}f}"


def _draw(path: Path, fits: Sequence[Fit]) -> None:
    from penstock.report.learning import draw_reliability
    from penstock.train.judge import reliability

    draw_reliability(path, {item.part.direction: reliability(item.label, item.held_out) for item in fits})
