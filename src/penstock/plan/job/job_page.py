"""The review of a job as one HTML page: findings, files and, if the log has it, throughput over time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from penstock.observe.darshan_log import Rows, read_dxt, read_heatmap
from penstock.plan.job.findings import OVERLAP
from penstock.plan.job.job_advice import JobAdvice
from penstock.report.page import Figure, Section, Table, render
from penstock.report.timeline import Drawing, Series, draw
from penstock.units import MIB, counted, format_size

COLOURS = {"read": "#1f6feb", "write": "#d29922"}
BINS = 200
MOST_FILES = 40


def page_of_log(path: Path, advice: JobAdvice) -> str:
    """The page; its timeline comes from traced requests (DXT), else from counts per interval."""
    traced = read_dxt(path)
    rows, source = (traced, "every traced request") if traced else (read_heatmap(path), "counts per interval")
    return render_page(advice, rows, source)


def render_page(advice: JobAdvice, rows: Rows, source: str) -> str:
    """The page as HTML. Pure."""
    facts = advice.facts
    lead = [
        f"{counted(facts.ranks, 'rank')}, {facts.run_s:.0f} s, of which it waits {advice.traffic.io_s:.3g} s for "
        f"I/O; {format_size(facts.bytes_read)} read, {format_size(facts.bytes_written)} written."
    ]
    sections = [_findings(advice), _files(advice)]
    if rows:
        caption = f"All ranks together, from {source}."
        sections.insert(1, Section("Timeline", figures=[Figure(caption, timeline(rows, facts.run_s))]))
    if advice.hints:
        hints = [[f"`{name} {value}`"] for name, value in advice.hints.items()]
        sections.append(Section("Hints", list(advice.reasons), tables=[Table(["hint"], hints)]))
    return render(f"{facts.program}: {facts.log}", lead, sections)


def _command(what: str, line: str) -> str:
    """A line to paste, and before it what must be so first."""
    first, colon, rest = line.replace("`", "").partition(": penstock ")
    return f"{what} {first}: `penstock {rest}`" if colon else f"{what}: `{first}`"


def _findings(advice: JobAdvice) -> Section:
    rows = []
    for one in advice.findings:
        gain = "" if one.gain_s is None else f"{one.gain_s:.3g}"
        what = one.advice + "".join(
            f". {_command(what, line)}"
            for what, line in (("Line", one.change), ("Measure it", one.check))
            if line
        )
        share = one.shown_share(advice.facts.run_s)
        rows.append([one.id, one.severity, share, one.evidence, what, gain])
    heading = ["id", "severity", "share of the run", "evidence", "what to do", "could save (s)"]
    text = [] if rows else ["Nothing speaks against how this job reads and writes."]
    if sum(one.gain_s is not None for one in advice.findings) > 1:
        text = [OVERLAP]
    return Section("Findings", text, tables=[Table(heading, rows)] if rows else [])


def _files(advice: JobAdvice) -> Section:
    files = sorted(advice.traffic.files, key=lambda one: -one.seconds)[:MOST_FILES]
    rows = [
        [
            one.name,
            one.op,
            "yes" if one.shared else "no",
            str(one.calls),
            format_size(one.moved_bytes),
            f"{one.small_calls / max(1, one.calls):.0%}",
            f"{one.random_calls / max(1, one.calls):.0%}",
            f"{one.seconds:.3g}",
        ]
        for one in files
    ]
    heading = ["file", "op", "shared", "calls", "bytes", "1 MiB or less", "random", "seconds"]
    return Section("Files", tables=[Table(heading, rows)] if rows else [])


def timeline(rows: Rows, run_s: float) -> str:
    """MiB/s by direction over the run, each request's bytes spread over the time it took."""
    end = max([run_s, 1e-9, *(float(row["end_s"]) for row in rows)])
    width = end / BINS
    series = []
    for op, colour in COLOURS.items():
        bins = _binned([row for row in rows if row["op"] == op], width)
        if any(bins):
            points = [(place * width, moved / width / MIB) for place, moved in enumerate(bins)]
            series.append(Series(op, colour, points))
    return draw(Drawing("bytes moved", "MiB/s", series))


def _binned(rows: Sequence[dict[str, object]], width: float) -> list[float]:
    found: dict[int, float] = defaultdict(float)
    for row in rows:
        start, end, moved = (float(str(row[key])) for key in ("start_s", "end_s", "bytes"))
        first, last = int(start / width), min(BINS, int(end / width))
        for place in range(first, last + 1):
            inside = min(end, (place + 1) * width) - max(start, place * width)
            found[place] += moved * (inside / (end - start) if end > start else 1.0)
    return [found[place] for place in range(BINS + 1)]
