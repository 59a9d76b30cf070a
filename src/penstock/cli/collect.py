"""`penstock train collect`: measurements by the papers' protocol, from the simulator or a live client."""

from __future__ import annotations

from pathlib import Path

import click

from penstock.cli.options import DURATION, console, emit_json, json_option, progress, seed_option
from penstock.errors import UsageError

PATH = click.Path(path_type=Path)
CONSENT = "--change-knobs-at-random"
PATTERNS = tuple(
    f"s_{way}_{order}_{size}"
    for way in ("rd", "wr")
    for order in ("sq", "rn")
    for size in ("8k", "1m", "16m")
)


@click.command(epilog="Example: penstock train collect --cluster c220g5 --out data/ --runs 4 --seconds 300")
@click.option(
    "--out", type=PATH, required=True, help="Directory for one Parquet file a run; made when absent."
)
@click.option("--cluster", default="c220g5", show_default=True, help="Built-in cluster or a TOML file.")
@click.option("--workloads", default=",".join(PATTERNS), help="By default the 12 single-stream patterns.")
@click.option(
    "--runs", type=click.IntRange(1, 10_000), default=30, show_default=True, help="Runs of each workload."
)
@click.option("--seconds", type=DURATION, default=300.0, show_default=True, help="Length of a run.")
@click.option("--workers", type=click.IntRange(1, 64), default=2, show_default=True, help="Processes.")
@click.option("--live", is_flag=True, help="Measure this machine's own client instead; needs consent.")
@click.option(CONSENT, "consent", is_flag=True, help="Consent to what --live does.")
@click.option("--root", type=PATH, default=Path("/"), help="Where the live client's files are.")
@click.option(
    "--state-dir", type=PATH, default=Path("/var/lib/penstock"), help="Where originals are journalled."
)
@seed_option
@json_option
def collect(
    out: Path,
    cluster: str,
    workloads: str,
    runs: int,
    seconds: float,
    workers: int,
    live: bool,
    consent: bool,
    root: Path,
    state_dir: Path,
    seed: int,
    as_json: bool,
) -> None:
    """Draw a random setting after every half-second probe and record what came of it.

    Interrupted, it continues where it stopped: finished runs are not repeated. With --live the knobs of this
    machine's client move at random while it measures; originals are journalled first and restored at the end.
    """
    from penstock.train.campaign import Collection, collect_live, collect_simulated

    names = tuple(workloads.split(","))
    wanted = Collection(out, cluster, names, runs, seconds, seed)
    say = progress()
    if live:
        if not consent:
            raise UsageError(
                f"--live changes this client's knobs at random while jobs run; add {CONSENT} to consent"
            )
        if len(names) != 1:
            raise UsageError("--live needs one --workload name for what runs now, such as s_wr_sq_1m")
        files = collect_live(wanted, root, state_dir, say)
    else:
        files = collect_simulated(wanted, workers, say)
    if as_json:
        emit_json({"out": str(out), "files": [str(path.name) for path in files]})
    else:
        console().print(f"{len(files)} runs in {out}", soft_wrap=True)
