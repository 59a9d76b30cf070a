"""`penstock demo`: tunes a simulated client, shows it live, and writes a report."""

from __future__ import annotations

import dataclasses
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import (
    PolicyName,
    console,
    emit_json,
    json_option,
    prepare_simulator,
    require_writable,
    seed_option,
    write_text,
)
from penstock.decide.policies import POLICY_NAMES

if TYPE_CHECKING:
    from rich.console import RenderableType

    from penstock.evaluate.demo import DemoPoint, DemoSummary, Frame
    from penstock.report.page import Figure

SPARKS = "▁▂▃▄▅▆▇█"
LIVE_FRAMES_PER_S = 20
# What a new user may try next: the simulator, the evaluation, and an agent that changes nothing.
NEXT = (
    "simulate run --workload s_rd_rn_1m --policy weir",
    "evaluate static --only s_rd_rn_1m --seconds 20",
    "agent run --mode advise --state-dir ./state",
)
# An agent needs something to look at: where this machine has no client, a simulated one.
SERVE = "simulate serve --workload s_rd_rn_1m --root ./client --plain"


@click.command(epilog="Example: penstock demo --policy greedy --seed 7 --out demo.html")
@click.option(
    "--policy",
    type=PolicyName(POLICY_NAMES),
    default="weir",
    show_default=True,
    help="Who tunes the right-hand client.",
)
@click.option("--config", type=click.Path(path_type=Path), help="Another cluster and other phases (TOML).")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("penstock-demo.html"),
    show_default=True,
    help="Where the report goes.",
)
@seed_option
@json_option
def demo(policy: str, config: Path | None, out: Path, seed: int, as_json: bool) -> None:
    """Tune a simulated client live, side by side with one left at its defaults.

    Both clients see the same server and the same workload: random reads, then a program that writes over its own
    data, then the reads again. The tuner sees only its own client's counters. Two minutes of virtual time take a
    few seconds; the very first run compiles the simulator, which takes about half a minute more.
    """
    from penstock.evaluate.demo import frames, read_config, summarise

    settings = read_config(config)
    require_writable(out)
    prepare_simulator()
    seen: list[Frame] = []
    screen = console(stderr=as_json)
    if screen.is_terminal:
        from rich.live import Live

        with Live(console=screen, refresh_per_second=LIVE_FRAMES_PER_S) as live:
            for frame in frames(settings, policy, seed):
                seen.append(frame)
                live.update(side_by_side(seen, settings.seconds, policy))
                time.sleep(1 / LIVE_FRAMES_PER_S)
    else:
        seen.extend(frames(settings, policy, seed))
    summary = summarise(seen)
    write_text(out, _report(seen, summary, policy))
    if as_json:
        emit_json(_document(summary, policy, seed, out))
    else:
        screen.print(_table(summary, policy))
        screen.print(f"Report: {out}", soft_wrap=True)
        screen.print("Next:\n" + "\n".join(f"  {line}" for line in next_lines()), soft_wrap=True)


def next_lines() -> list[str]:
    """Commands that work as they are printed, whether or not `penstock` is on the PATH."""
    from penstock.agent.filesystems import open_observer
    from penstock.agent.settings import ScopeSection

    found = shutil.which("penstock")
    own = Path(sys.prefix, "bin", "penstock")
    here = own.relative_to(Path.cwd()) if own.is_relative_to(Path.cwd()) else own
    program = "penstock" if not own.exists() or (found and Path(found).samefile(own)) else str(here)
    observer = open_observer(Path("/"), ScopeSection().reach())
    try:
        has_client = bool(observer.observe().targets)
    finally:
        observer.close()
    commands = [f"{program} {words}" for words in NEXT]
    if not has_client:
        commands[-1:] = [
            f"{program} {SERVE}   # no client here: serves a simulated one until Ctrl-C; in a second terminal:",
            f"{commands[-1]} --root ./client",
        ]
    return commands


