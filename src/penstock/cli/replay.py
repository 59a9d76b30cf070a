"""`penstock replay`: turns a recording into windows."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import console, json_option
from penstock.cli.snapshot import WIDE_COLUMNS
from penstock.ratios import carat_metrics
from penstock.spaces import LUSTRE
from penstock.units import format_size
from penstock.window import DIRECTIONS, Void, Window

if TYPE_CHECKING:
    from penstock.observe.recorded_windows import Discarded
    from penstock.observe.recording import RecordedProbe

_RATIOS = ("page_utilisation", "channel_utilisation", "page_latency_us", "bytes")
_PATIENCE_S = 2.0
NARROW_COLUMNS = 70


@click.command(epilog="Example: penstock replay osc.jsonl --json")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@json_option
def replay(files: tuple[Path, ...], as_json: bool) -> None:
    """Compute the windows of recordings made by `penstock snapshot --record`.

    One window per target and pair of consecutive probes. A pair from which nothing may be concluded
    (counters were reset, a read was torn, the connection was lost) yields no window and is listed apart, with
    its reason. Each FILE is a recording of its own; .gz is unpacked on the way.
    """
    from penstock.observe.recorded_windows import Replay
    from penstock.observe.recording import read_recording

    items = (item for path in files for item in Replay().windows(_watched(read_recording(path), path)))
    if as_json:
        _emit(items)
    else:
        _show(tuple(items))


def _watched(probes: Iterable[RecordedProbe], path: Path) -> Iterator[RecordedProbe]:
    """The probes, with a progress line on a terminal if it takes long."""
    said_s = time.monotonic()
    spoken = False
    for number, probe in enumerate(probes, 1):
        yield probe
        if sys.stderr.isatty() and time.monotonic() - said_s > _PATIENCE_S:
            said_s, spoken = time.monotonic(), True
            click.echo(f"\rpenstock: {path}: {number} probes", nl=False, err=True)
    if spoken:
        click.echo("", err=True)


def _emit(items: Iterable[Window | Void | Discarded]) -> None:
    """Print one document with a window per line, because recordings may be long and json's own indenting is slow."""
    found, void = [], []
    for item in items:
        if isinstance(item, Window):
            found.append(json.dumps(_window(item), allow_nan=False))
        else:
            void.append(json.dumps(_void(item), allow_nan=False))
    between = ",\n  "
    sys.stdout.write(f'{{"windows": [\n  {between.join(found)}],\n "void": [\n  {between.join(void)}]}}\n')


def _window(item: Window) -> dict[str, Any]:
    metrics = carat_metrics(item, LUSTRE)
    return {
        "t0": item.t0_s,
        "t1": item.t1_s,
        "target": item.target.name,
        **{direction: {name: metrics[f"{direction}.{name}"] for name in _RATIOS} for direction in DIRECTIONS},
        "dirty_utilisation": metrics["dirty.utilisation"],
        "cache_update_bytes": metrics["cache_update_bytes"],
    }


def _void(item: Void | Discarded) -> dict[str, Any]:
    return {"t0": item.t0_s, "t1": item.t1_s, "target": item.target.name, "reason": str(item.reason)}


def _show(items: Sequence[Window | Void | Discarded]) -> None:
    from rich.table import Table

    found = [item for item in items if isinstance(item, Window)]
    void = [item for item in items if not isinstance(item, Window)]
    screen = console()
    table = Table(box=None, header_style="bold")
    table.add_column("target", no_wrap=True)
    headings = ("windows", "void", "read", "MB/s", "written", "MB/s")
    for heading in headings if screen.width >= NARROW_COLUMNS else headings[:2]:
        table.add_column(heading, justify="right", no_wrap=True)
    for name in sorted({item.target.name for item in (*found, *void)}):
        mine = [item for item in found if item.target.name == name]
        lost = sum(item.target.name == name for item in void)
        label = name if screen.width >= WIDE_COLUMNS else name.split("-osc-")[0]
        cells = (label, str(len(mine)), str(lost), *_moved(mine, "read"), *_moved(mine, "write"))
        table.add_row(*cells[: len(table.columns)])
    screen.print(table)
    for reason in sorted({str(item.reason) for item in void}):
        count = sum(str(item.reason) == reason for item in void)
        click.echo(f"penstock: {count} pairs void: {reason}", err=True)


def _moved(mine: Sequence[Window], direction: str) -> tuple[str, str]:
    """The volume, and the rate over the windows in which this direction moved anything."""
    busy = [item for item in mine if item.metrics.get(f"{direction}.bytes")]
    total = sum(item.metrics[f"{direction}.bytes"] for item in busy)
    seconds = sum(item.seconds for item in busy)
    return format_size(total), f"{total / seconds / 1e6:.1f}" if seconds else "-"
