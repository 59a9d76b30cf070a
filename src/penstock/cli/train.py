"""`penstock train`: collects measurements, fits a model, compares kinds of models."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    ListedGroup,
    NearestChoice,
    console,
    emit_json,
    json_option,
    progress,
    require_libraries,
    seed_option,
    write_text,
)
from penstock.cli.train_collect import collect
from penstock.cli.train_survey import survey
from penstock.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from penstock.train.compare import ClassifierScore
    from penstock.train.fit import Fit
    from penstock.train.judge import Judgement
    from penstock.train.study import StudyPoint

PATH = click.Path(path_type=Path)
RECIPE_NAMES = ("forest", "printed", "printed-history", "printed-soft")
NETS = ("rnn", "tcn")
KINDS = ("svm", "fc-nn", *NETS, "gbdt")
DATA_HELP = "Directory of *.csv.gz (traces), *.parquet (of train collect) or *.jsonl.gz (held settings)."
FIT_HELP = DATA_HELP + " Or what `collect --live DIR` wrote. Several may be given."


@click.group(cls=ListedGroup, epilog="Example: penstock train fit --data data --out model.json")
def train() -> None:
    """From measurements to a model: collect, fit, compare, study."""


train.add_command(collect)
train.add_command(survey)


@train.command(epilog="Example: penstock train fit --data data --out model.json")
@click.option("--data", type=PATH, required=True, multiple=True, help=FIT_HELP)
@click.option("--out", type=PATH, required=True, help="Where the model file goes.")
@click.option(
    "--history", type=click.IntRange(0, 16), help="Intervals before the current; else the best known."
)
@click.option(
    "--rounds", type=click.IntRange(1, 4096), help="Trees a direction; fewer are faster and weaker."
)
@click.option("--leaves", type=click.IntRange(2, 255), help="Leaves a tree; fewer are faster and weaker.")
@click.option(
    "--recipe",
    "kind",
    type=NearestChoice(RECIPE_NAMES),
    default="forest",
    show_default=True,
    help="forest: our features; printed: CARAT's, hard labels; the others improve it in one thing.",
)
@click.option(
    "--label",
    type=NearestChoice(("wire", "application")),
    default="wire",
    show_default=True,
    help="What a gain is counted in; application: what programs got, of settings held for 8 s (collect --hold 8).",
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
    data: tuple[Path, ...],
    out: Path,
    history: int | None,
    rounds: int | None,
    leaves: int | None,
    kind: str,
    label: str,
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
    the bytes per second of the middle one? With --label application settings are held (collect --hold 8): do
    programs get more than 1.15 times as much in the last 4 s of the next setting as in those of this one? Bytes
    that are rewritten in memory count there. Runs are split as a whole, never row by row.
    """
    from penstock.predict import modelfile
    from penstock.train.build import build_model
    from penstock.train.fit import RECIPES, fit_samples
    from penstock.train.fitdata import read_fit_data
    from penstock.train.recipe import Bound, adapted, searched

    require_libraries("train", "lightgbm", *(("optuna",) if search else ()))
    if plot is not None:
        require_libraries("train", "matplotlib")
    say = progress()
    say(f"reading {', '.join(str(directory) for directory in data)}")
    read = read_fit_data(
        data, adapted(dataclasses.replace(RECIPES[kind](), label=label), seed, history, rounds, leaves)
    )
    check_writable(out)
    drawn, recipe = list(read.found.values()), read.recipe
    if search:
        recipe = searched(recipe, drawn, Bound(trials, minutes * 30), say)
    fits = list(fit_samples(drawn, recipe, say))
    origin = origin or ", ".join(directory.resolve().name for directory in data)
    model = build_model(fits, read.source, recipe, origin)
    write_text(out, modelfile.dump(model).decode())
    if plot is not None:
        _draw(plot, fits)
    held_out = {item.part.direction: item.judgement for item in fits}
    for name, verdict in held_out.items():
        if verdict.only_guesses:
            say(f"{name}: no better than guessing on runs it did not see; it takes more or longer runs")
    if as_json:
        document = {name: dataclasses.asdict(verdict) for name, verdict in held_out.items()}
        history_of = {item.part.direction: item.part.history for item in fits}
        emit_json({"model": str(out), "sha256": model.digest, "history": history_of, "held_out": document})
        return
    show_judgements(held_out, "On runs held out of the fit")
    console().print(f"Model: {out}", soft_wrap=True)


