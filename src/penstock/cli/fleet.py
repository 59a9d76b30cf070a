"""`penstock fleet`: one page from the logs of many nodes' agents."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import DURATION, console, emit_json, json_option, write_text

if TYPE_CHECKING:
    from penstock.agent.fleet import FleetReport

MOST_SHOWN = 20


@click.group(epilog="Example: penstock fleet report state --out fleet.html")
def fleet() -> None:
    """Many nodes at once, from what their agents wrote."""


@fleet.command(epilog="Example: penstock fleet report state --out fleet.html")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option("--last", type=DURATION, default="30d", show_default=True, help="How far to look back.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write one HTML page, with every node.")
@json_option
def report(files: tuple[Path, ...], last: float, out: Path | None, as_json: bool) -> None:
    """Merge decision logs: where tuning helped, where it was taken back, where nobody needs it; and one verdict.

    FILE is a node's decision log, named after the node, or its state directory. Where nodes ran `penstock agent
    trial`, the verdict is over those nodes, each of which counts once.
    """
    from penstock.agent.fleet import document, fleet_report, page

    now_s = time.time()
    found = fleet_report(files, now_s - last, now_s)
    if out is not None:
        write_text(out, page(found))
    if as_json:
        emit_json(document(found))
    else:
        _show(found)


def _show(found: FleetReport) -> None:
    from rich.table import Table

    from penstock.agent.fleet import CLASSES, gain_words, sentence

    click.echo(sentence(found))
    for name, nodes in found.by_class().items():
        if not nodes:
            continue
        table = Table(title=f"{name}: {len(nodes)} nodes. {CLASSES[name]}")
        table.add_column("node", overflow="fold")
        for heading in ("before/after", "changes", "advised", "taken back"):
            table.add_column(heading, justify="right")
        for node in nodes[:MOST_SHOWN]:
            table.add_row(
                node.node, gain_words(node.gain), str(node.made), str(node.advised), str(node.reverted)
            )
        console().print(table)
        if len(nodes) > MOST_SHOWN:
            click.echo(f"and {len(nodes) - MOST_SHOWN} more; --out PAGE.html and --json have all of them")
    for job in found.jobs[:MOST_SHOWN]:
        gain = "not judged" if job.gain is None else job.gain.words
        click.echo(f"job {job.job} ({job.user or '-'}): {job.nodes} nodes, {job.made} changes, {gain}")
