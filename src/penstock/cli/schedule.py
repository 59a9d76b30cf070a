"""`penstock schedule`: how many shared I/O resources each job gets, which ones, and the effect."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Literal

import click

from penstock.cli.main import LazyGroup
from penstock.cli.options import DURATION, NearestChoice, console, emit_json, json_option, seed_option
from penstock.errors import UsageError
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.placement import PLACERS
from penstock.schedule.plan import GIVEN, Allocated, place
from penstock.schedule.plan import allocate as allocate_counts
from penstock.schedule.setfile import load_set

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.schedule.application import ApplicationSet
    from penstock.schedule.placement import Placement
    from penstock.schedule.simulation import Outcome

SET = click.argument("set_file", metavar="SET.json", type=click.Path(path_type=Path))
AS_PRINTED = click.option("--as-printed", is_flag=True, help="tcpu to the letter of the paper, slip and all.")


class ScheduleGroup(LazyGroup):
    """The verbs of scheduling. Each is imported only to run it."""

    verbs = {  # noqa: RUF012 - the table is the class
        "allocate": ("penstock.cli.schedule:allocate", "How many I/O resources each application gets."),
        "simulate": ("penstock.cli.schedule:simulate", "Play a schedule and measure slowdown and idle time."),
        "study": (
            "penstock.cli.schedule_study:study",
            "The paper's evaluation, or a site's own jobs with and without us.",
        ),
        "advise": ("penstock.cli.schedule_advise:advise", "How many and which resources the next job uses."),
        "optimum": ("penstock.cli.schedule_optimum:optimum", "The exact optimum of a small set."),
        "learn": ("penstock.cli.schedule_learn:learn", "Bandwidth curves from the site's own finished jobs."),
        "generate": ("penstock.cli.schedule_generate:generate", "A job trace for a site, as long as wanted."),
        "guide": ("penstock.cli.schedule_advise:guide", "Which heuristics fit what you know of your jobs."),
    }


@click.group(
    cls=ScheduleGroup,
    epilog="Example: penstock schedule simulate examples/schedule/set.json --allocation tcpu",
)
def schedule() -> None:
    """Share OSTs, I/O nodes or burst-buffer nodes between the jobs that run together."""


@click.command(epilog="Example: penstock schedule allocate examples/schedule/set.json --allocation tcpu")
@SET
@click.option("--allocation", type=NearestChoice(list(ALLOCATORS)), default="tcpu", show_default=True)
@AS_PRINTED
@seed_option
@json_option
def allocate(set_file: Path, allocation: str, as_printed: bool, seed: int, as_json: bool) -> None:
    """Decide how many I/O resources each application of SET.json gets."""
    _check_printed(allocation, as_printed)
    workload = load_set(set_file)
    allocated = allocate_counts(workload, allocation, Random(seed), as_printed=as_printed)
    if as_json:
        emit_json(allocation_document(workload, allocated))
    else:
        _print_allocation(workload, allocated)


@click.command(epilog="Example: penstock schedule simulate examples/schedule/set.json --allocation tcpu")
@SET
@click.option("--allocation", type=NearestChoice([*ALLOCATORS, GIVEN]), default="tcpu", show_default=True)
@click.option(
    "--placement",
    type=NearestChoice([*PLACERS, GIVEN]),
    default="greedy-non-clairvoyant",
    show_default=True,
    help="mckp places by itself.",
)
@click.option(
    "--until",
    type=NearestChoice(["all", "first"]),
    default="all",
    show_default=True,
    help="Every application's end, or the first one's after each has finished a phase.",
)
@click.option("--step", "step_s", type=DURATION, help="Run the paper's time-stepped simulation instead.")
@AS_PRINTED
@seed_option
@json_option
def simulate(
    set_file: Path,
    allocation: str,
    placement: str,
    until: Literal["all", "first"],
    step_s: float | None,
    as_printed: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Play SET.json under a schedule: exactly, transfer by transfer, fair shares on every resource."""
    from penstock.schedule.simulation import simulate as run

    _check_printed(allocation, as_printed)
    if step_s is not None and step_s <= 0:
        raise UsageError(f"--step {step_s:g}: must be longer than nothing")
    workload = load_set(set_file)
    rng = Random(seed)
    allocated = allocate_counts(workload, allocation, rng, as_printed=as_printed)
    placed = place(workload, allocated, placement, rng)
    _note_own_placement(allocated, allocation, placement)
    outcome = run(workload, placed, until, step_s)
    if as_json:
        emit_json(allocation_document(workload, allocated) | outcome_document(workload, placed, outcome))
    else:
        _print_outcome(workload, allocated, placed, outcome)


