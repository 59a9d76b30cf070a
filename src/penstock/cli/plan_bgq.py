"""`penstock plan collective --model bgq`: the paper's model and its nine configurations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import console, emit_json
from penstock.units import format_size

if TYPE_CHECKING:
    from penstock.plan.collective.bgq.ranking import BgqRanking, RankedConfiguration

NOTE = (
    "no measurement: the paper's counts of operations, on a machine that was calibrated to the paper's results "
    "for the default and for random choices"
)
#: What a profile or real runs are needed for.
OF_PROFILES = (
    "profile",
    "block",
    "gap",
    "confirm",
    "directory",
    "out",
    "launcher",
    "thread_level",
    "command",
)


def rank(options: dict[str, Any], as_json: bool) -> None:
    """Rank the configurations for `--ranks` and `--bytes-per-rank`, and show them."""
    from penstock.plan.collective.bgq.ranking import instance_of, rank_configurations

    for name in OF_PROFILES:
        if options[name]:
            shown = "dir" if name == "directory" else name.replace("_", "-")
            raise click.UsageError(f"--{shown} is for --profile; the paper's model has no use for it")
    if options["pattern"] != "contiguous":
        raise click.UsageError(
            f"--pattern {options['pattern']}: the paper's ranks write one contiguous piece"
        )
    ranking = rank_configurations(instance_of(options["ranks"], options["bytes_per_rank"]))
    if as_json:
        emit_json(document(ranking))
    else:
        _show(ranking)


def document(found: BgqRanking) -> dict[str, Any]:
    """The answer as documented for --json."""
    subject = found.advice or found.default
    return {
        "model": "bgq",
        "default": _entry(found.default),
        "advice": None if found.advice is None else _entry(found.advice),
        "ranking": [_entry(one) for one in found.ranking],
        "operations": {
            name: {"count": share.times, "seconds": share.seconds}
            for name, share in subject.operations.items()
        },
        "rounds": subject.rounds,
        "outside": list(found.outside),
        "notes": [NOTE],
    }


def _entry(one: RankedConfiguration) -> dict[str, Any]:
    return {
        "bg_nodes_pset": one.hints.per_pset,
        "cb_nodes": one.aggregators,
        "cb_buffer_size": one.hints.buffer_bytes,
        "seconds": one.seconds,
        "rounds": one.rounds,
        "hints": {"bg_nodes_pset": str(one.hints.per_pset), "cb_buffer_size": str(one.hints.buffer_bytes)},
    }


def _show(found: BgqRanking) -> None:
    from rich.table import Table

    table = Table("bg_nodes_pset", "buffer", "aggregators", "seconds", "rounds", "", box=None)
    for one in found.ranking:
        table.add_row(
            str(one.hints.per_pset),
            format_size(one.hints.buffer_bytes),
            str(one.aggregators),
            f"{one.seconds:.4g}",
            str(one.rounds),
            "default" if one.hints == found.default.hints else "",
        )
    screen = console()
    screen.print(table)
    for line in (*(f"outside the paper's runs: {each}" for each in found.outside), NOTE):
        screen.print(f"- {line}", soft_wrap=True)
    best = found.advice
    if best is None:
        screen.print("advice: set no hints")
        return
    gain = found.default.seconds / best.seconds
    screen.print(
        f"advice: bg_nodes_pset={best.hints.per_pset} cb_buffer_size={best.hints.buffer_bytes}   "
        f"({gain:.2f} times as fast)",
        soft_wrap=True,
    )
