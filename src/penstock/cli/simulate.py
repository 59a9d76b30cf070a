"""`penstock simulate`: run workloads on a simulated cluster, or map how settings matter there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    PolicyName,
    console,
    emit_json,
    json_option,
    say_compiling,
    seed_option,
)
from penstock.cli.serve import serve
from penstock.cli.workloads import workloads
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.evaluate.simulated import Run
    from penstock.knobs import Setting
    from penstock.simulate.assembly import Plan
    from penstock.simulate.cluster import Cluster
    from penstock.simulate.protocol import Cell

REAL_SURFACE = Path("../shared/data/lustre-traces/response_surface.csv")


@click.group()
def simulate() -> None:
    """The simulated cluster: real mechanisms, virtual time."""


simulate.add_command(serve)
simulate.add_command(workloads)


def _cluster_options(function: click.decorators.FC, *, workload_required: bool = True) -> click.decorators.FC:
    options = (
        click.option(
            "--cluster", "cluster_name", default="c220g5", show_default=True, metavar="NAME|FILE.toml"
        ),
        click.option(
            "--workload",
            required=workload_required,
            metavar="NAME",
            help="As in s_wr_rn_1m, or an application: penstock simulate workloads.",
        ),
        click.option("--seconds", type=DURATION, default=20.0, show_default=True, help="Measured time."),
        click.option("--warmup", type=DURATION, default=5.0, show_default=True, help="Time before that."),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one parameter."),
        seed_option,
        json_option,
    )
    for option in reversed(options):
        function = option(function)
    return function


@simulate.command(
    epilog="Example: penstock simulate run --workload s_wr_rn_1m --pages 256 --flight 16 --seconds 20"
)
@partial(_cluster_options, workload_required=False)
@click.option("--pages", type=int, help="max_pages_per_rpc.")
@click.option("--flight", type=int, help="max_rpcs_in_flight.")
@click.option("--dirty", type=int, help="max_dirty_mb.")
@click.option(
    "--policy", type=PolicyName((*POLICY_NAMES, *EXPERIMENT_NAMES)), help="Let a policy turn the knobs."
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Play recorded requests: .csv, .parquet, .darshan with DXT.",
)
@click.option(
    "--loop",
    type=NearestChoice(("open", "closed")),
    default="closed",
    show_default=True,
    help="Recorded requests: at their times, or each stream at the pace it gets.",
)
@click.option("--clients", type=click.IntRange(1, 1000), help="How many run the workload [1].")
@click.option("--shared", is_flag=True, help="All streams of all clients work on one file.")
@click.option("--osts", type=click.IntRange(1, 4096), help="As many OSTs instead of the cluster's.")
@click.option(
    "--event",
    "events",
    multiple=True,
    metavar="KIND:NAME=NUMBER:...",
    help="Let something happen: slow, fail, evict or load, as in slow:ost=3:at=10:for=20:factor=5.",
)
@click.option("--scenario", type=click.Path(path_type=Path), help="Jobs and events from a TOML file instead.")
def run(
    cluster_name: str,
    workload: str | None,
    seconds: float,
    warmup: float,
    overrides: Sequence[str],
    seed: int,
    as_json: bool,
    pages: int | None,
    flight: int | None,
    dirty: int | None,
    policy: str | None,
    clients: int | None,
    shared: bool,
    osts: int | None,
    events: Sequence[str],
    scenario: Path | None,
    trace: Path | None,
    loop: str,
) -> None:
    """Run one workload at one setting, or under a policy, and print what it achieved.

    Times of events count from the start, warm-up included. With several clients the figures are sums and means
    over all of them; --json lists each client too. Recorded requests are played once; without --seconds and
    --warmup, for as long as they took when recorded.
    """
    chosen = {"pages": pages, "flight": flight, "dirty": dirty}
    wanted = {knob: value for knob, value in chosen.items() if value is not None}
    if policy is not None and wanted:
        raise UsageError("--policy turns the knobs itself: leave out --pages, --flight and --dirty")
    _check_times(seconds, warmup)
    if sum(given is not None for given in (workload, scenario, trace)) != 1:
        raise UsageError("give --workload, --scenario or --trace, one of them")
    if workload is None and (clients is not None or shared):
        word = "--scenario" if trace is None else "--trace"
        raise UsageError(f"{word} says which clients there are and what they share: leave out the others")
    osts_word = [f"layout.ost_count={osts}"] if osts is not None else []
    cluster = find_cluster(cluster_name, [*overrides, *osts_word])
    from penstock.knobs import Setting

    say_compiling()
    from penstock.evaluate.simulated import Course
    from penstock.evaluate.simulated import run as simulate_run

    if trace is not None:
        plan, recorded_s = _trace_plan(cluster, trace, loop, seed)
        seconds, warmup = (
            _unless_given("seconds", seconds, recorded_s),
            _unless_given("warmup", warmup, 0.0),
        )
    else:
        plan = _plan(cluster, workload, scenario, clients or 1, seed)
    plan = _with_events(plan, events, shared)

    started = time.perf_counter()
    held = Setting(wanted) if wanted else None
    if policy == "best-static":
        held, policy = _best_static(plan, seconds), None
    outcome = simulate_run(plan, Course(seconds, warmup, held, policy), Progress(1.0, patience_s=2.0))
    document = {
        "workload": workload or str(scenario or trace),
        "cluster": cluster.name,
        "seconds": seconds,
        "seed": seed,
        **_figures(outcome, time.perf_counter() - started),
    }
    if plan.faults:
        document["lost_bytes"] = sum(outcome.lost_bytes)
    if plan.clients > 1:
        document["clients"] = _each_client(outcome, plan)
    if as_json:
        emit_json(document)
    else:
        _show_run(document)


def _plan(cluster: Cluster, workload: str | None, scenario: Path | None, clients: int, seed: int) -> Plan:
    if workload is None:
        from penstock.config import read
        from penstock.simulate.scenario import parse_scenario, scenario_plan

        name = str(scenario)
        return scenario_plan(parse_scenario(read(Path(name)), name), cluster, seed, name)
    from penstock.simulate.catalogue import named_plan

    return named_plan(cluster, workload, clients, seed)


def _trace_plan(cluster: Cluster, trace: Path, loop: str, seed: int) -> tuple[Plan, float]:
    """The plan that plays recorded requests, and how long they took."""
    from penstock.evaluate.requests import read_requests
    from penstock.simulate.assembly import Plan
    from penstock.simulate.recorded import play

    requests = read_requests(trace)
    program = play(requests, trace.name, "open" if loop == "open" else "closed")
    return Plan(cluster, (), requests.clients, seed, programs=(program,)), max(requests.span_s, 1e-3)


def _unless_given(option: str, given: float, otherwise: float) -> float:
    source = click.get_current_context().get_parameter_source(option)
    return otherwise if source == ParameterSource.DEFAULT else given


def _with_events(plan: Plan, events: Sequence[str], shared: bool) -> Plan:
    from dataclasses import replace

    from penstock.simulate.faults import parse_fault

    jobs = tuple(replace(job, shared="shared") for job in plan.jobs) if shared else plan.jobs
    return replace(plan, jobs=jobs, faults=plan.faults + tuple(map(parse_fault, events)))


def _each_client(outcome: Run, plan: Plan) -> list[dict[str, float]]:
    lost = [{"lost_bytes": float(size)} if plan.faults else {} for size in outcome.lost_bytes]
    return [{**one.figures, **extra} for one, extra in zip(outcome.clients, lost, strict=True)]


def _best_static(plan: Plan, seconds: float) -> Setting:
    """Searched on another seed; an administrator who knew would hold it from the start."""
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.search import choose
    from penstock.evaluate.store import Store

    done = Progress(1.0)
    with Lab(Store(None), progress=lambda _, runs, total: done(runs / total)) as lab:
        return choose(lab, {"run": [plan]}, seconds)["run"].setting


def _figures(outcome: Run, wall_s: float) -> dict[str, object]:
    return {
        **outcome.total.figures,
        "rpcs": int(outcome.total.totals.rpcs),
        "events": outcome.events,
        "wall_s": wall_s,
        "final": dict(outcome.final),
        "changes": outcome.changes,
    }


def _show_run(document: dict[str, object]) -> None:
    from rich.table import Table

    table = Table(title=f"{document['workload']} on {document['cluster']}", show_header=False)
    for key, value in document.items():
        if key not in ("workload", "cluster", "clients"):
            table.add_row(key, f"{value:,.1f}" if isinstance(value, float) else str(value))
    console().print(table)


@simulate.command(
    epilog="Example: penstock simulate surface --workload s_rd_rn_1m --protocol random-walk --png map.png"
)
@_cluster_options
@click.option(
    "--protocol", type=NearestChoice(("static", "random-walk")), default="static", show_default=True
)
@click.option(
    "--interval",
    type=DURATION,
    help="Random walk: time per visit [as recorded: 0.516 s reads, 0.63 s writes, pauses between].",
)
@click.option(
    "--png", type=click.Path(path_type=Path), help="Draw the map, beside the measured one where known."
)
@click.option(
    "--real", type=click.Path(path_type=Path), default=REAL_SURFACE, help="The measured surfaces (CSV)."
)
@click.option("--workers", type=click.IntRange(1, 256), help="Processes for the static protocol [all cores].")
def surface(
    cluster_name: str,
    workload: str,
    seconds: float,
    warmup: float,
    overrides: Sequence[str],
    seed: int,
    as_json: bool,
    protocol: str,
    interval: float | None,
    png: Path | None,
    real: Path,
    workers: int | None,
) -> None:
    """Measure all 11 x 9 settings of pages per RPC and RPCs in flight.

    `static` holds each setting for --seconds after its own warm-up. `random-walk` is one run in which the setting
    changes at every interval, with dirty data carried over, as the public traces were recorded.
    """
    _check_times(seconds, warmup)
    cluster = find_cluster(cluster_name, overrides)
    say_compiling()
    from penstock.evaluate.simulated import static_surface, walk_surface

    plan = _plan(cluster, workload, None, 1, seed)
    if protocol == "static":
        cells = _with_progress(static_surface(plan, seconds, warmup, workers or os.cpu_count() or 1))
    else:
        cells = list(walk_surface(plan, seconds, interval, Progress(1.0)))
    if png is not None:
        from penstock.report.heatmap import draw_surface

        draw_surface(png, workload, f"{cluster.name}, {protocol}", cells, real)
    if as_json:
        emit_json({"workload": workload, "protocol": protocol, "rows": [_row(cell) for cell in cells]})
    else:
        _show_surface(workload, cells)


def _row(cell: Cell) -> dict[str, float]:
    return {
        "pages": cell.setting["pages"],
        "flight": cell.setting["flight"],
        "app_mbps": cell.app_mbps,
        "rpc_mbps": cell.rpc_mbps,
    }


def _show_surface(workload: str, cells: Sequence[Cell]) -> None:
    from rich.table import Table

    pages = sorted({cell.setting["pages"] for cell in cells})
    flights = sorted({cell.setting["flight"] for cell in cells})
    by_setting = {(cell.setting["pages"], cell.setting["flight"]): cell.app_mbps for cell in cells}
    table = Table(title=f"{workload}: MB/s the application sees; pages per RPC across, RPCs in flight down")
    for heading in ("", *map(str, pages)):
        table.add_column(heading, justify="right")
    for flight in flights:
        table.add_row(str(flight), *(f"{by_setting[p, flight]:.0f}" for p in pages))
    console().print(table)


def _check_times(seconds: float, warmup: float) -> None:
    if not 0 < seconds <= 1e6:
        raise UsageError(f"--seconds {seconds:g}: give a time above 0 and at most a million")
    if not 0 <= warmup <= 1e6:
        raise UsageError(f"--warmup {warmup:g}: give a time from 0 to a million")


def find_cluster(name: str, overrides: Sequence[str]) -> Cluster:
    """A built-in or described cluster, with some parameters replaced."""
    from penstock.config import read
    from penstock.simulate.cluster import builtin_cluster, parse_cluster

    cluster = parse_cluster(read(Path(name)), name) if name.endswith(".toml") else builtin_cluster(name)
    changes = {}
    for text in overrides:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: write KEY=VALUE")
        changes[key.strip()] = value.strip()
    return cluster.override(changes) if changes else cluster


def _with_progress(cells: Iterable[Cell]) -> list[Cell]:
    found: list[Cell] = []
    progress = Progress(99.0)
    for cell in cells:
        found.append(cell)
        progress(float(len(found)))
    return found


class Progress:
    """Says on stderr how far a long job is, a line every tenth, once it has lasted a while."""

    def __init__(self, total: float, patience_s: float = 0.0) -> None:
        self._total = total
        self._said = 0
        self._from_s = time.monotonic() + patience_s

    def __call__(self, done: float) -> None:
        """So much of the total is done."""
        tenth = int(10 * done / self._total)
        if tenth > self._said and time.monotonic() >= self._from_s:
            self._said = tenth
            click.echo(f"penstock: {10 * tenth} %", err=True)
