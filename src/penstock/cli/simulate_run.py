"""`penstock simulate run`: one workload at one setting, or under a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from penstock.cli.options import NearestChoice, PolicyName, console, emit_json, prepare_simulator
from penstock.cli.simulate_options import Progress, cluster_options
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES


@click.command(epilog="Example: penstock simulate run --workload s_wr_rn_1m --pages 256 --flight 16")
@cluster_options(workload_required=False)
@click.option("--pages", type=int, help="max_pages_per_rpc.")
@click.option("--flight", type=int, help="max_rpcs_in_flight.")
@click.option("--dirty", type=int, help="max_dirty_mb.")
@click.option("--rpcs", type=int, help="max_rpcs_in_flight of the metadata server (md_ workloads).")
@click.option("--mod-rpcs", type=int, help="max_mod_rpcs_in_flight of the same.")
@click.option("--statahead", type=int, help="statahead_max of the mount.")
@click.option("--ahead-total", type=int, help="max_read_ahead_mb of the mount (ra_ workloads).")
@click.option("--ahead-file", type=int, help="max_read_ahead_per_file_mb of the same.")
@click.option("--ahead-whole", type=int, help="max_read_ahead_whole_mb of the same.")
@click.option("--ahead-async", type=int, help="read_ahead_async_file_threshold_mb of the same.")
@click.option(
    "--policy", type=PolicyName((*POLICY_NAMES, *EXPERIMENT_NAMES)), help="Let a policy turn the knobs."
)
@click.option("--model", type=click.Path(path_type=Path), help="Another model file for that policy.")
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
@click.option(
    "--scenario", type=click.Path(path_type=Path), help="Cluster, jobs and events from a TOML file instead."
)
def run(as_json: bool, **options: Any) -> None:
    """Run one workload at one setting, or under a policy, and print what it achieved.

    Times of events count from the start, warm-up included. With several clients the figures are sums and means
    over all of them; --json lists each client too. Recorded requests are played once; without --seconds and
    --warmup, for as long as they took when recorded.
    """
    from penstock.evaluate.run_request import OF_METADATA, OF_READAHEAD, RunRequest
    from penstock.knobs import Setting

    knobs = {name: options.pop(name) for name in ("pages", "flight", "dirty", *OF_METADATA, *OF_READAHEAD)}
    source = click.get_current_context().get_parameter_source
    for name in ("cluster_name", "seconds", "warmup"):
        if source(name) == ParameterSource.DEFAULT:
            options[name] = None
    wanted = Setting({name: value for name, value in knobs.items() if value is not None})
    request = RunRequest(**options, wanted=wanted)
    cluster = request.cluster()
    if request.is_compiled:
        prepare_simulator()
    from penstock.evaluate.single import answer

    document = answer(request, cluster, Progress(1.0, patience_s=2.0), Progress(1.0))
    if as_json:
        emit_json(document)
    else:
        _show_run(document)


def _show_run(document: dict[str, object]) -> None:
    from rich.table import Table

    table = Table(title=f"{document['workload']} on {document['cluster']}", show_header=False)
    for key, value in document.items():
        if key not in ("workload", "cluster", "clients"):
            table.add_row(key, _figure(value))
    console().print(table)


def _figure(value: object) -> str:
    if isinstance(value, dict):
        return " ".join(f"{key}={inner}" for key, inner in value.items())
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
