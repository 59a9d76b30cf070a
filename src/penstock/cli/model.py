"""`penstock model`: shows a model, checks its file, and explains its predictions."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import ListedGroup, console, emit_json, json_option, write_text

if TYPE_CHECKING:
    from penstock.predict.model import DirectionModel, Model
    from penstock.train.inspect import Inspected

PATH = click.Path(path_type=Path)
DATA = click.option("--data", type=PATH, required=True, help="Directory of *.csv.gz or *.parquet files.")
SHIPPED = ("default", "printed")
COLUMNS = ("workload", "iteration", "ost", "observation_no", "direction", "p")


@click.group(cls=ListedGroup, epilog="Example: penstock model show default")
def model() -> None:
    """Look into a model. FILE is a model file, or the name of one that ships.

    `default` is ours; `printed`, for `carat` and `dial`, was fitted with CARAT's own features and labels.
    """


@model.command(epilog="Example: penstock model show default --features 8")
@click.argument("file", type=PATH)
@click.option("--features", "count", type=click.IntRange(1, 200), default=10, show_default=True)
@click.option("--plot", type=PATH, help="Also draw the features that matter (PNG, one panel a direction).")
@json_option
def show(file: Path, count: int, plot: Path | None, as_json: bool) -> None:
    """What a model was trained on, how good it is, which features matter."""
    from penstock.predict.explain import importance

    found = open_model(file)
    weights = {}
    for direction, part in found.directions.items():
        shares = importance(part.forest)
        order = shares.argsort()[::-1][:count]
        weights[direction] = [(part.names[index], float(shares[index])) for index in order]
    if plot is not None:
        from penstock.report.learning import draw_bars

        bars = [
            (f"{name} ({direction})", share) for direction, rows in weights.items() for name, share in rows
        ]
        draw_bars(plot, "What separates", bars, "share of the variance that splits take away")
    if as_json:
        emit_json(_summary(found) | {"importance": {name: dict(rows) for name, rows in weights.items()}})
        return
    _print_summary(found, weights)


@model.command(epilog="Example: penstock model check model.json")
@click.argument("file", type=PATH)
@json_option
def check(file: Path, as_json: bool) -> None:
    """Whether a model file is whole, sound and made for this version; exit 5 and one line when it is not."""
    found = open_model(file)
    if as_json:
        emit_json({"ok": True, "sha256": found.digest, **_sizes(found)})
    else:
        trees = ", ".join(f"{name} {len(part.forest.roots)} trees" for name, part in found.directions.items())
        console().print(f"{file}: sound ({trees}; sha256 {found.digest[:16]})", soft_wrap=True)


@model.command(epilog="Example: penstock model predict model.json --data data --out p.csv")
@click.argument("file", type=PATH)
@DATA
@click.option("--out", type=PATH, required=True, help="CSV with one row per sample.")
@json_option
def predict(file: Path, data: Path, out: Path, as_json: bool) -> None:
    """The probability of every sample in a data set."""
    from penstock.train.apply import predictions
    from penstock.train.table import read_table

    found, table = open_model(file), read_table(data)
    text, rows = io.StringIO(), 0
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for item in predictions(found, table):
        keys = [getattr(table, name)[item.found.middle].tolist() for name in COLUMNS[:4]]
        for *key, p in zip(*keys, item.p.tolist(), strict=True):
            writer.writerow([*key, item.found.direction, f"{p:.9g}"])
        rows += len(item.p)
    write_text(out, text.getvalue())
    if as_json:
        emit_json({"out": str(out), "rows": rows, "sha256": found.digest})
    else:
        console(stderr=True).print(f"{rows} rows in {out}", soft_wrap=True)


@model.command(epilog="Example: penstock model evaluate default --data data --json")
@click.argument("file", type=PATH)
@DATA
@click.option("--plot", type=PATH, help="Also draw how reliable the probabilities are (PNG).")
@json_option
def evaluate(file: Path, data: Path, plot: Path | None, as_json: bool) -> None:
    """How good a model is on a data set; says so when it was trained on some of it."""
    from penstock.cli.train import show_judgements
    from penstock.train.apply import predictions, seen_runs
    from penstock.train.judge import judge, reliability
    from penstock.train.table import read_table

    found, table = open_model(file), read_table(data)
    items = list(predictions(found, table))
    if seen := seen_runs(found, table):
        message = (
            f"the model was trained on {len(seen)} of these runs ({seen[0]}, ...): its figures are flattered"
        )
        console(stderr=True).print(message, soft_wrap=True)
    judgements = {item.found.direction: judge(item.found.label, item.p) for item in items}
    if plot is not None:
        from penstock.report.learning import draw_reliability

        draw_reliability(
            plot, {item.found.direction: reliability(item.found.label, item.p) for item in items}
        )
    if as_json:
        emit_json({name: dataclasses.asdict(verdict) for name, verdict in judgements.items()})
    else:
        show_judgements(judgements, f"{file} on {data}")


@model.command(epilog="Example: penstock model explain default --data data --sample s_wr_rn_8k/1/0/25")
@click.argument("file", type=PATH)
@DATA
@click.option(
    "--sample", "name", required=True, help="WORKLOAD/ITERATION/OST/OBSERVATION_NO of the middle row."
)
@click.option("--pages", type=click.IntRange(1), help="Ask about another candidate than the recorded one.")
@click.option("--flight", type=click.IntRange(1), help="Ask about another candidate than the recorded one.")
@click.option("--top", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--plot", type=PATH, help="Also draw the contributions (PNG).")
@json_option
def explain(
    file: Path,
    data: Path,
    name: str,
    pages: int | None,
    flight: int | None,
    top: int,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Why a model says what it says about one window: every feature's contribution to the logit."""
    from penstock.train.inspect import inspect
    from penstock.train.table import read_table

    found = inspect(open_model(file), read_table(data), name, pages, flight)
    largest = found.contributions[:top]
    if plot is not None:
        from penstock.report.learning import draw_bars

        title = f"{name}: pages {found.pages}, flight {found.flight}: p = {found.probability:.3f}"
        draw_bars(plot, title, [(f"{n} = {v:.2f}", c) for n, v, c in largest], "contribution to the logit")
    if as_json:
        document = dataclasses.asdict(found)
        document["contributions"] = {
            n: {"value": _json_number(v), "logit": c} for n, v, c in found.contributions
        }
        emit_json(document)
        return
    _print_explanation(found, top)


