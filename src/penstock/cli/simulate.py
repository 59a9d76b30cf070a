"""`penstock simulate`: run workloads on a simulated cluster, or map how settings matter there."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    console,
    emit_json,
    json_option,
    say_compiling,
    seed_option,
)
from penstock.cli.serve import serve
from penstock.decide.policies import POLICY_NAMES
from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.evaluate.simulated import Run
    from penstock.simulate.cluster import Cluster
    from penstock.simulate.protocol import Cell

REAL_SURFACE = Path("../shared/data/lustre-traces/response_surface.csv")


@click.group()
def simulate() -> None:
    """The simulated cluster: real mechanisms, virtual time."""


simulate.add_command(serve)


def _cluster_options(function: click.decorators.FC) -> click.decorators.FC:
    options = (
        click.option(
            "--cluster", "cluster_name", default="c220g5", show_default=True, metavar="NAME|FILE.toml"
        ),
        click.option("--workload", required=True, metavar="NAME", help="As in s_wr_rn_1m: see the manual."),
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
@_cluster_options
@click.option("--pages", type=int, help="max_pages_per_rpc.")
@click.option("--flight", type=int, help="max_rpcs_in_flight.")
@click.option("--dirty", type=int, help="max_dirty_mb.")
@click.option("--policy", type=NearestChoice(POLICY_NAMES), help="Let a policy turn the knobs.")
@click.option("--clients", type=click.IntRange(1, 1000), default=1, show_default=True)
def run(
    cluster_name: str,
    workload: str,
    seconds: float,
    warmup: float,
    overrides: Sequence[str],
    seed: int,
    as_json: bool,
    pages: int | None,
    flight: int | None,
    dirty: int | None,
    policy: str | None,
    clients: int,
) -> None:
    """Run one workload at one setting, or under a policy, and print what it achieved."""
    chosen = {"pages": pages, "flight": flight, "dirty": dirty}
    wanted = {knob: value for knob, value in chosen.items() if value is not None}
    if policy is not None and wanted:
        raise UsageError("--policy turns the knobs itself: leave out --pages, --flight and --dirty")
    _check_times(seconds, warmup)
    cluster = _cluster(cluster_name, overrides)
    from penstock.knobs import Setting
    from penstock.workload import parse_workload

    work = parse_workload(workload)
    say_compiling()
    from penstock.evaluate.simulated import Course, cluster_plan
    from penstock.evaluate.simulated import run as simulate_run

    started = time.perf_counter()
    course = Course(seconds, warmup, Setting(wanted) if wanted else None, policy)
    outcome = simulate_run(cluster_plan(cluster, work, clients, seed), course, Progress(1.0, patience_s=2.0))
    document = {
        "workload": workload,
        "cluster": cluster.name,
        "seconds": seconds,
        "seed": seed,
        **_figures(outcome, time.perf_counter() - started),
    }
    if clients > 1:
        document["clients"] = [one.figures for one in outcome.clients]
    if as_json:
        emit_json(document)
    else:
        _show_run(document)


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
    help="Random walk: time per visit [as recorded: 0.516 s reads, 0.63 s writes].",
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
    cluster = _cluster(cluster_name, overrides)
    from penstock.workload import parse_workload

    work = parse_workload(workload)
    say_compiling()
    from penstock.evaluate.simulated import single, static_surface, walk_surface

    plan = single(cluster, work, seed)
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


def _cluster(name: str, overrides: Sequence[str]) -> Cluster:
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