def _with_remark(line: str) -> str:
    """A command of `next_lines` for the page, its remark behind it.

    >>> _with_remark("penstock demo   # again:")
    '`penstock demo` (again)'
    """
    command, _, remark = line.partition("   # ")
    return f"`{command}`" + (f" ({remark.rstrip(':')})" if remark else "")


def side_by_side(seen: Sequence[Frame], seconds: float, policy: str) -> RenderableType:
    from rich.columns import Columns
    from rich.console import Group
    from rich.progress_bar import ProgressBar

    top = max(max(frame.default.bytes_per_s, frame.tuned.bytes_per_s) for frame in seen)
    left = _panel("default", [frame.default for frame in seen], top, "yellow")
    right = _panel(policy, [frame.tuned for frame in seen], top, "green")
    bar = ProgressBar(total=seconds, completed=seen[-1].tuned.t_s)
    return Group(Columns([left, right], equal=True, expand=True), bar)


def _panel(title: str, points: Sequence[DemoPoint], top: float, colour: str) -> RenderableType:
    from rich.panel import Panel
    from rich.text import Text

    now = points[-1]
    width = 34
    recent = [point.bytes_per_s for point in points[-width:]]
    line = "".join(SPARKS[min(7, int(8 * value / top))] for value in recent) if top else ""
    text = Text()
    text.append(f"{now.workload}  {now.bytes_per_s / 1e6:.0f} MB/s  t = {now.t_s:.0f} s\n", style="bold")
    filled = round(width * now.bytes_per_s / top) if top else 0
    text.append("█" * filled + "░" * (width - filled) + "\n", style=colour)
    text.append(f"{line:<{width}}\n", style=colour)
    text.append(f"{now.setting}\n")
    text.append(now.sentence, style="dim")
    return Panel(text, title=title, border_style=colour, height=9)


def _table(summary: DemoSummary, policy: str) -> RenderableType:
    from rich.table import Table

    title = f"{summary.seconds:.0f} s of virtual time, {summary.changes} changes; MB/s the application got"
    table = Table(title=title)
    table.add_column("workload")
    for heading in ("default", policy, "gain", "changes"):
        table.add_column(heading, justify="right")
    table.add_column("setting")
    for phase in summary.phases:
        gain = phase.tuned_mbps / phase.default_mbps
        rates = (f"{phase.default_mbps:.0f}", f"{phase.tuned_mbps:.0f}", f"{gain:.2f}x")
        table.add_row(phase.workload, *rates, str(phase.changes), str(phase.setting))
    rates = (f"{summary.default_mbps:.0f}", f"{summary.tuned_mbps:.0f}", f"{summary.gain:.2f}x")
    table.add_row("all", *rates, str(summary.changes), "", style="bold")
    return table


def _document(summary: DemoSummary, policy: str, seed: int, out: Path) -> dict[str, object]:
    phases = [
        {
            **dataclasses.asdict(phase),
            "setting": dict(phase.setting),
            "first_choice": dict(phase.first_choice) if phase.first_choice is not None else None,
        }
        for phase in summary.phases
    ]
    figures = {**dataclasses.asdict(summary), "phases": phases, "gain": summary.gain}
    return {"policy": policy, "seed": seed, **figures, "report": str(out)}


