"""The live table behind `penstock snapshot --watch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.ratios import carat_metrics
from penstock.snapshot import NodeSnapshot
from penstock.spaces import LUSTRE
from penstock.units import counted
from penstock.window import Void, Window, windows

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

# The heading, the metric, its format, and the terminal width from which it is shown.
_COLUMNS = (
    ("read MB/s", "read.bytes", "rate", 0),
    ("lat us", "read.page_latency_us", "number", 100),
    ("page use", "read.page_utilisation", "percent", 84),
    ("flight use", "read.channel_utilisation", "percent", 84),
    ("write MB/s", "write.bytes", "rate", 0),
    ("lat us", "write.page_latency_us", "number", 100),
    ("page use", "write.page_utilisation", "percent", 84),
    ("flight use", "write.channel_utilisation", "percent", 84),
    ("dirty", "dirty.utilisation", "percent", 60),
)
_SETTING_FROM_COLUMNS = 120
_LINES_AROUND = 8


class Watcher:
    """Shows each snapshot beside the one before: in place on a terminal, otherwise one table after the other."""

    def __init__(self, screen: Console) -> None:
        self._screen = screen
        self._before: NodeSnapshot | None = None
        self._live: Live | None = None

    def __enter__(self) -> None:
        if self._screen.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._screen, auto_refresh=False, screen=False)
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, seen: NodeSnapshot) -> None:
        """Compare with the last snapshot and show the difference."""
        before, self._before = self._before, seen
        if before is None:
            found: tuple[Window | Void, ...] = ()
        else:
            found = windows(before, seen)
        picture = _table(found, seen, self._screen)
        if self._live is not None:
            self._live.update(picture, refresh=True)
        elif before is not None:
            self._screen.print(picture)


def _table(found: Sequence[Window | Void], seen: NodeSnapshot, screen: Console) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    width = screen.width
    columns = [column for column in _COLUMNS if column[3] <= width]
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("target", no_wrap=True, overflow="ellipsis")
    for heading, *_ in columns:
        table.add_column(heading, justify="right", no_wrap=width >= 84)
    if width >= _SETTING_FROM_COLUMNS:
        table.add_column("setting", no_wrap=True)
    shown = _busiest(found, screen.height - _LINES_AROUND if screen.is_terminal else len(found))
    for item in shown:
        table.add_row(*_row(item, columns, width))
    lines: list[RenderableType] = [table]
    lines += [Text(line, style="dim") for line in _remarks(found, len(shown), seen)]
    return Group(*lines)


def _busiest(found: Sequence[Window | Void], room: int) -> list[Window | Void]:
    """The targets that move most if not all fit, in the order of their names."""
    most = sorted(found, key=lambda item: -item.moved_per_s if isinstance(item, Window) else 0.0)
    return sorted(most[: max(1, room)], key=lambda item: item.target.name)


def _row(item: Window | Void, columns: Sequence[tuple[str, str, str, int]], width: int) -> list[str]:
    from penstock.cli.snapshot import short_name

    name = short_name(item.target)
    if isinstance(item, Void):
        return [name, str(item.reason)] if width >= _SETTING_FROM_COLUMNS else [name, "-"]
    values = carat_metrics(item, LUSTRE)
    cells = [_cell(values[metric], item.seconds, kind) for _, metric, kind, _ in columns]
    return [name, *cells, *([str(item.setting)] if width >= _SETTING_FROM_COLUMNS else [])]


def _cell(value: float | None, seconds: float, kind: str) -> str:
    if value is None:
        return "-"
    if kind == "rate":
        return f"{value / seconds / 1e6:.1f}"
    return f"{100 * value:.0f}%" if kind == "percent" else f"{value:.0f}"


def _remarks(found: Sequence[Window | Void], shown: int, seen: NodeSnapshot) -> list[str]:
    from penstock.cli.snapshot import grouped

    moving = [item for item in found if isinstance(item, Window)]
    total = sum(item.moved_per_s for item in moving) / 1e6
    lines = (
        [f"{counted(len(seen.targets), 'target')}, {total:.1f} MB/s in all"]
        if seen.targets
        else ["no target yet"]
    )
    if len(found) > shown:
        lines.append(f"{len(found) - shown} calmer targets not shown")
    return lines + grouped(seen.problems)[:3]