def open_model(file: Path) -> Model:
    """A checked model; `default` and `printed` name those that ship with the package."""
    from penstock.predict import modelfile
    from penstock.predict.shipped import default_model, printed_model

    if str(file) not in SHIPPED:
        return modelfile.load(file)
    return printed_model() if str(file) == "printed" else default_model()


def _summary(found: Model) -> dict[str, Any]:
    return {
        "sha256": found.digest,
        "space": found.space,
        "knobs": {knob: list(values) for knob, values in found.knobs.items()},
        "provenance": dict(found.provenance),
        **_sizes(found),
        "metrics": {name: dict(part.metrics) for name, part in found.directions.items()},
    }


def _sizes(found: Model) -> dict[str, Any]:
    return {name: _size(part) for name, part in found.directions.items()}


def _size(part: DirectionModel) -> dict[str, int]:
    forest = part.forest
    return {
        "history": part.history,
        "features": len(part.names),
        "trees": len(forest.roots),
        "leaves": len(forest.value),
    }


def _print_summary(found: Model, weights: dict[str, list[tuple[str, float]]]) -> None:
    screen = console()
    screen.print(f"sha256 {found.digest}", soft_wrap=True)
    for key, value in found.provenance.items():
        shown = f"{len(value)} ({value[0]} ...)" if isinstance(value, list) and value else value
        screen.print(f"{key}: {shown}", soft_wrap=True, markup=False)
    for direction, part in found.directions.items():
        sizes = ", ".join(f"{name} {count}" for name, count in _size(part).items())
        screen.print(f"\n{direction}: {sizes}", style="bold")
        for name, value in part.metrics.items():
            screen.print(f"  {name:<28} {value:.4g}")
        screen.print("  what separates:")
        for name, share in weights[direction]:
            screen.print(f"    {share:6.1%}  {name}")


def _print_explanation(found: Inspected, top: int) -> None:
    screen = console()
    screen.print(
        f"p = {found.probability:.3f} that pages {found.pages}, flight {found.flight} moves more than "
        f"1.15 times what the {found.direction} window {found.sample} moved",
        soft_wrap=True,
    )
    screen.print(f"{found.base:+8.3f}  expected before anything is known")
    for name, value, amount in found.contributions[:top]:
        screen.print(f"{amount:+8.3f}  {name} = {value:.3f}")
    rest = sum(amount for _, _, amount in found.contributions[top:])
    screen.print(f"{rest:+8.3f}  all other features")
    if found.outside:
        screen.print(
            f"outside the training range: {', '.join(found.outside)}; do not act on this", soft_wrap=True
        )


def _json_number(value: float) -> float | None:
    return None if value != value else value  # noqa: PLR0124 - NaN alone differs from itself
