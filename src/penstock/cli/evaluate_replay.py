"""`penstock evaluate replay`: policies in a closed loop over recorded rows of real clients."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.evaluate_worlds import GUARD, PATH, checked_policies
from penstock.cli.options import NearestChoice, PolicyName, console, emit_json, json_option, seed_option
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES
from penstock.errors import UsageError
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.knobs import Setting


@click.command(epilog="Example: penstock evaluate replay --data recordings --steps 20 --seeds 1")
@click.option(
    "--data", type=PATH, required=True, help="Directory of traces, or of recordings of held settings."
)
@click.option(
    "--policy",
    "policies",
    type=PolicyName((*POLICY_NAMES, *EXPERIMENT_NAMES)),
    multiple=True,
    help="Judge this one; repeat to compare others with it. [default: what the agent ships with]",
)
@click.option(
    "--steps", type=click.IntRange(1, 100_000), default=120, show_default=True, help="Of half a second."
)
@click.option(
    "--seeds", type=click.IntRange(1, 1000), default=5, show_default=True, help="So many from --seed on."
)
@seed_option
@click.option("--start", metavar="PAGES,FLIGHT", help="The setting to start from. [the default]")
@click.option("--only", multiple=True, metavar="WORKLOAD", help="This workload only; repeat for more.")
@click.option(
    "--guard",
    type=NearestChoice(tuple(GUARD)),
    default="auto",
    show_default=True,
    help="The agent's guard around policies; auto: around those made for it.",
)
@click.option("--model", help="Another model file for policies that use one.")
@json_option
def replay(
    data: Path,
    policies: tuple[str, ...],
    steps: int,
    start: str | None,
    only: tuple[str, ...],
    guard: str,
    as_json: bool,
    **terms: Any,
) -> None:
    """A closed loop over recorded rows: each step shows a recorded interval at the setting that the policy chose.

    A step is worth what the application got at that setting over all of its recorded time. The candidates are the
    settings that were recorded.
    """
    from penstock.evaluate.replay import evaluate_replay
    from penstock.evaluate.request import Terms
    from penstock.evaluate.simulated_client import INTERVAL_S
    from penstock.train.intervals import read_workloads

    chosen = checked_policies(policies, terms["model"])
    asked = Terms(chosen, steps * INTERVAL_S, guard=GUARD[guard], **terms)
    begin = _start(start)
    started = time.monotonic()
    workloads = read_workloads(data)
    names = [workload.name for workload in workloads]
    for name in only:
        NearestChoice(names).convert(name, None, None)
    document = evaluate_replay([each for each in workloads if not only or each.name in only], asked, begin)
    click.echo(
        f"penstock: {counted(len(document['rows']), 'workload')} took {time.monotonic() - started:.0f} s",
        err=True,
    )
    if as_json:
        emit_json(document)
    else:
        _show(document)


def _start(text: str | None) -> Setting | None:
    from penstock.knobs import Setting

    if text is None:
        return None
    try:
        pages, flight = (int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--start {text}: write PAGES,FLIGHT, as in 64,1") from None
    return Setting(pages=pages, flight=flight)


def _show(document: dict[str, Any]) -> None:
    from rich.table import Table

    policies = list(document["rows"][0]["policies"])
    length = f"{counted(document['steps'], 'step')}, {counted(document['seeds'], 'seed')}"
    table = Table(title=f"{length}: of the default, of the best, at the end")
    for heading in ("workload", "default MB/s", "best MB/s", *policies):
        table.add_column(heading, justify="left" if heading == "workload" else "right")
    for row in document["rows"]:
        best = f"{row['best_mbps']:.1f} ({row['best']['pages']} x {row['best']['flight']})"
        cells = [
            f"{figures['vs_default']:.2f}, {figures['vs_best']:.2f}, {figures['final_vs_best']:.2f}"
            for figures in row["policies"].values()
        ]
        table.add_row(row["workload"], f"{row['default_mbps']:.1f}", best, *cells)
    console().print(table)
