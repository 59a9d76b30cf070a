"""`penstock fleet`: many nodes at once, from their agents' logs and from the folder that they share."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    DURATION,
    ListedGroup,
    console,
    emit_json,
    json_option,
    write_bytes,
    write_text,
)
from penstock.errors import refusal
from penstock.units import counted, parse_duration

if TYPE_CHECKING:
    from penstock.agent.fleet import FleetReport
    from penstock.agent.fleet_worth import FleetWorth
    from penstock.agent.sharing.fleet_knowledge import FleetKnowledge

MOST_SHOWN = 20


@click.group(cls=ListedGroup, epilog="Example: penstock fleet report state --out fleet.html")
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


@fleet.command(epilog="Example: penstock fleet knowledge share")
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Also write one HTML page.")
@click.option(
    "--export", type=click.Path(path_type=Path), metavar="FILE", help="Write all of it to one file."
)
@click.option(
    "--import", "source", type=click.Path(path_type=Path), metavar="FILE", help="Bring in such a file."
)
@click.option(
    "--forget", metavar="AGE|VERSION", help="Drop what is older than AGE, or was told by agents of VERSION."
)
@json_option
def knowledge(
    directory: Path,
    html: Path | None,
    export: Path | None,
    source: Path | None,
    forget: str | None,
    as_json: bool,
) -> None:
    """Say what a fleet knows: kinds of work, what settings brought there, who agrees and who contradicts.

    DIR is the folder that `[knowledge] share` names. Running agents tell again what they know themselves, whatever
    was forgotten.
    """
    from penstock.agent.sharing.fleet_knowledge import document, dump_export, page, read_knowledge

    if source is not None:
        _bring_in(directory, source)
    if forget is not None:
        _forget(directory, forget)
    found, now_s = read_knowledge(directory), time.time()
    if html is not None:
        write_text(html, page(found, now_s))
    if export is not None:
        write_bytes(export, dump_export(found.files))
    if as_json:
        emit_json(document(found))
    else:
        _show_knowledge(found, now_s)


@fleet.command(epilog="Example: penstock fleet worth state --last 7d")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="LOG...")
@click.option("--last", type=DURATION, default="30d", show_default=True, help="How far to look back.")
@click.option(
    "--knowledge",
    "known",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Also go by what this fleet proved.",
)
@json_option
def worth(files: tuple[Path, ...], last: float, known: Path | None, as_json: bool) -> None:
    """Say before anything is tuned what tuning would bring, and how sure that is.

    LOG is a node's decision log, named after the node, or its state directory, from an agent in mode observe or
    advise. Each kind of work that nodes noted is compared with simulated cases in which tuning has ended; with
    --knowledge first with what the nodes that share this folder proved.
    """
    from penstock.agent.fleet_worth import document, fleet_worth, read_seen
    from penstock.agent.sharing.fleet_knowledge import read_knowledge
    from penstock.predict.tuned_cases import shipped_cases

    now_s = time.time()
    noted = read_seen(files, now_s - last, now_s)
    found = fleet_worth(noted, shipped_cases(), None if known is None else read_knowledge(known).digest)
    if as_json:
        emit_json(document(found))
    else:
        _show_worth(found)


def _bring_in(directory: Path, source: Path) -> None:
    from penstock.agent.sharing.fleet_knowledge import MOST_EXPORT_BYTES, bring_in, parse_export

    try:
        with source.open("rb") as file:
            raw = file.read(MOST_EXPORT_BYTES + 1)
        nodes = bring_in(directory, parse_export(raw, str(source)))
    except OSError as error:
        raise refusal(Path(error.filename or source), error) from None
    click.echo(f"brought in: what {len(nodes)} nodes know", err=True)


def _forget(directory: Path, what: str) -> None:
    from penstock.agent.sharing.fleet_knowledge import forget_older, forget_version, read_knowledge

    found = read_knowledge(directory)
    try:
        if what in {file.made_by for file in found.files}:
            count = forget_version(directory, found, what)
        else:
            count = forget_older(directory, found, time.time() - parse_duration(what))
    except OSError as error:
        raise refusal(directory, error) from None
    click.echo(f"forgotten: {count} measurements", err=True)


def _show_knowledge(found: FleetKnowledge, now_s: float) -> None:
    from rich.table import Table

    from penstock.agent.sharing.fleet_knowledge import HEADING, cells, sentence, work_words

    click.echo(sentence(found))
    for problem in found.problems:
        click.echo(f"not used: {problem}")
    for work in found.digest.works:
        table = Table(title=f"{work_words(work)}; known on {counted(work.nodes, 'node')}")
        for heading in HEADING:
            table.add_column(heading, overflow="fold")
        for gain in work.gains[:MOST_SHOWN]:
            table.add_row(*cells(gain, now_s))
        console().print(table)


def _show_worth(found: FleetWorth) -> None:
    from rich.table import Table

    from penstock.agent.fleet_worth import HEADING, cells, sentence

    click.echo(sentence(found))
    table = Table()
    for heading in HEADING:
        words = heading in ("work", "said by")
        table.add_column(heading, overflow="fold", justify="left" if words else "right")
    for one in found.works[:MOST_SHOWN]:
        table.add_row(*cells(one))
    console().print(table)
    if len(found.works) > MOST_SHOWN:
        click.echo(f"and {len(found.works) - MOST_SHOWN} more kinds of work; --json has all of them")


def _show(found: FleetReport) -> None:
    from rich.table import Table

    from penstock.agent.fleet import CLASSES, COLUMNS, node_cells, sentence

    click.echo(sentence(found))
    for name, nodes in found.by_class().items():
        if not nodes:
            continue
        click.echo(f"{name}, {counted(len(nodes), 'node')}: {CLASSES[name]}")
        table = Table()
        table.add_column(COLUMNS[0], overflow="fold")
        for heading in COLUMNS[1:]:
            table.add_column(heading, justify="right")
        for node in nodes[:MOST_SHOWN]:
            table.add_row(*node_cells(node))
        console().print(table)
        if len(nodes) > MOST_SHOWN:
            click.echo(f"and {len(nodes) - MOST_SHOWN} more; --out PAGE.html and --json have all of them")
    for job in found.jobs[:MOST_SHOWN]:
        gain = "not judged" if job.gain is None else job.gain.words
        click.echo(f"job {job.job} ({job.user or '-'}): {job.nodes} nodes, {job.made} changes, {gain}")
