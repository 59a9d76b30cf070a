"""`penstock evaluate`: the experiments of the papers' evaluation on the simulated clusters."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    PolicyName,
    console,
    emit_json,
    json_option,
    refusal,
    say_compiling,
    seed_option,
)
from penstock.cli.simulate import find_cluster
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES
from penstock.errors import UsageError
from penstock.evaluate.lengths import SECONDS

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from penstock.evaluate.lab import Lab
    from penstock.evaluate.request import Request
    from penstock.report.page import Table

PATH = click.Path(path_type=Path)
PICTURES = ("surfaces", "trails", "trail", "path")
GUARD = {"auto": None, "on": True, "off": False}
# experiment -> one line for --help
EXPERIMENTS = {
    "static": "24 workloads (CARAT Fig. 6): default, policy, best of 99 static settings.",
    "dynamic": "Sequences of four workloads (Fig. 7), and fast switching; --seconds is one phase.",
    "independent": "Two processes on one client that need different settings (Table V).",
    "interference": "Clients that share OSTs (Table VI): aggregate, fairness, 5 to 100 clients.",
    "applications": "DLIO and H5bench kernels (Fig. 8, Table VII, DIAL's Table II).",
    "cache": "What tuning the dirty cache adds, Algorithm 2's overshoot, in-place updates.",
}


@click.group()
def evaluate() -> None:
    """The evidence: every experiment of the papers' evaluation, with honest baselines.

    Results are cached by what determines them, so an interrupted evaluation goes on where it stopped.
    """


def _options(function: click.decorators.FC) -> click.decorators.FC:
    options = (
        click.option("--cluster", "cluster_name", default="c220g5", show_default=True, metavar="NAME|FILE.toml"),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one parameter."),
        click.option(
            "--policy",
            "policies",
            type=PolicyName((*POLICY_NAMES, *EXPERIMENT_NAMES)),
            multiple=True,
            help="Judge this one; repeat to compare others with it. [default: what the agent ships with]",
        ),
        seed_option,
        click.option(
            "--seeds", type=click.IntRange(1, 1000), default=1, show_default=True,
            help="So many seeds from --seed on, with confidence intervals.",
        ),
        click.option("--only", multiple=True, metavar="ROW", help="This row only; repeat for more."),
        click.option(
            "--guard", type=NearestChoice(tuple(GUARD)), default="auto", show_default=True,
            help="The agent's guard around policies; auto: around those made for it.",
        ),
        click.option("--model", help="Another model file for policies that use one."),
        click.option("--workers", type=click.IntRange(1, 256), help="Processes. [all cores]"),
        click.option("--cache-dir", type=PATH, help="Where results are kept. [the user's cache directory]"),
        click.option("--fresh", is_flag=True, help="Neither use nor keep cached results."),
        click.option("--out", type=PATH, help="Directory for report.html, report.md and results.json."),
        json_option,
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def _command(name: str) -> click.Command:
    seconds, words = SECONDS[name], EXPERIMENTS[name]

    @evaluate.command(
        name, help=words, epilog=f"Example: penstock evaluate {name} --seconds {seconds:g} --json"
    )
    @_options
    @click.option("--seconds", type=DURATION, default=seconds, show_default=True, help="Measured time.")
    def run(as_json: bool, out: Path | None, **options: Any) -> None:
        started = time.monotonic()
        request = _request(**options)
        with _lab(**options) as lab:
            document = _experiment(name)(lab, request)
        click.echo(f"penstock: {name} took {time.monotonic() - started:.0f} s", err=True)
        _deliver([document], out, as_json)

    return run


for _name in EXPERIMENTS:
    _command(_name)


@evaluate.command("all", epilog="Example: penstock evaluate all --out results/ --scale 0.2")
@_options
@click.option(
    "--scale", type=click.FloatRange(0.01, 10), default=1.0, show_default=True, help="Shorten all runs."
)
def everything(as_json: bool, out: Path | None, scale: float, **options: Any) -> None:
    """All experiments, CARAT beside the judged policy, every baseline on six workloads.

    About 25 minutes on two idle cores at full length with an empty cache; --scale shortens every run.
    """
    if options["only"]:
        raise UsageError("--only belongs to one experiment; evaluate all runs every row")
    started = time.monotonic()
    request = _request(seconds=60.0, **options)
    from penstock.evaluate.everything import evaluate as evaluate_all

    with _lab(**options) as lab:
        documents = []
        for document in evaluate_all(lab, request, scale):
            documents.append(document)
            _save(documents, out)
            spent_s = time.monotonic() - started
            click.echo(
                f"penstock: {document['role']} on {document['cluster']} done, {spent_s:.0f} s", err=True
            )
    _deliver(documents, out, as_json)


def _experiment(name: str) -> Callable[[Lab, Request], dict[str, Any]]:
    from importlib import import_module

    found: Callable[[Lab, Request], dict[str, Any]] = import_module(f"penstock.evaluate.{name}").evaluate
    return found


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
    **_: Any,
) -> Request:
    if not 1 <= seconds <= 1e5:
        raise UsageError(f"--seconds {seconds:g}: give a time from 1 to 100,000")
    cluster = find_cluster(cluster_name, overrides)
    say_compiling()
    from penstock.evaluate.request import Request
    from penstock.evaluate.tuners import find_policy, shipped_policy

    chosen = tuple(dict.fromkeys(policies)) or (shipped_policy(),)
    for policy in chosen:
        if policy not in ("oracle", "best-static"):
            find_policy(policy)
    words = ["--cluster", cluster_name]
    for override in overrides:
        words += ["--set", override]
    return Request(cluster, chosen, seconds, seed, seeds, only, GUARD[guard], model, tuple(words))


def _lab(workers: int | None, cache_dir: Path | None, fresh: bool, **_: Any) -> Lab:
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.store import Store, default_directory

    return Lab(Store(None if fresh else cache_dir or default_directory()), workers, Progress())


def _deliver(documents: Sequence[dict[str, Any]], out: Path | None, as_json: bool) -> None:
    _save(documents, out)
    bare = [_without_pictures(document) for document in documents]
    if as_json:
        emit_json(bare[0] if len(bare) == 1 else {"experiments": bare})
        return
    from penstock.evaluate.exhibits import sections

    for section in sections(documents):
        console().print(f"[bold]{section.title}[/bold]")
        for table in section.tables:
            console().print(_shown(table))
    if out is not None:
        click.echo(f"penstock: report in {out / 'report.html'}", err=True)


def _save(documents: Sequence[dict[str, Any]], out: Path | None) -> None:
    """The report so far: an evaluation that is interrupted leaves what it has."""
    if out is None:
        return
    from penstock.evaluate.report import write

    try:
        write(documents, out)
    except OSError as error:
        raise refusal(out, error) from None


def _shown(table: Table) -> RichTable:
    """On a terminal, without the commands: they would fill it."""
    from rich.table import Table as RichTable

    kept = [i for i, heading in enumerate(table.heading) if heading != "command"]
    shown = RichTable()
    for i in kept:
        shown.add_column(table.heading[i], justify="right" if i else "left")
    for row in table.rows:
        shown.add_row(*(row[i].strip("`*") for i in kept))
    return shown


def _without_pictures(document: dict[str, Any]) -> dict[str, Any]:
    """What a reader of figures wants; interval by interval and setting by setting is for results.json."""
    kept = {key: value for key, value in document.items() if key not in PICTURES}
    rows = [{key: value for key, value in row.items() if key not in PICTURES} for row in document["rows"]]
    return {**kept, "rows": rows}


class Progress:
    """Says on stderr which stage is how far, a line every few seconds at most, and when a stage is done."""

    def __init__(self, every_s: float = 5.0) -> None:
        self._every_s = every_s
        self._said_s = time.monotonic()
        self._started: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """So many of a stage's runs are done."""
        now_s = time.monotonic()
        started_s = self._started.setdefault(stage, now_s)
        if now_s - self._said_s < self._every_s and done < total:
            return
        self._said_s = now_s
        click.echo(f"penstock: {stage}: {done} of {total} runs, {now_s - started_s:.0f} s", err=True)
        if done == total:
            del self._started[stage]
