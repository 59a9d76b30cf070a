"""The study as Markdown: means per point and method, claims with their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.schedule.study.claims import Finding, ratio_by_load
from penstock.schedule.study.gap import Gap, table_of_gaps
from penstock.schedule.study.summary import (
    Metric,
    RowSet,
    compare,
    idle_time,
    interval,
    mean_slowdown,
)
from penstock.schedule.study.trial import Method

METRICS: Mapping[str, Metric] = {
    "Mean I/O slowdown": mean_slowdown,
    "Worst I/O slowdown": lambda row: row.max_io_slowdown,
    "Slowdown by congestion": lambda row: row.slowdown_congestion,
    "I/O spread": lambda row: row.io_spread,
    "Machine idle time": idle_time,
}


def table_over_load(rows: RowSet, metric: Metric) -> Iterator[str]:
    """One line per point, one column per method: mean and half the width of its 95 % interval."""
    methods = sorted(rows.by_method)
    yield "| load | sets | " + " | ".join(str(method) for method in methods) + " |"
    yield "|---" * (len(methods) + 2) + "|"
    for point in rows.points:
        groups = [rows.select(method, point, point) for method in methods]
        values = [interval([metric(row) for row in group]) for group in groups]
        cells = [f"{value.mean:.3f} ± {value.high - value.mean:.3f}" for value in values]
        yield f"| {point:.2f} | {values[0].sets} | " + " | ".join(cells) + " |"


def table_of_claims(findings: Sequence[Finding]) -> Iterator[str]:
    """One line per claim and number of applications, its evidence below each other."""
    yield "| section | claim | K | holds | evidence (ratio or value, 95 % confidence interval) |"
    yield "|---|---|---|---|---|"
    for finding in sorted(findings, key=lambda one: (one.section, one.applications)):
        verdict = "yes" if finding.holds else "**no**"
        head = f"| {finding.section} | {finding.claim} | {finding.applications} | {verdict} |"
        yield f"{head} {'<br>'.join(finding.evidence)} |"


def table_of_verdicts(findings: Sequence[Finding]) -> Iterator[str]:
    """One line per claim, one column per number of applications."""
    sizes = sorted({finding.applications for finding in findings})
    yield "| section | claim | " + " | ".join(f"K = {size}" for size in sizes) + " |"
    yield "|---" * (len(sizes) + 2) + "|"
    for section in sorted({finding.section for finding in findings}):
        own = {finding.applications: finding for finding in findings if finding.section == section}
        cells = [("yes" if own[size].holds else "**no**") if size in own else "" for size in sizes]
        yield f"| {section} | {next(iter(own.values())).claim} | " + " | ".join(cells) + " |"


def table_by_applications(rows: Mapping[int, RowSet], first: str, second: str) -> Iterator[str]:
    """Mean slowdown of one allocation relative to another, by load and number of applications."""
    ratios = {size: ratio_by_load(some, first, second) for size, some in sorted(rows.items())}
    yield "| load | " + " | ".join(f"K = {size}" for size in ratios) + " |"
    yield "|---" * (len(ratios) + 1) + "|"
    for point in sorted({point for some in ratios.values() for point in some}):
        cells = [str(some[point]) if point in some else "" for some in ratios.values()]
        yield f"| {point:.2f} | " + " | ".join(cells) + " |"


def table_of_ours(rows: RowSet) -> Iterator[str]:
    """Our allocator against the best of the paper's, paired set by set."""
    yield "| load | balance against | mean I/O slowdown | machine idle time |"
    yield "|---|---|---|---|"
    ours = Method("balance")
    for low, high in ((0.05, 0.25), (0.3, 0.5), (0.55, 0.75), (0.8, 1.0), (0.05, 1.0)):
        chosen = rows.within(low, high)
        for other in (Method("tcpu"), Method("tcpu", "greedy-clairvoyant"), Method("bestbdw")):
            if other in chosen.by_method:
                slow = compare(chosen, ours, other, mean_slowdown)
                idle = compare(chosen, ours, other, idle_time)
                yield f"| {low:.2f} to {high:.2f} | {other} | {slow} | {idle} |"


Sized = Mapping[int, Mapping[str, RowSet]]
"""Rows by number of applications, then by experiment."""


def report(rows: Sized, findings: Sequence[Finding], gaps: Sequence[Gap] = ()) -> str:
    """The whole study as one Markdown document."""
    lines = ["# Scheduling study", ""]
    if len(rows) > 1:
        lines += ["## Verdicts by the number of applications K", "", *table_of_verdicts(findings), ""]
        for name, title in (("load", "I/O nodes"), ("osts", "OSTs")):
            sized = {size: some[name] for size, some in rows.items() if name in some}
            for other in ("nsys", "tcpu") if sized else ():
                table = table_by_applications(sized, other, "bestbdw")
                lines += [f"## Mean slowdown, {other} / bestbdw, by K: {title}", "", *table, ""]
    lines += ["## The paper's claims", "", *table_of_claims(findings), ""]
    if gaps:
        lines += ["## Ratio to the exact optimum, small sets", "", *table_of_gaps(gaps), ""]
    for title, some in _titled(rows):
        if Method("balance") in some.by_method:
            lines += [f"## balance against TCPU: {title}", "", *table_of_ours(some), ""]
    for title, some in _titled(rows):
        for heading, metric in METRICS.items():
            lines += [f"## {heading}: {title}", "", *table_over_load(some, metric), ""]
    return "\n".join(lines)


def _titled(rows: Sized) -> Iterator[tuple[str, RowSet]]:
    for size, experiments in rows.items():
        for name, some in experiments.items():
            title = name if name.startswith("spread-") else f"{name}, K = {size}"
            yield title, some