@train.command(epilog="Example: penstock train compare --data data --kinds svm,gbdt --trials 2")
@click.option("--data", type=PATH, required=True, help=DATA_HELP)
@click.option(
    "--kinds", default=",".join(KINDS), show_default=True, help="rnn and tcn need the extra [nets]."
)
@click.option(
    "--trials",
    type=click.IntRange(1, 100),
    default=6,
    show_default=True,
    help="Parameters each kind may try.",
)
@click.option(
    "--out", type=PATH, help="Keep rows in this file; started again, what is there is not made anew."
)
@seed_option
@json_option
def compare(data: Path, kinds: str, trials: int, out: Path | None, seed: int, as_json: bool) -> None:
    """CARAT's Table IV on your data: kinds of classifiers on the same samples, split by run.

    Every kind has the features that CARAT prints, labels of 0 and 1, and as many trials as every other.
    """
    from penstock.train.compare import TrialBudget
    from penstock.train.compare import compare as rows_of
    from penstock.train.kept_scores import append_score, read_scores
    from penstock.train.table import read_table

    chosen = tuple(kinds.split(","))
    for kind in chosen:
        if kind not in KINDS:
            raise UsageError(
                f"unknown kind {kind!r}, known are {', '.join(KINDS)}{did_you_mean(kind, KINDS)}"
            )
    if set(chosen) <= set(NETS):
        require_libraries("nets", "torch")
    require_libraries("train", "sklearn", *(("lightgbm",) if "gbdt" in chosen else ()))
    known = {} if out is None else read_scores(out)
    if out is not None:
        check_writable(out)
    rows = []
    for row in rows_of(read_table(data), chosen, TrialBudget(trials, seed), progress(), known):
        rows.append(row)
        if out is not None and row.key not in known:
            append_score(out, row)
    if as_json:
        emit_json({"rows": [_row_document(row) for row in rows]})
    else:
        _show_rows(rows)


@train.command(epilog="Example: penstock train study --data data --histories 0,1 --merge 1 --folds 2")
@click.option("--data", type=PATH, required=True, help=DATA_HELP)
@click.option("--histories", default="0,1,2,4,8", show_default=True, help="History lengths to try.")
@click.option("--merge", "merges", default="1,2,4", show_default=True, help="Intervals to merge into one.")
@click.option("--folds", type=click.IntRange(2, 20), default=3, show_default=True)
@click.option("--plot", type=PATH, help="Also draw error and recall against history (PNG).")
@json_option
def study(data: Path, histories: str, merges: str, folds: int, plot: Path | None, as_json: bool) -> None:
    """How much history and which probing interval serve best, on runs held out."""
    from penstock.train.study import study as points_of
    from penstock.train.table import read_table

    lengths, factors = _counts(histories, "--histories", 0), _counts(merges, "--merge", 1)
    require_libraries("train", "lightgbm", *(("matplotlib",) if plot is not None else ()))
    points = list(points_of(read_table(data), lengths, factors, folds, progress()))
    if plot is not None:
        _draw_study(plot, points)
    if as_json:
        emit_json({"points": [dataclasses.asdict(point) for point in points]})
    else:
        _show_points(points)


def _counts(text: str, option: str, floor: int) -> tuple[int, ...]:
    words = text.split(",")
    if not all(word.isdigit() and floor <= int(word) <= 16 for word in words):
        raise UsageError(f"{option} {text!r} is not a list of whole numbers {floor}..16, as in 0,1,8")
    return tuple(int(word) for word in words)


def _row_document(row: ClassifierScore) -> dict[str, object]:
    return {
        "kind": row.kind,
        "direction": row.direction,
        **dataclasses.asdict(row.judgement),
        "paper_error": row.paper_error,
        "trials": row.trials,
        "parameters": dict(row.given),
        "train_s": row.train_s,
        "target_us": row.target_us,
    }


def _show_rows(rows: Sequence[ClassifierScore]) -> None:
    from rich.table import Table

    table = Table(title="Kinds of classifiers, one interval of history, on runs held out")
    headings = (
        "kind",
        "direction",
        "error",
        "paper",
        "trivial",
        "precision",
        "recall",
        "AUC",
        "train s",
        "99 in us",
    )
    for heading in headings:
        table.add_column(heading, justify="left" if heading in ("kind", "direction") else "right")
    for row in rows:
        found = row.judgement
        shares = (found.precision_at_tau, found.recall_at_tau, found.auc)
        table.add_row(
            row.kind,
            row.direction,
            shown(found.error),
            shown(row.paper_error, 2),
            shown(found.trivial_error),
            *(shown(value, 3) for value in shares),
            f"{row.train_s:.1f}",
            f"{row.target_us:.0f}",
        )
    console().print(table)


def _show_points(points: Sequence[StudyPoint]) -> None:
    from rich.table import Table

    table = Table(title="History and probing interval, on runs held out")
    for heading in ("direction", "interval s", "history", "samples", "error", "precision", "recall", "AUC"):
        table.add_column(heading, justify="left" if heading == "direction" else "right")
    for point in points:
        found = point.judgement
        shares = (found.precision_at_tau, found.recall_at_tau, found.auc)
        figures = (f"{point.interval_s:.2f}", str(point.history), str(found.samples), shown(found.error))
        table.add_row(point.direction, *figures, *(shown(value, 3) for value in shares))
    console().print(table)


def _draw_study(path: Path, points: Sequence[StudyPoint]) -> None:
    from penstock.report.learning import draw_lines

    panels: dict[str, dict[str, list[tuple[float, float]]]] = {"error at .5": {}, "recall at .8": {}}
    for point in points:
        if point.merged == 1:
            found = point.judgement
            panels["error at .5"].setdefault(point.direction, []).append((point.history, found.error))
            recall = found.recall_at_tau or 0.0
            panels["recall at .8"].setdefault(point.direction, []).append((point.history, recall))
    draw_lines(path, panels, "intervals of history before the current one")


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
