"""`penstock plan collective --history` and `--forget`: what became of earlier advice."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from penstock.cli.options import console, emit_json

if TYPE_CHECKING:
    from penstock.plan.collective.learned import PromiseRecord
    from penstock.plan.collective.remembered import PastComparison


def past(command: str | None, drop: bool, as_json: bool) -> None:
    """Show or forget what became of earlier advice."""
    from penstock.plan.collective.hint_question import own_history, split_command
    from penstock.plan.collective.learned import promise_record
    from penstock.plan.collective.remembered import forget, memory_path

    kept = own_history(command)
    record = promise_record(kept)
    forgotten = forget(None if command is None else split_command(command)) if drop else 0
    if as_json:
        past = {"comparisons": [asdict(one) for one in kept], "record": asdict(record)}
        emit_json({"path": str(memory_path()), "forgotten": forgotten, **past})
        return
    if drop:
        click.echo(f"penstock: forgot {forgotten} comparisons in {memory_path()}", err=True)
    else:
        _show(kept, record)


def _show(kept: list[PastComparison], record: PromiseRecord) -> None:
    from datetime import datetime

    from rich.markup import escape
    from rich.table import Table

    screen = console()
    table = Table("when", "command", "hints", "promised", "measured", "verdict", box=None)
    for one in kept:
        hints = " ".join(f"{name}={value}" for name, value in one.hints.items())
        when = datetime.fromtimestamp(one.when).strftime("%Y-%m-%d %H:%M")
        promised = "-" if one.promised is None else f"{one.promised:.2f}"
        figures = (promised, f"{one.gain:.2f} of {one.pairs}", one.verdict)
        table.add_row(when, escape(shlex.join(one.command)), escape(hints), *figures)
    if kept:
        screen.print(table)
    screen.print(record.text(), soft_wrap=True)
