"""`penstock campaign`: many simulations as shards. Each shard is done once, wherever it runs."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import (
    ListedGroup,
    NearestChoice,
    console,
    emit_json,
    json_option,
    prepare_simulator,
    require_libraries,
)
from penstock.errors import MissingError, PenstockError, UsageError
from penstock.units import counted, format_duration

if TYPE_CHECKING:
    from penstock.campaign.ledger import CampaignLedger, Standing
    from penstock.campaign.shards import Engine
    from penstock.campaign.spec import Specification

PATH = click.Path(path_type=Path)
ENGINES = ("local", "dask", "slurm")
STOP_S = 120.0


@click.group(cls=ListedGroup, epilog="Example: penstock campaign run examples/campaign/surface.toml")
def campaign() -> None:
    """Sweeps as idempotent shards: finished ones are kept, failed ones tried again."""


@campaign.command(epilog="Example: penstock campaign run examples/campaign/surface.toml")
@click.argument("spec", type=PATH, metavar="SPEC.toml")
@click.option(
    "--engine", type=NearestChoice(ENGINES), default="local", show_default=True, help="Where shards run."
)
@click.option("--scheduler", metavar="ADDRESS", help="With --engine dask: a scheduler that runs already.")
@click.option(
    "--workers",
    type=click.IntRange(1, 100_000),
    help="Processes, or with --engine slurm the most jobs at once.  [default: all cores; 16 jobs]",
)
@json_option
def run(spec: Path, engine: str, scheduler: str | None, workers: int | None, as_json: bool) -> None:
    """Do all shards of SPEC.toml that are not done yet; their rows go to OUT/shards/*.parquet.

    A run may be interrupted, killed or cancelled at any time; the next one goes on. It fails when more than 5 % of
    the shards failed, however often they were tried.
    """
    if scheduler is not None and engine != "dask":
        raise UsageError("--scheduler belongs to --engine dask")
    require_libraries("scale", "pyarrow", *(("distributed",) if engine != "local" else ()))
    prepare_simulator()
    from penstock.campaign.ledger import CampaignLedger
    from penstock.campaign.runner import run_campaign
    from penstock.campaign.spec import load_specification

    specification = load_specification(spec)
    say = _Say()
    say.begin(specification)
    standing = run_campaign(specification, _engine(specification, engine, scheduler, workers), say)
    digest = CampaignLedger(specification.directory).digest()
    if as_json:
        emit_json({**_document(standing), "out": str(specification.directory), "digest": digest})
        return
    click.echo(
        f"{standing.done} of {standing.shards} shards, {standing.rows} rows in {specification.directory}/shards; "
        f"{format_duration(standing.cpu_s)} of CPU; digest {digest[:12]}"
    )
    for key, why in standing.failed.items():
        click.echo(f"penstock: failed: {key}: {why}", err=True)


@campaign.command(epilog="Example: penstock campaign status examples/campaign/surface.toml")
@click.argument("spec", type=PATH, metavar="SPEC.toml|DIR")
@json_option
def status(spec: Path, as_json: bool) -> None:
    """How far a campaign is, what it has cost so far, and what it will cost."""
    standing = _standing(spec)
    if as_json:
        emit_json(_document(standing))
        return
    screen = console()
    screen.print(f"{standing.kind}: {standing.state}, {_progress(standing)}")
    cost = f"cost so far: {format_duration(standing.cpu_s)} of CPU"
    if standing.cpu_s_expected is not None:
        cost += f"; all of it: about {format_duration(standing.cpu_s_expected)}"
    screen.print(cost)
    for key, why in standing.failed.items():
        screen.print(f"failed: {key}: {why}", soft_wrap=True, markup=False)


@campaign.command(epilog="Example: penstock campaign cancel examples/campaign/surface.toml")
@click.argument("spec", type=PATH, metavar="SPEC.toml|DIR")
@json_option
def cancel(spec: Path, as_json: bool) -> None:
    """Stop whoever runs a campaign and wait until it has stopped; finished shards stay."""
    from penstock.campaign.ledger import CampaignLedger

    ledger = CampaignLedger(_directory(spec))
    runner = ledger.ask_to_stop()
    if runner is not None:
        end_s = time.monotonic() + STOP_S
        while ledger.standing().runner is not None:
            if time.monotonic() > end_s:
                raise PenstockError(f"{ledger.directory}: process {runner} has not stopped yet")
            time.sleep(0.1)
    standing = ledger.standing()
    if as_json:
        emit_json({**_document(standing), "stopped": runner})
    else:
        said = "nobody runs it" if runner is None else f"process {runner} has stopped"
        click.echo(f"{said}; {_progress(standing)}")


def _engine(
    specification: Specification, engine: str, scheduler: str | None, workers: int | None
) -> Engine[str, str]:
    from penstock.campaign.engines import LocalEngine

    retries = specification.section.retries
    if engine == "local":
        return LocalEngine(workers or os.cpu_count() or 1, retries)
    from penstock.campaign.dask_engine import DaskEngine, own_scheduler, scheduler_at, slurm_scheduler

    if engine == "slurm":
        require_libraries("scale", "dask_jobqueue")
        jobs = slurm_scheduler(specification.section.slurm, specification.directory, workers or 16)
        return DaskEngine(jobs, retries)
    where = own_scheduler(workers or os.cpu_count() or 1) if scheduler is None else scheduler_at(scheduler)
    return DaskEngine(where, retries)


def _directory(spec: Path) -> Path:
    from penstock.campaign.spec import out_directory

    if not spec.exists():
        raise MissingError(f"{spec}: no such file or directory")
    return out_directory(spec)


def _standing(spec: Path) -> Standing:
    from penstock.campaign.ledger import CampaignLedger

    return CampaignLedger(_directory(spec)).standing()


def _document(standing: Standing) -> dict[str, Any]:
    return {"state": standing.state, **asdict(standing)}


def _progress(standing: Standing) -> str:
    told = f"{standing.done} of {standing.shards} shards done"
    if standing.failed:
        told += f", {len(standing.failed)} failed"
    if standing.seconds_left is not None:
        told += f", about {format_duration(standing.seconds_left)} left"
    return told


class _Say:
    """A line on stderr every few seconds."""

    def __init__(self, every_s: float = 5.0) -> None:
        self._every_s = every_s
        self._said_s = time.monotonic()

    def begin(self, specification: Specification) -> None:
        """What is going to happen."""
        name = specification.section.kind
        click.echo(
            f"penstock: {name}: {counted(len(specification.shards), 'shard')} to {specification.directory}",
            err=True,
        )

    def __call__(self, ledger: CampaignLedger) -> None:
        if time.monotonic() - self._said_s >= self._every_s:
            self._said_s = time.monotonic()
            click.echo(f"penstock: {_progress(ledger.standing())}", err=True)