def _report(seen: Sequence[Frame], summary: DemoSummary, policy: str) -> str:
    from penstock.report.page import Section, Table, render

    rows = [
        (f"{f.tuned.t_s:.1f}", f.tuned.workload, ", ".join(f.tuned.changes), f.tuned.sentence)
        for f in seen
        if f.tuned.changes
    ]
    phases = [
        (
            f"{phase.workload} ({phase.start_s:.0f} to {phase.end_s:.0f} s)",
            f"{phase.default_mbps:.0f}",
            f"{phase.tuned_mbps:.0f}",
            f"{phase.tuned_mbps / phase.default_mbps:.2f}",
            str(phase.changes),
            str(phase.setting),
        )
        for phase in summary.phases
    ]
    heading = ("phase", "default (MB/s)", f"{policy} (MB/s)", "gain", "changes", "setting")
    sections = [
        Section("Phase by phase", tables=[Table(heading, phases)]),
        Section("Every change, and why", tables=[Table(("t (s)", "workload", "change", "why"), rows)]),
        Section("What next", [_with_remark(line) for line in next_lines()]),
    ]
    rates = f"{summary.tuned_mbps:.0f} instead of {summary.default_mbps:.0f} MB/s"
    answer = f"**{summary.gain:.2f} times as fast**: {rates}."
    lead = [*_lead(summary, policy), *_rewriting(seen, policy), *_dips(seen, summary, policy)]
    return render("Penstock demo", lead, sections, answer, _picture(seen, summary, policy))


def _lead(summary: DemoSummary, policy: str) -> list[str]:
    """What was compared, and what happened when a workload returned."""
    phases = ", then ".join(phase.workload for phase in summary.phases)
    text = (
        f"The same simulated client twice, through {phases} on one target: left at its defaults, and tuned by "
        f"{policy} with {summary.changes} changes. Rates are what the application saw, in 10^6 bytes per second of "
        "virtual time; the search counts."
    )
    back = summary.returned
    if back is None:
        return [text]
    return [
        text,
        f"When {back.workload} came back at {back.start_s:.0f} s, so did its setting, {back.setting}.",
    ]


def _rewriting(seen: Sequence[Frame], policy: str) -> list[str]:
    from penstock.evaluate.demo import rewritten

    return [
        f"In phase {default.workload} the program writes over its own data, some of it before it was sent. At the "
        f"default it writes {default.written_mbps:.0f} MB/s, of which the client sends {default.sent_mbps:.0f}; with "
        f"{policy} it writes {tuned.written_mbps:.0f}, of which the client sends {tuned.sent_mbps:.0f}."
        for default, tuned in rewritten(seen)
    ]


def _dips(seen: Sequence[Frame], summary: DemoSummary, policy: str) -> list[str]:
    from penstock.evaluate.demo import leftovers

    return [
        f"At {default.start_s:.0f} s both clients get little: what {default.workload} left unsent in their caches "
        f"goes to the same target first. At the default that is {default.sent_bytes / 1e6:.0f} MB, until "
        f"{default.end_s:.0f} s; with {policy} it is {tuned.sent_bytes / 1e6:.0f} MB, until {tuned.end_s:.0f} s."
        for default, tuned in leftovers(seen, summary)
    ]


def _picture(seen: Sequence[Frame], summary: DemoSummary, policy: str) -> Figure:
    from penstock.report.page import Figure
    from penstock.report.timeline import KNOB_COLOURS, Band, Drawing, Mark, Series, draw

    bands = [Band(phase.start_s, phase.end_s, phase.workload) for phase in summary.phases]
    rates = [
        Series(policy, "var(--policy)", [(f.tuned.t_s, f.tuned.bytes_per_s / 1e6) for f in seen]),
        Series("default", "var(--default)", [(f.default.t_s, f.default.bytes_per_s / 1e6) for f in seen]),
    ]
    marks = [Mark(f.tuned.t_s, ", ".join(f.tuned.changes)) for f in seen if f.tuned.changes]
    names = {"pages": "pages per RPC", "flight": "RPCs in flight"}
    steps = [
        Series(name, colour, [(f.tuned.t_s, float(f.tuned.setting[knob])) for f in seen if f.tuned.setting])
        for (knob, name), colour in zip(names.items(), KNOB_COLOURS, strict=False)
    ]
    drawing = Drawing("throughput and settings", "MB/s", rates, bands, marks, steps)
    return Figure("What both applications got, and the tuned client's setting", draw(drawing))
