"""The study as Markdown: means per point and method, claims with their evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from penstock.schedule.study.claims import Finding
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
    """One line per claim, its evidence below each other."""
    yield "| section | claim | holds | evidence (ratio or value, 95 % confidence interval) |"
    yield "|---|---|---|---|"
    for finding in findings:
        verdict = "yes" if finding.holds else "**no**"
        yield f"| {finding.section} | {finding.claim} | {verdict} | {'<br>'.join(finding.evidence)} |"


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


def report(rows: Mapping[str, RowSet], findings: Sequence[Finding], gaps: Sequence[Gap] = ()) -> str:
    """The whole study as one Markdown document."""
    lines = ["# Scheduling study", "", "## The paper's claims", "", *table_of_claims(findings), ""]
    if gaps:
        lines += ["## Ratio to the exact optimum, small sets", "", *table_of_gaps(gaps), ""]
    for name, some in rows.items():
        if Method("balance") in some.by_method:
            lines += [f"## balance against TCPU: {name}", "", *table_of_ours(some), ""]
    for name, some in rows.items():
        for title, metric in METRICS.items():
            lines += [f"## {title}: {name}", "", *table_over_load(some, metric), ""]
    return "\n".join(lines)