def allocation_document(workload: ApplicationSet, allocated: Allocated) -> dict[str, object]:
    """What `schedule allocate --json` prints."""
    names = [application.name for application in workload.applications]
    return {
        "allocation": dict(zip(names, allocated.counts, strict=True)),
        "io_load": allocated.io_load,
        "saturated": allocated.saturated,
    }


def outcome_document(workload: ApplicationSet, placed: Placement, outcome: Outcome) -> dict[str, object]:
    """What `schedule simulate --json` adds."""
    names = [application.name for application in workload.applications]
    applications = {
        name: {
            "io_s": one.io_s,
            "io_slowdown": one.io_slowdown,
            "io_slowdown_allocation": one.io_slowdown_allocation,
            "io_slowdown_congestion": one.io_slowdown_congestion,
        }
        for name, one in zip(names, outcome.experiences, strict=True)
    }
    return {
        "placement": {name: list(ids) for name, ids in zip(names, placed, strict=True)},
        "horizon_s": outcome.horizon_s,
        "applications": applications,
        "mean_io_slowdown": outcome.mean_io_slowdown,
        "max_io_slowdown": outcome.max_io_slowdown,
        "io_spread": outcome.io_spread,
        "machine_idle_time": outcome.machine_idle_time,
    }


def _check_printed(allocation: str, as_printed: bool) -> None:
    if as_printed and allocation != "tcpu":
        raise UsageError(f"--as-printed belongs to --allocation tcpu, not to {allocation}")


def _note_own_placement(allocated: Allocated, allocation: str, placement: str) -> None:
    context = click.get_current_context()
    explicit = context.get_parameter_source("placement") is click.core.ParameterSource.COMMANDLINE
    if allocated.placement is not None and explicit:
        click.echo(f"penstock: {allocation} places by itself; --placement {placement} is not used", err=True)


def _print_allocation(workload: ApplicationSet, allocated: Allocated) -> None:
    table = _table("application", "nodes", "I/O resources")
    for application, count in zip(workload.applications, allocated.counts, strict=True):
        table.add_row(application.name, str(application.compute_nodes), str(count))
    screen = console()
    screen.print(table)
    screen.print(_load_line(workload, allocated))


def _print_outcome(
    workload: ApplicationSet, allocated: Allocated, placed: Placement, outcome: Outcome
) -> None:
    table = _table("application", "I/O resources", "I/O time s", "slowdown", "by count", "by congestion")
    for application, ids, one in zip(workload.applications, placed, outcome.experiences, strict=True):
        parts = (one.io_slowdown, one.io_slowdown_allocation, one.io_slowdown_congestion)
        shown = ",".join(map(str, ids))
        table.add_row(application.name, shown, f"{one.io_s:.1f}", *(f"{part:.2f}" for part in parts))
    screen = console()
    screen.print(table)
    screen.print(_load_line(workload, allocated))
    screen.print(
        f"Over {outcome.horizon_s:.1f} s: mean slowdown {outcome.mean_io_slowdown:.3f}, "
        f"worst {outcome.max_io_slowdown:.3f}, spread {outcome.io_spread:.3f}, "
        f"machine idle {100 * outcome.machine_idle_time:.2f} %"
    )


def _load_line(workload: ApplicationSet, allocated: Allocated) -> str:
    verdict = "saturated" if allocated.saturated else "not saturated"
    return f"I/O-load {allocated.io_load:.3f} on {workload.resources} resources: {verdict}"


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table()
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 else "right")
    return table
