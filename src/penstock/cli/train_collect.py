"""`penstock train collect`: measures by the papers' protocol, on the simulator or on a live client."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from penstock.cli.options import (
    DURATION,
    console,
    emit_json,
    json_option,
    places,
    prepare_simulator,
    progress,
    require_libraries,
    seed_option,
)
from penstock.errors import UsageError
from penstock.workload import SINGLE_STREAM

PATH = click.Path(path_type=Path)
CONSENT = "--change-knobs-at-random"


@click.command(epilog="Example: penstock train collect --out data --runs 2 --seconds 20")
@click.option(
    "--out", type=PATH, required=True, help="Directory for one Parquet file a run; made when absent."
)
@click.option("--cluster", default="c220g5", show_default=True, help="Built-in cluster or a TOML file.")
@click.option(
    "--workloads", default=",".join(SINGLE_STREAM), help="By default the 12 single-stream patterns."
)
@click.option(
    "--worlds",
    type=click.IntRange(1, 5000),
    help="Random worlds instead of a cluster and workloads; families as in train survey.",
)
@click.option(
    "--runs",
    type=click.IntRange(1, 10_000),
    help="Runs of each workload or world.  [default: 30 of workloads, 1 of worlds]",
)
@click.option("--seconds", type=DURATION, default=300.0, show_default=True, help="Length of a run.")
@click.option(
    "--hold",
    type=DURATION,
    default=0.5,
    show_default=True,
    help="Seconds that a setting is held; train fit --label application needs 8.",
)
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option(
    "--live",
    is_flag=False,
    flag_value="",
    metavar="[DIR]",
    help="Measure this machine instead; needs consent. With DIR: the NFS or FUSE mount it is on, under fio.",
)
@click.option(CONSENT, "consent", is_flag=True, help="Consent to what --live does.")
@places
@seed_option
@json_option
def collect(
    out: Path,
    cluster: str,
    workloads: str,
    worlds: int | None,
    runs: int | None,
    seconds: float,
    hold: float,
    workers: int,
    live: str | None,
    consent: bool,
    root: Path,
    state_dir: Path,
    seed: int,
    as_json: bool,
) -> None:
    """Draw a random setting after every half-second probe, or every --hold, and record what came of it.

    Interrupted, it continues where it stopped: finished runs are not repeated. With --live the knobs of this
    machine's client move at random while it measures; originals are journalled first and restored at the end.
    With --live DIR fio works in that directory for --seconds a workload, and settings of its mount are held in turn.
    """
    from penstock.train.collection import INTERVAL_S, Collection, collect_live, collect_simulated
    from penstock.train.worlds import DRAWN

    if live is not None and worlds is not None:
        raise UsageError("--live measures this machine, --worlds simulates: give one of them")
    if live is not None and not consent:
        raise UsageError(
            f"--live changes this client's knobs at random while jobs run; add {CONSENT} to consent"
        )
    if live and hold != INTERVAL_S:
        raise UsageError(
            "--hold belongs to the random walk; with --live DIR settings are held in turn anyway"
        )
    if live:
        from penstock.train.mount_trials import MountCampaign, run_campaign

        made = run_campaign(MountCampaign(Path(live), out, seconds, seed), root, state_dir, progress())
        _tell(out, [made], as_json, "campaign")
        return
    names = tuple(workloads.split(","))
    wanted = Collection(out, cluster, names, runs or 30, seconds, seed, hold)
    if worlds is not None:
        wanted = replace(wanted, cluster=DRAWN, workloads=_drawn(worlds, seed), runs=runs or 1)
    say = progress()
    require_libraries("train", "pyarrow")
    if live is not None:
        if len(names) != 1:
            raise UsageError("--live needs one --workload name for what runs now, such as s_wr_sq_1m")
        files = collect_live(wanted, root, state_dir, say)
    else:
        prepare_simulator()
        files = collect_simulated(wanted, workers, say)
    _tell(out, files, as_json)


def _drawn(count: int, seed: int) -> tuple[str, ...]:
    from penstock.train.survey import drawn

    return tuple(world.name for world in drawn(count, seed))


def _tell(out: Path, files: list[Path], as_json: bool, what: str = "runs") -> None:
    if as_json:
        emit_json({"out": str(out), "files": [str(path.name) for path in files]})
    else:
        console().print(f"{len(files)} {what} in {out}", soft_wrap=True)
