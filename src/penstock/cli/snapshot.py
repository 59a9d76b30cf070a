"""`penstock snapshot`: shows a client's present counters, once, live, or into a recording."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import DURATION, SIZE, console, emit_json, json_option, root_option
from penstock.errors import AccessError, MissingError, UsageError
from penstock.knobs import TargetKind
from penstock.knobs.target_kind import DATA, DATA_PATH, METADATA, READAHEAD
from penstock.observe.lustre.layout import READAHEAD_KNOBS
from penstock.snapshot import NodeSnapshot, Problem, Target, TargetSnapshot
from penstock.target_kinds import LUSTRE_READAHEAD, MDC, STATAHEAD
from penstock.units import format_size

if TYPE_CHECKING:
    from rich.console import RenderableType

    from penstock.observe.collector import LustreObserver
    from penstock.observe.lustre.rpcstats import RpcStats

WIDE_COLUMNS = 110


@click.command(epilog="Example: penstock snapshot --record osc.jsonl --count 3")
@root_option
@click.option("--watch", is_flag=True, help="A live table of what moves, until Ctrl-C.")
@click.option(
    "--record",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Append raw probes to this file (JSON lines), as `penstock replay` reads them, until Ctrl-C.",
)
@click.option("--interval", type=DURATION, default="1s", show_default=True, help="Time between probes.")
@click.option("--count", type=click.IntRange(1), help="Stop after so many probes.")
@click.option(
    "--rotate",
    type=SIZE,
    default="64MiB",
    show_default=True,
    help="Begin a new recording at this size; the last four are kept as FILE.1 to FILE.4.",
)
@json_option
def snapshot(
    root: Path,
    watch: bool,
    record: Path | None,
    interval: float,
    count: int | None,
    rotate: float,
    as_json: bool,
) -> None:
    """Read this client's knobs and counters, target by target.

    Needs no root: what may not be read is left out and said so. Nothing is ever written to the kernel.
    """
    from penstock.observe.collector import LustreObserver

    if as_json and (watch or record):
        raise UsageError("--json prints one snapshot: it goes with neither --watch nor --record")
    if interval <= 0:
        raise UsageError(f"--interval {interval:g}: must be above 0")
    _check_root(root)
    observer = LustreObserver(root)
    if watch or record:
        _follow(observer, watch, record, _Pace(interval, count, int(rotate)))
        return
    observer.kinds = (DATA, METADATA, READAHEAD)
    seen = observer.observe()
    if as_json:
        emit_json(_document(seen, observer.rpc_stats()))
    elif seen.targets:
        screen = console()
        screen.print(_overview(seen, screen.width))
        for item in _of(seen, MDC) + _of(seen, STATAHEAD):
            screen.print(_metadata_line(item))
        for item in _of(seen, LUSTRE_READAHEAD):
            screen.print(_readahead_line(item))
    _say_problems(seen, root)


def _check_root(root: Path) -> None:
    if not root.is_dir():
        raise MissingError(f"--root {root}: {'not a directory' if root.exists() else 'no such directory'}")
    try:
        next(root.iterdir(), None)
    except PermissionError:
        raise AccessError(f"--root {root}: permission denied") from None


class _Pace:
    """When to probe, how often, and when a recording is full."""

    def __init__(self, interval_s: float, count: int | None, rotate_bytes: int) -> None:
        self.interval_s = interval_s
        self.count = count
        self.rotate_bytes = rotate_bytes

    def beats(self) -> Iterator[int]:
        """Yield 1, 2, ... once an interval; a late caller skips beats instead of catching up."""
        due_s = time.monotonic()
        number = 0
        while self.count is None or number < self.count:
            number += 1
            yield number
            due_s += self.interval_s
            late_s = time.monotonic() - due_s
            if late_s > 0:
                due_s += math.ceil(late_s / self.interval_s) * self.interval_s
            if self.count is None or number < self.count:
                time.sleep(max(0.0, due_s - time.monotonic()))


def _follow(observer: LustreObserver, watch: bool, record: Path | None, pace: _Pace) -> None:
    from penstock.cli.watch import Watcher
    from penstock.observe.recording import RecordingWriter

    writer = RecordingWriter(record, pace.rotate_bytes) if record else None
    watcher = Watcher(console()) if watch else None
    written = 0
    try:
        with watcher or _Nothing():
            for _ in pace.beats():
                if writer is not None:
                    writer.write(observer.probe())
                    written += 1
                if watcher is not None:
                    watcher.show(observer.observe())
    except KeyboardInterrupt:
        # These two are ended with Ctrl-C.
        pass
    finally:
        observer.close()
        if writer is not None:
            writer.close()
            click.echo(f"penstock: {written} probes in {record}", err=True)


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _document(seen: NodeSnapshot, rpc_stats: Mapping[str, RpcStats]) -> dict[str, Any]:
    return {
        "system": seen.system,
        "version": seen.version,
        "targets": [_target(item, rpc_stats.get(item.target.name)) for item in _of(seen, DATA_PATH)],
        "mdc": [_mdc(item) for item in _of(seen, MDC)],
        "llite": [_llite(item, seen) for item in _of(seen, STATAHEAD)],
        "mounts": [
            {"name": name, **{key: _number(value) for key, value in counters.items()}}
            for name, counters in sorted(seen.mounts.items())
        ],
        "problems": [{"source": problem.source, "message": problem.message} for problem in seen.problems],
    }


def _of(seen: NodeSnapshot, kind: TargetKind) -> list[TargetSnapshot]:
    return [item for item in seen.targets if item.target.kind == kind]


def _mdc(item: TargetSnapshot) -> dict[str, Any]:
    return {
        "name": item.target.name,
        "fs": item.target.fs,
        "mdt": item.target.resource,
        "rpcs": item.setting.get("rpcs"),
        "mod_rpcs": item.setting.get("mod_rpcs"),
        "import_state": item.state or None,
        "active": item.active,
        **_operations(item),
    }


def _llite(item: TargetSnapshot, seen: NodeSnapshot) -> dict[str, Any]:
    mine = [one for one in _of(seen, LUSTRE_READAHEAD) if one.target.mount == item.target.mount]
    return {
        "name": item.target.mount,
        "fs": item.target.fs,
        "statahead": item.setting.get("statahead"),
        **_operations(item),
        "readahead": _readahead(mine[0]) if mine else None,
    }


def _readahead(item: TargetSnapshot) -> dict[str, Any]:
    """Its knobs in MiB, what applications read, and what came over the wire for that."""
    return {
        **{knob_id: item.setting.get(knob_id) for knob_id in READAHEAD_KNOBS},
        "read_bytes": _number(item.counters.get("read.bytes", 0)),
        "carried_bytes": _number(item.counters.get(item.target.kind.carried, 0)),
    }


def _readahead_line(item: TargetSnapshot) -> str:
    done = _readahead(item)
    read, carried = done["read_bytes"], done["carried_bytes"]
    return f"{short_name(item.target)}: {item.setting or '?'}; {read} bytes read, {carried} carried for that"


def _operations(item: TargetSnapshot) -> dict[str, Any]:
    """What each way of work did: operations, the requests that took, and their time."""
    return {
        way: {name: _number(item.counters.get(f"{way}.{name}", 0)) for name in ("ops", "rpcs", "usec")}
        for way in item.target.kind.way_names
    }


def _metadata_line(item: TargetSnapshot) -> str:
    done = (f"{_operations(item)[way.name]['ops'] or 0} {way.plural}" for way in item.target.kind.ways)
    return f"{short_name(item.target)}: {item.setting or '?'}; {', '.join(done)}"


def _target(item: TargetSnapshot, rpc_stats: RpcStats | None) -> dict[str, Any]:
    return {
        "name": item.target.name,
        "fs": item.target.fs,
        "ost": item.target.resource,
        "pages": item.setting.get("pages"),
        "flight": item.setting.get("flight"),
        "dirty_mb": item.setting.get("dirty"),
        "dirty_bytes": _number(item.gauges.get("dirty.bytes")),
        "grant_bytes": _number(item.gauges.get("grant.bytes")),
        "max_brw_bytes": _number(item.gauges.get("brw.bytes")),
        "import_state": item.state or None,
        "active": item.active,
        "read": _direction(item, "read", rpc_stats),
        "write": _direction(item, "write", rpc_stats),
    }


def _direction(item: TargetSnapshot, direction: str, rpc_stats: RpcStats | None) -> dict[str, Any]:
    figures: dict[str, Any] = {
        name: _number(item.counters.get(f"{direction}.{name}", 0)) for name in ("rpcs", "bytes", "usec")
    }
    if rpc_stats is not None:
        figures["in_flight_now"] = rpc_stats.gauges.get(f"{direction} RPCs in flight")
        figures["mean_in_flight"] = rpc_stats.mean_in_flight(direction)
    return figures


def _number(value: float | None) -> float | None:
    if value is None or math.isnan(value):
        return None
    return int(value) if value == int(value) else value


def _overview(seen: NodeSnapshot, width: int) -> RenderableType:
    from rich.table import Table

    columns = [column for column in _COLUMNS if column[1] <= width]
    table = Table(title=f"{seen.system} {seen.version or ''}".strip(), box=None, header_style="bold")
    for heading, _, _ in columns:
        table.add_column(heading, justify="left" if heading == "target" else "right", no_wrap=True)
    for item in _of(seen, DATA_PATH):
        cells = {
            **_cells(item),
            "target": item.target.name if width >= WIDE_COLUMNS else short_name(item.target),
        }
        table.add_row(*(cells[key] for _, _, key in columns))
    return table


# The heading, the terminal width from which the column is shown, and its cell.
_COLUMNS = (
    ("target", 0, "target"),
    ("state", 70, "state"),
    ("pages", 0, "pages"),
    ("flight", 0, "flight"),
    ("dirty", 78, "dirty_now"),
    ("max MiB", 0, "dirty"),
    ("grant", 92, "grant"),
    ("read", 62, "read"),
    ("written", 62, "written"),
)


def short_name(target: Target) -> str:
    """A target's name without its mount, for tables."""
    return f"{target.fs}-{target.resource}" if target.resource else target.name


