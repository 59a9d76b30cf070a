"""`evaluate scenarios` and `robust` for people: a line for each policy in each world, and a summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from penstock.cli.options import console
from penstock.units import counted

Figures = Mapping[str, Any]
#: Headings and the keys of a policy's entry, with the number of digits.
ENTRY = (
    ("of default", "vs_default", 2), ("last half", "vs_default_last_half", 2), ("least job", "least_job", 2),
    ("least direction", "least_direction", 2), ("cost", "trial_cost", 3), ("trials", "trials", 1),
    ("to best", "trials_to_best", 1),
)  # fmt: skip
SUMMARY = (
    ("worst", "worst_vs_default"), ("5th pc.", "p05_vs_default"), ("mean", "geomean_vs_default"),
    ("last half", "geomean_last_half"), ("room", "headroom_captured"), ("log room", "headroom_log_last_half"),
    ("within 5", "within_five_trials"), ("job", "worst_job_vs_default"), ("direction", "worst_direction_vs_default"),
)  # fmt: skip
LEGEND = """\
Ratios are to the default; "best P x F" is the best static setting. "least job" is the worst-off
job, "least direction" the worst-off direction of a target. "cost" is the share of the work that
looks and trials lost, "to best" how many trials it took to the best setting held. "mean" is
geometric. The next three count worlds in which the best static setting brings 1.2 times the
default. "room": how much of that gain was gained; "log room": the same in the last half, as
logarithms; "within 5": the share of targets that held a setting with .9 of the best static one's
rate within five trials."""


def show_worlds(document: Figures) -> None:
    """Print both tables, at most 100 columns wide, and what their columns mean."""
    seeds = f", means over {document['seeds']} seeds" if document["seeds"] > 1 else ""
    screen = console()
    screen.print(_rows(document, f"{document['seconds']:g} s each{seeds}"))
    screen.print(_summary(document))
    screen.print(LEGEND, highlight=False)
    for row in document["rows"]:
        for policy, figures in row["policies"].items():
            if figures["held_back"]:
                rules = ", ".join(f"{rule} {windows:.0f}" for rule, windows in figures["held_back"].items())
                screen.print(
                    f"{row['scenario']}, {label(policy)} held back, in windows: {rules}", highlight=False
                )


def label(policy: str) -> str:
    """A policy's name; of a file, its stem."""
    return Path(policy).stem if policy.endswith(".py") else policy


def _rows(document: Figures, title: str) -> Table:
    table = Table(title=title)
    table.add_column("scenario")
    table.add_column("policy")
    for heading in ("MB/s", *(heading for heading, _, _ in ENTRY)):
        table.add_column(heading, justify="right")
    for row in document["rows"]:
        table.add_row(row["scenario"], "default", f"{row['default']['app_mbps']:.1f}")
        best = row["best_static"]
        if best is not None:
            gain = best["app_mbps"] / row["default"]["app_mbps"] if row["default"]["app_mbps"] else 1.0
            held = f"best {best['pages']} x {best['flight']}"
            table.add_row("", held, f"{best['app_mbps']:.1f}", f"{gain:.2f}")
        for policy, figures in row["policies"].items():
            cells = (_number(figures[key], digits) for _, key, digits in ENTRY)
            table.add_row("", label(policy), f"{figures['app_mbps']:.1f}", *cells)
        table.add_section()
    return table


def _summary(document: Figures) -> Table:
    table = Table(title=f"summary of {counted(len(document['rows']), 'world')}")
    table.add_column("policy")
    for heading, _ in SUMMARY:
        table.add_column(heading, justify="right")
    for policy, figures in document["summary"].items():
        table.add_row(label(policy), *(_number(figures[key], 3) for _, key in SUMMARY))
    return table


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
