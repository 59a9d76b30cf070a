"""Tables that omit whole columns instead of cutting text. Numbers are never cut, and omitted columns are named."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.table import Table

# A longer word (a path, a command) may be wrapped. No number is as long.
LONGEST_WORD = 32


Row = TypeVar("Row")


def grouped(rows: Iterable[Row], key: Callable[[Row], Hashable]) -> list[list[Row]]:
    """Rows with equal keys together, in the order of the first of each."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return list(found.values())


def and_more(names: Sequence[str]) -> str:
    """The first name, and how many others.

    >>> and_more(["a"]), and_more(["a", "b", "c"])
    ('a', 'a and 2 more')
    """
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def fit(table: Table, console: Console) -> None:
    """Give every column the width it needs, within the console's.

    Where they do not fit, lines and padding go first, then columns from the right, the least important; the first
    identifies the row and stays. A caption says what is missing.
    """
    needs = [_needs(table, number, console) for number in range(len(table.columns))]
    if table.expand or sum(most for _, most in needs) + _frame(table) <= console.width:
        return
    if sum(least for least, _ in needs) + _frame(table) > console.width:
        table.box, table.padding, table.pad_edge = None, (0, 1, 0, 0), False
    shown = len(needs)
    while shown > 1 and sum(least for least, _ in needs[:shown]) + _frame(table, shown) > console.width:
        shown -= 1
    if shown < len(needs):
        missing = ", ".join(str(column.header) for column in table.columns[shown:])
        table.caption = f"too narrow for: {missing}"
        del table.columns[shown:]
    room = console.width - _frame(table)
    for column, width in zip(table.columns, widths(needs[:shown], room), strict=True):
        column.width, column.overflow, column.no_wrap = width, "fold", False


def widths(needs: Sequence[tuple[int, int]], room: int) -> list[int]:
    """What each column gets: at least its longest word; what is left goes where text takes the most lines.

    >>> widths([(3, 10), (5, 5), (4, 30)], 30), widths([(3, 10), (5, 5), (4, 60)], 30)
    ([6, 5, 19], [4, 5, 21])
    """
    found = [least for least, _ in needs]
    for _ in range(room - sum(found)):
        lines, number = max((most / found[at], at) for at, (_, most) in enumerate(needs))
        if lines <= 1:
            break
        found[number] += 1
    if sum(found) > room:
        found[0] = max(1, found[0] - (sum(found) - room))
    return found


def _needs(table: Table, number: int, console: Console) -> tuple[int, int]:
    """The smallest width of a column (its longest word, or what it asks for), and the largest width it can use."""
    from rich.measure import Measurement

    column = table.columns[number]
    options: ConsoleOptions = console.options.update(max_width=10_000)
    sizes = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
    least = max(size.minimum for size in sizes)
    return max(min(least, LONGEST_WORD), column.min_width or 0), max(size.maximum for size in sizes)


def _frame(table: Table, columns: int | None = None) -> int:
    """The width of lines and padding."""
    count = len(table.columns) if columns is None else columns
    _, right, _, left = table.padding
    lines = 0 if table.box is None else count + 1
    return lines + count * (left + right)
