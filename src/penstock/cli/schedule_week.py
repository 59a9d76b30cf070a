"""Replays of a site's own jobs: `schedule study --trace`, and `schedule advise --compare`."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import console, emit_json, write_text
from penstock.errors import DataError, MissingError, UsageError
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.schedule.advice import Rule
    from penstock.schedule.ledger import Ledger
    from penstock.schedule.site import SiteSection
    from penstock.schedule.week import Matched, RuleFigures

BAR = 24


@dataclasses.dataclass(frozen=True, slots=True)
class WeekPlan:
    """What to replay and how."""

    site_file: Path
    trace_file: Path
    stripes: int
    phases: int


def study_week(plan: WeekPlan, out: Path, as_json: bool) -> None:
    """Replay a trace with and without us, and write one page."""
    from penstock.schedule.jobtrace import load_trace
    from penstock.schedule.site import load_site
    from penstock.schedule.week import WITHOUT, figures_of, match_trace, play_rule
    from penstock.schedule.weekpage import week_page

    site = load_site(plan.site_file)
    if plan.stripes > site.platform.resources:
        raise UsageError(
            f"--stripes {plan.stripes}: {plan.site_file} has {site.platform.resources} resources"
        )
    trace = load_trace(plan.trace_file)
    matched = match_trace(trace.jobs, site, plan.site_file.parent, plan.stripes)
    if not matched.arrivals:
        why = "; ".join([_listed(matched.without_io) or "the trace has no job that ran", *trace.remarks()])
        raise DataError(f"{plan.trace_file}: no job does I/O: {why}")
    rule = _rule(site)
    plays = {
        WITHOUT: play_rule(matched, site.platform, None, plan.stripes, plan.phases),
        rule.allocation: play_rule(matched, site.platform, rule, plan.stripes, plan.phases),
    }
    rows = [figures_of(name, replayed) for name, replayed in plays.items()]
    larger = sum(job.nodes > site.platform.compute_nodes for job in trace.jobs)
    if larger:
        whole = f"the platform of {plan.site_file} has ({site.platform.compute_nodes})"
        click.echo(f"penstock: {larger} jobs ran on more nodes than {whole}: another system?", err=True)
    page = out / "week.html"
    write_text(page, week_page(plays, rows, matched, (plan.stripes, trace.remarks())))
    if as_json:
        emit_json(
            {
                "trace": str(plan.trace_file),
                "jobs": len(trace.jobs),
                **trace.left_out(),
                "without_io": dict(matched.without_io),
                "larger_than_platform": larger,
                "rules": [dataclasses.asdict(row) for row in rows],
                "page": str(page),
            }
        )
        return
    click.echo(
        f"{counted(len(trace.jobs), 'job')} ran, {len(matched.arrivals)} of them with I/O; {_others(matched)}"
    )
    for remark in trace.remarks():
        click.echo(f"Left out, {remark}")
    _print_rows(rows)
    click.echo(f"{page}")


def compare_rules(site: SiteSection, ledger: Ledger, hours: float, page: Path | None, as_json: bool) -> None:
    """Replay the last hours of a ledger under every rule."""
    from penstock.schedule.allocation import ALLOCATORS
    from penstock.schedule.week import WITHOUT, figures_of, match_ledger, play_rule
    from penstock.schedule.weekpage import compare_page

    grants = ledger.history(time.time() - 3600.0 * hours)
    matched = match_ledger(grants, site.platform.resources)
    if not matched.arrivals:
        why = "no such file" if not (grants or ledger.path.exists()) else _listed(matched.without_io)
        why = why or f"no job of the last {hours:g} hours"
        raise MissingError(f"{ledger.path}: nothing to compare: {why}")
    plays = {WITHOUT: play_rule(matched, site.platform, None, 1)}
    for name in ALLOCATORS:
        worst = _rule(site).worst_slowdown if name == "idle-nodes" else math.inf
        rule = dataclasses.replace(_rule(site), allocation=name, worst_slowdown=worst)
        plays[name] = play_rule(matched, site.platform, rule, 1)
    rows = [figures_of(name, replayed) for name, replayed in plays.items()]
    if page is not None:
        write_text(page, compare_page(plays, rows, matched, (site.platform.allocation, hours)))
    if as_json:
        document: dict[str, object] = {"hours": hours, "jobs": len(grants)}
        document |= {"without_io": dict(matched.without_io), "rule": site.platform.allocation}
        emit_json(document | {"rules": [dataclasses.asdict(row) for row in rows]})
        return
    click.echo(
        f"{counted(len(grants), 'job')} in {hours:g} hours, {len(matched.arrivals)} with I/O; {_others(matched)}"
    )
    _print_rows(rows, site.platform.allocation)


def _rule(site: SiteSection) -> Rule:
    from penstock.schedule.advice import Rule

    platform = site.platform
    return Rule(platform.allocation, platform.placement, platform.worst_slowdown or math.inf)


def _listed(reasons: Mapping[str, int]) -> str:
    return ", ".join(f"{why}: {count}" for why, count in reasons.items())


def _others(matched: Matched) -> str:
    return f"without I/O here: {_listed(matched.without_io) or 'none'}"


def _print_rows(rows: Sequence[RuleFigures], own: str = "") -> None:
    from rich.markup import escape
    from rich.table import Table

    from penstock.schedule.jobtrace import shown_name

    labels = [row.rule + (" *" if row.rule == own else "") for row in rows]
    table = Table()
    table.add_column("rule", min_width=max(map(len, labels), default=0))
    for heading in ("mean slowdown", "p95", "worst", "worst job", "idle nodes"):
        table.add_column(heading, justify="right")
    table.add_column("mean slowdown, less is better")
    for label, row, bar in zip(labels, rows, _bars([row.mean_slowdown for row in rows]), strict=True):
        figures = (f"{row.mean_slowdown:.2f}", f"{row.p95_slowdown:.2f}", f"{row.worst_slowdown:.2f}")
        table.add_row(label, *figures, escape(shown_name(row.worst_job)), f"{row.idle_nodes:.2f}", bar)
    console().print(table)
    if own:
        click.echo("* the rule of this site")


def _bars(values: Sequence[float]) -> Iterable[str]:
    most = max(values)
    return ("█" * max(round(BAR * value / most), 1) for value in values)
