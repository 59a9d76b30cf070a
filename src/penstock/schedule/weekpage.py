"""The pages of `schedule study --trace` and `schedule advise --compare`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from penstock.report import bars
from penstock.report.page import Figure, Section, Table, render
from penstock.report.timeline import Drawing, Series, draw
from penstock.schedule.arrivals import PHASES, Replayed
from penstock.schedule.jobtrace import shown_name
from penstock.schedule.week import WITHOUT, Matched, RuleFigures
from penstock.units import counted

COLOURS = ("var(--twin)", "var(--policy)")
MOST_APPLICATIONS = 30
HEADING = ("rule", "mean slowdown", "p95", "worst", "worst job", "idle nodes")
HOW = (
    f"Slowdown is time in I/O relative to the fastest count alone. Jobs start when they started; each computes and "
    f"writes {PHASES} times in turn unless told otherwise, and shares every resource fairly with whoever is there. "
    "Idle nodes are compute nodes that wait for I/O, on average."
)


def week_page(
    plays: Mapping[str, Replayed],
    rows: Sequence[RuleFigures],
    matched: Matched,
    told: tuple[int, Sequence[str]],
) -> str:
    """A trace with and without us: the answer, idle nodes over time, and every application.

    `told` is the default count of resources, and what of the trace was left out.
    """
    stripes, left_out = told
    before, after = rows
    answer = (
        f"With `{after.rule}` the mean I/O slowdown is {after.mean_slowdown:.2f} instead of "
        f"{before.mean_slowdown:.2f}, and {after.idle_nodes:.1f} nodes wait for I/O instead of "
        f"{before.idle_nodes:.1f}"
    )
    series = [
        Series(name, colour, _over_time(replayed))
        for (name, replayed), colour in zip(plays.items(), COLOURS, strict=True)
    ]
    picture = Figure("Idle nodes over time", draw(Drawing("Idle nodes over time", "nodes", series)))
    jobs = len(matched.arrivals) + sum(matched.without_io.values())
    lead = [
        HOW,
        f"{counted(jobs, 'job')} ran, {len(matched.arrivals)} of them with I/O. Without us every job has the default "
        f"count ({stripes}), at random. {_without_io(matched)}",
        *([f"Left out of the trace: {'; '.join(left_out)}."] if left_out else []),
    ]
    applications = _applications(plays, matched)
    chart = bars.draw("Slowdown without us / with us", applications, after.rule, "without us")
    sections = [
        Section("Both replays", tables=[_table(rows)]),
        Section(
            "By application",
            ["How many times smaller the mean slowdown is than without us."],
            figures=[Figure("Mean slowdown without us / with us", chart)],
        ),
    ]
    return render("A site's jobs, with and without us", lead, sections, answer, picture)


def compare_page(
    plays: Mapping[str, Replayed], rows: Sequence[RuleFigures], matched: Matched, about: tuple[str, float]
) -> str:
    """The last hours of a ledger under every rule. `about` names the site's own rule, and the hours."""
    own, hours = about
    mine = next(row for row in rows if row.rule == own)
    best = min(rows, key=lambda row: row.mean_slowdown)
    if f"{best.mean_slowdown:.2f}" == f"{mine.mean_slowdown:.2f}":
        answer = (
            f"In the last {hours:g} hours no rule would have had a smaller mean slowdown than `{own}`, the rule of "
            f"this site: {mine.mean_slowdown:.2f}"
        )
    else:
        answer = (
            f"In the last {hours:g} hours `{best.rule}` would have had the least mean slowdown, "
            f"{best.mean_slowdown:.2f}; `{own}`, the rule of this site, {mine.mean_slowdown:.2f}"
        )
    chart = bars.draw(
        "Slowdown of this site's rule / of each rule",
        [bars.Bar(row.rule, mine.mean_slowdown / row.mean_slowdown, None) for row in rows],
        "rule",
        "the site's own rule",
    )
    picture = Figure(
        f"How many times smaller the mean slowdown would be than under {own}, the site's own rule", chart
    )
    series = [
        Series(name, colour, _over_time(plays[name]))
        for name, colour in zip((WITHOUT, own), COLOURS, strict=True)
    ]
    time_chart = Figure("Idle nodes over time", draw(Drawing("Idle nodes over time", "nodes", series)))
    sections = [Section("Every rule", figures=[time_chart], tables=[_table(rows)])]
    jobs = len(matched.arrivals) + sum(matched.without_io.values())
    lead = [
        HOW,
        f"{counted(jobs, 'job')} ran, {len(matched.arrivals)} of them with I/O. {_without_io(matched)}",
    ]
    return render("What each rule would have done", lead, sections, answer, picture)


def _without_io(matched: Matched) -> str:
    others = ", ".join(f"{why}: {count}" for why, count in matched.without_io.items()) or "none"
    return f"Jobs that do no I/O here: {others}."


def _table(rows: Sequence[RuleFigures]) -> Table:
    cells = [
        (
            row.rule,
            f"{row.mean_slowdown:.2f}",
            f"{row.p95_slowdown:.2f}",
            f"{row.worst_slowdown:.2f}",
            shown_name(row.worst_job),
            f"{row.idle_nodes:.2f}",
        )
        for row in rows
    ]
    return Table(HEADING, cells)


def _over_time(replayed: Replayed) -> list[tuple[float, float]]:
    # The last interval also holds what came after it.
    values = replayed.idle_over_time[:-1]
    used = max((index for index, value in enumerate(values) if value > 0), default=0)
    return [((index + 0.5) * replayed.interval_s, value) for index, value in enumerate(values[: used + 2])]


def _applications(plays: Mapping[str, Replayed], matched: Matched) -> list[bars.Bar]:
    """The gain of each application, those with most jobs first."""
    means: list[dict[str, float]] = []
    jobs: dict[str, int] = {}
    for replayed in plays.values():
        groups: dict[str, list[float]] = {}
        for job in replayed.jobs:
            groups.setdefault(matched.application[job.name], []).append(job.slowdown)
        means.append({name: math.fsum(some) / len(some) for name, some in groups.items()})
        jobs = {name: len(some) for name, some in groups.items()}
    names = sorted(jobs, key=lambda name: -jobs[name])[:MOST_APPLICATIONS]
    return [
        bars.Bar(f"{shown_name(name)} ({jobs[name]})", means[0][name] / means[1][name], None)
        for name in names
    ]
