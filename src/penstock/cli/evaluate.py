"""`penstock evaluate`: the experiments of the papers' evaluation on the simulated clusters."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.evaluate_replay import replay
from penstock.cli.evaluate_worlds import (
    GUARD,
    PATH,
    checked_policies,
    lab_options,
    open_lab,
    robust,
    scenarios,
)
from penstock.cli.options import (
    DURATION,
    ListedGroup,
    console,
    emit_json,
    prepare_simulator,
    progress,
    together,
)
from penstock.errors import UsageError, refusal
from penstock.evaluate.experiments import EXPERIMENTS, Experiment

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from penstock.evaluate.request import Request
    from penstock.report.page import Table
    from penstock.simulate.cluster import Cluster

PICTURES = ("surfaces", "trails", "trail", "path")
# experiment -> the rows and the time its example takes: seconds, not hours
ROWS = {
    "static": "--only s_rd_rn_1m --seconds 5",
    "dynamic": "--list read_sequence_0 --seconds 1",
    "independent": "--only table-v --seconds 2",
    "interference": "--list r_r_dd_10g_1 --seconds 1",
    "applications": "--only vpic-1d --seconds 2",
    "cache": "--only in-place-updates --seconds 2",
}


@click.group(cls=ListedGroup, epilog="Example: penstock evaluate static --only s_rd_rn_1m --seconds 10")
def evaluate() -> None:
    """The evidence: every experiment of the papers' evaluation, with honest baselines.

    Results are cached by what determines them, so an interrupted evaluation goes on where it stopped.
    """


_options = together(
    lab_options,
    click.option("--cluster", "cluster_name", default="c220g5", show_default=True, metavar="NAME|FILE.toml"),
    click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one parameter."),
    click.option(
        "--seeds", type=click.IntRange(1, 1000), default=1, show_default=True,
        help="So many seeds from --seed on, with confidence intervals.",
    ),
    click.option("--out", type=PATH, help="Directory for report.html, report.md and results.json."),
)  # fmt: skip
_ROWS = click.option("--only", multiple=True, metavar="ROW", help="This row only; repeat for more.")
# The older name is still understood.
_LISTS = click.option(
    "--list", "--only", "only", multiple=True, metavar="NAME|FILE",
    help="This list only; repeat for more. [default: the authors']",
)  # fmt: skip


def _command(experiment: Experiment) -> click.Command:
    name, seconds = experiment.name, experiment.seconds

    @evaluate.command(
        name,
        help=experiment.help,
        short_help=experiment.help.partition("\n")[0],
        epilog=f"Example: penstock evaluate {name} {ROWS[name]}",
    )
    @(_LISTS if experiment.lists else _ROWS)
    @_options
    @click.option("--seconds", type=DURATION, default=seconds, show_default=True, help="Measured time.")
    def run(as_json: bool, out: Path | None, **options: Any) -> None:
        started = time.monotonic()
        request = _request(**options)
        with open_lab(**options) as lab:
            document = experiment.run(lab, request)
        click.echo(f"penstock: {name} took {time.monotonic() - started:.0f} s", err=True)
        _deliver([document], out, as_json)

    return run


for _each in EXPERIMENTS.values():
    _command(_each)
evaluate.add_command(scenarios)
evaluate.add_command(robust)
evaluate.add_command(replay)


@evaluate.command("all", epilog="Example: penstock evaluate all --only cache --scale 0.05 --out results")
@_ROWS
@_options
@click.option(
    "--scale", type=click.FloatRange(0.01, 10), default=1.0, show_default=True, help="Shorten all runs."
)
def everything(as_json: bool, out: Path | None, scale: float, **options: Any) -> None:
    """All experiments, CARAT beside the judged policy, every baseline on six workloads.

    More than half an hour on two idle cores at full length with an empty cache; --scale shortens every run, and
    --only names experiments: those of this group, `baselines`, and `beside` for the papers' own cluster.
    """
    started = time.monotonic()
    if options["model"] == "own":
        raise UsageError("--model own: give it to one experiment; ./run bench results measures both models")
    request = _request(seconds=60.0, **options)
    from penstock.evaluate.everything import evaluate as evaluate_all

    with open_lab(**options) as lab:
        documents = []
        for document in evaluate_all(lab, request, scale):
            documents.append(document)
            _save(documents, out)
            spent_s = time.monotonic() - started
            click.echo(
                f"penstock: {document['role']} on {document['cluster']} done, {spent_s:.0f} s", err=True
            )
    _deliver(documents, out, as_json)


def _request(
    cluster_name: str,
    overrides: Sequence[str],
    policies: tuple[str, ...],
    seed: int,
    seeds: int,
    only: tuple[str, ...],
    guard: str,
    model: str | None,
    seconds: float,
    cache_dir: Path | None = None,
    workers: int | None = None,
    **_: Any,
) -> Request:
    if not 1 <= seconds <= 1e5:
        raise UsageError(f"--seconds {seconds:g}: give a time from 1 to 100,000")
    from penstock.simulate.cluster import find_cluster, with_changes

    cluster = with_changes(find_cluster(cluster_name), overrides)
    prepare_simulator()
    from penstock.evaluate.request import OWN, SHIPPED, Request

    chosen = checked_policies(policies, model)
    own = _own_models(cluster, chosen, cache_dir, workers) if model == OWN else {}
    model = None if model == SHIPPED else model
    words = ["--cluster", cluster_name]
    for override in overrides:
        words += ["--set", override]
    terms = (chosen, seconds, seed, seeds, GUARD[guard], model)
    return Request(*terms, cluster=cluster, only=only, cluster_words=tuple(words), own=own)


def _own_models(
    cluster: Cluster, policies: Sequence[str], cache_dir: Path | None, workers: int | None
) -> dict[str, str]:
    """A model of this cluster for every policy that uses one, from the cache if it exists."""
    from penstock.evaluate.ownmodels import OwnWorld, own_models
    from penstock.evaluate.store import default_directory

    directory = (cache_dir or default_directory()) / "models"
    return own_models(OwnWorld(cluster), policies, directory, workers or os.cpu_count() or 1, progress())


def _deliver(documents: Sequence[dict[str, Any]], out: Path | None, as_json: bool) -> None:
    _save(documents, out)
    bare = [_without_pictures(document) for document in documents]
    if as_json:
        emit_json(bare[0] if len(bare) == 1 else {"experiments": bare})
        return
    from penstock.evaluate.report import sections

    for section in sections(documents):
        console().print(section.title, style="bold")
        for table in section.tables:
            console().print(_shown(table))
    if out is not None:
        click.echo(f"penstock: report in {out / 'report.html'}", err=True)


def _save(documents: Sequence[dict[str, Any]], out: Path | None) -> None:
    """Save the report so far, so that an interrupted evaluation keeps its results."""
    if out is None:
        return
    from penstock.evaluate.report import write

    try:
        write(documents, out)
    except OSError as error:
        raise refusal(out, error) from None


def _shown(table: Table) -> RichTable:
    """The document for a terminal, without the commands, which would fill it."""
    from rich.table import Table as RichTable

    kept = [i for i, heading in enumerate(table.heading) if heading != "command"]
    shown = RichTable()
    for i in kept:
        shown.add_column(table.heading[i], justify="right" if i else "left")
    for row in table.rows:
        shown.add_row(*(row[i].strip("`*") for i in kept))
    return shown


def _without_pictures(document: dict[str, Any]) -> dict[str, Any]:
    """The document without data for pictures (by interval and by setting), which is in results.json."""
    kept = {key: value for key, value in document.items() if key not in PICTURES}
    for part in ("rows", "lists"):
        if part in document:
            kept[part] = [
                {key: value for key, value in row.items() if key not in PICTURES} for row in document[part]
            ]
    return kept
