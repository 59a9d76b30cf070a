"""`penstock simulate surface`: the throughput at every setting of pages per RPC and RPCs in flight."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    DURATION,
    NearestChoice,
    console,
    emit_json,
    prepare_simulator,
    require_libraries,
)
from penstock.cli.simulate_options import Progress, cluster_options
from penstock.errors import TerminatedError

if TYPE_CHECKING:
    from penstock.simulate.protocol import Cell


@click.command(epilog="Example: penstock simulate surface --workload s_rd_rn_1m --png map.png")
@cluster_options()
@click.option(
    "--protocol", type=NearestChoice(("static", "random-walk")), default="static", show_default=True
)
@click.option(
    "--interval",
    type=DURATION,
    help="Random walk: time per visit [as recorded: 0.516 s reads, 0.63 s writes, pauses between].",
)
@click.option(
    "--png", type=click.Path(path_type=Path), help="Draw the map, beside the measured one of --real."
)
@click.option("--real", type=click.Path(path_type=Path), help="Measured surfaces (CSV).")
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
    real: Path | None,
    workers: int | None,
) -> None:
    """Measure all 11 x 9 settings of pages per RPC and RPCs in flight.

    `static` holds each setting for --seconds after its own warm-up. `random-walk` is one run in which the setting
    changes at every interval, with dirty data carried over, as the public traces were recorded.
    """
    from penstock.simulate.cluster import find_cluster, with_changes

    cluster = with_changes(find_cluster(cluster_name), overrides)
    if png is not None:
        require_libraries("plot", "matplotlib")
    prepare_simulator()
    from penstock.evaluate.run_request import check_times
    from penstock.evaluate.simulated import static_surface, walk_surface
    from penstock.simulate.catalogue import named_plan

    check_times(seconds, warmup)
    plan = named_plan(cluster, workload, 1, seed)
    cells: list[Cell] = []
    try:
        if protocol == "static":
            _with_progress(cells, static_surface(plan, seconds, warmup, workers or os.cpu_count() or 1))
        else:
            cells.extend(walk_surface(plan, seconds, interval, Progress(1.0)))
    except (KeyboardInterrupt, TerminatedError):
        if cells:
            click.echo(f"penstock: {len(cells)} of 99 settings were measured", err=True)
            _deliver_surface(workload, protocol, cells, as_json)
        raise
    if png is not None:
        from penstock.report.heatmap import draw_surface

        draw_surface(png, workload, f"{cluster.name}, {protocol}", cells, real)
    _deliver_surface(workload, protocol, cells, as_json)


def _deliver_surface(workload: str, protocol: str, cells: Sequence[Cell], as_json: bool) -> None:
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
        known = (by_setting.get((p, flight)) for p in pages)
        table.add_row(str(flight), *("" if mbps is None else f"{mbps:.0f}" for mbps in known))
    console().print(table)


def _with_progress(found: list[Cell], cells: Generator[Cell, None, None]) -> None:
    """Add one cell after the other, so that an interruption keeps those that are done."""
    progress = Progress(99.0)
    with closing(cells):
        for cell in cells:
            found.append(cell)
            progress(float(len(found)))