def _cells(item: TargetSnapshot) -> dict[str, str]:
    return {
        "state": (item.state or "?") if item.active else "inactive",
        "dirty_now": _size(item.gauges.get("dirty.bytes")),
        "grant": _size(item.gauges.get("grant.bytes")),
        "read": _size(item.counters.get("read.bytes", 0.0)),
        "written": _size(item.counters.get("write.bytes", 0.0)),
        **{knob: str(item.setting.get(knob, "?")) for knob in ("pages", "flight", "dirty")},
    }


def _size(value: float | None) -> str:
    return "?" if value is None or math.isnan(value) else format_size(value)


def _say_problems(seen: NodeSnapshot, root: Path) -> None:
    if not _of(seen, DATA_PATH):
        click.echo(f"penstock: no Lustre client data path below {root}", err=True)
    for line in grouped(seen.problems):
        click.echo(f"penstock: {line}", err=True)
    sys.stderr.flush()


def grouped(problems: Sequence[Problem]) -> list[str]:
    """One line per kind of problem, however many targets share it."""
    sources: dict[str, list[str]] = {}
    for problem in problems:
        sources.setdefault(problem.message, []).append(problem.source)
    return [
        f"{names[0]}: {message}" if len(names) == 1 else f"{names[0]} and {len(names) - 1} more: {message}"
        for message, names in sources.items()
    ]
