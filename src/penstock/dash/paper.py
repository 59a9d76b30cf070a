"""A node's log as an HTML page to keep or print. It needs no server and no extra."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from penstock.agent.summary import JobSummary, Summary, TargetSummary, summarise
from penstock.dash.book import KINDS, Book
from penstock.dash.history import MOST_POINTS, History
from penstock.dash.node import logged_points
from penstock.dash.recorded_points import joined, thinned
from penstock.dash.source import Point
from penstock.dash.unit_words import named
from penstock.events import LogEvent
from penstock.gains import Gain, from_log2
from penstock.knobs.target_kind import BYTES, OPERATIONS
from penstock.report import interval, walk
from penstock.report.page import Figure, Section, Table, render
from penstock.report.timeline import KNOB_COLOURS, Drawing, Mark, Series, draw
from penstock.units import counted, format_duration

MOST_TARGETS, MOST_MAPS, MOST_ROWS = 8, 6, 200
# A log has measurements around decisions only, so longer gaps are normal.
GAP_S = 6.0
# The unit of a chart, what a rate is divided by for it, and the names of its lines, by what a target moves.
AXES = {BYTES: ("MB/s", 1e6, ("read", "written")), OPERATIONS: ("op/s", 1.0, ("looked up", "changed"))}
RATIOS = "Expected: times the throughput of the best setting so far. Outcome: times that of the original."


def node_page(
    events: Iterable[LogEvent], since_s: float, until_s: float, title: str, recorded: Iterable[Point] = ()
) -> str:
    """The page: what tuning gained in a period, and for every target what was changed and why.

    `recorded` are the measurements kept beside the log, if any.
    """
    seen = [event for event in events if since_s <= event.time_s <= until_s]
    book, history, summary = Book(), History(), summarise(seen, since_s, until_s)
    book.take(seen)
    changes = book.changes()
    kept = [point for point in recorded if since_s <= point.t_s <= until_s]
    history.take(thinned(joined(logged_points(seen), kept), MOST_POINTS), changes)
    tracks, idle = _at_work(history.document(), changes)
    began_s = min((float(track["points"][0][0]) for track in tracks if track["points"]), default=since_s)
    ended_s = max((float(track["points"][-1][0]) for track in tracks if track["points"]), default=until_s)
    courses = [_course(track, changes, (began_s, ended_s)) for track in tracks]
    effect = book.worth()["effect"]
    picture = courses[0] if courses else None
    if effect is not None and effect.get("low") is not None:
        drawn = interval.draw(effect["gain"], effect["low"], effect["high"])
        picture = Figure("Tuned over untuned, with its 95 % interval", drawn)
    rest = [figure for figure in courses if figure is not picture]
    sections = [
        Section(
            "Target by target",
            _remark(rest, idle),
            rest,
            [_targets(summary.targets)] if summary.targets else [],
        ),
        *([Section("Jobs on this node", tables=[_jobs(summary.jobs)])] if summary.jobs else []),
        *_maps(book, changes),
        Section("Every change, and why", [_rows(changes), RATIOS], tables=[_changes(changes)])
        if changes
        else Section("No change"),
    ]
    return render(title, [_lead(summary, book)], sections, str(book.worth()["sentence"]), picture)


def _lead(summary: Summary, book: Book) -> str:
    counts = book.worth()["counts"]
    period = format_duration(summary.until_s - summary.since_s)
    changes = counted(counts["change"], "change")
    return (
        f"The last {period}: {changes}, {counts['revert']} taken back, {counts['look']} moves "
        f"only to look at the original and back, {counts['advice']} advised, {counts['failed']} refused."
    )


def _at_work(
    tracks: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[str]]:
    """The targets to draw, and the names of those that moved nothing and were left as they were."""
    moved = {change["target"] for change in changes}
    busy = [one for one in tracks if one["name"] in moved or any(p[1] + p[2] for p in one["points"])]
    return busy[:MOST_TARGETS], [short(one["name"]) for one in tracks if one not in busy]


def _remark(figures: Sequence[Figure], idle: Sequence[str]) -> list[str]:
    more = f" and {len(idle) - 3} more" if len(idle) > 3 else ""
    return [
        *(["No line is drawn where no measurement was kept."] if figures else []),
        *([f"Idle all the time: {', '.join(idle[:3])}{more}."] if idle else []),
    ]


def _rows(changes: Sequence[Mapping[str, Any]]) -> str:
    """How the rows of the list and the counts above it belong together."""
    rows = len(_together(changes))
    said = f"{len(changes)} in all" if rows == len(changes) else f"{len(changes)} in {rows} rows"
    combined = "" if rows == len(changes) else "; targets that changed together share a row"
    return f"{said}{combined}{f'; the last {MOST_ROWS} are listed' if rows > MOST_ROWS else ''}."


def _course(
    track: Mapping[str, Any], changes: Sequence[Mapping[str, Any]], span_s: tuple[float, float]
) -> Figure:
    """Throughput and settings of one target.

    Times count from the first measurement of all targets, so the axes agree.
    """
    points, (began_s, ended_s) = track["points"], span_s
    unit, scale, names = AXES[track["unit"]]
    lines = [
        Series(name, colour, [(point[0] - began_s, point[column] / scale) for point in points])
        for column, name, colour in zip((1, 2), names, ("var(--tuned)", "var(--write)"), strict=True)
    ]
    knobs = list(track["steps"][-1][1]) if track["steps"] else []
    steps = [
        Series(
            named(knob, knobs),
            KNOB_COLOURS[at % 3],
            [(t - began_s, float(s[knob])) for t, s in track["steps"] if knob in s],
        )
        for at, knob in enumerate(knobs)
    ]
    marks = [
        Mark(float(change["t_s"]) - began_s, ", ".join(change["changes"]))
        for change in changes
        if change["target"] == track["name"] and change["kind"] != "look" and change["t_s"] >= began_s
    ]
    drawing = Drawing(str(track["name"]), unit, lines, (), marks, steps, _gap_s(points), ended_s - began_s)
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began_s))
    return Figure(f"{short(track['name'])}, from {began} on", draw(drawing))


def _gap_s(points: Sequence[Sequence[float]]) -> float:
    """Points further apart are not joined: where points are means over long times, their distance is usual."""
    apart = sorted(later[0] - earlier[0] for earlier, later in pairwise(points))
    return max(GAP_S, 3 * apart[len(apart) // 2]) if apart else GAP_S


def _maps(book: Book, changes: Sequence[Mapping[str, Any]]) -> list[Section]:
    """For every target a map of the last expected gains."""
    last: dict[str, Figure] = {}
    for change in changes:
        if (figure := _map(book, str(change["id"]))) is not None:
            last[str(change["target"])] = figure
    found = list(last.values())
    if not found:
        return []
    text = [
        "Expected gain over the original when a target was last changed for a gain; brighter is more. "
        "□ where it began, ◇ the most expected, ○ where it went."
    ]
    return [Section("What was expected of every setting", text, found[:MOST_MAPS])]


def _map(book: Book, decision_id: str) -> Figure | None:
    decision = book.decision(decision_id)
    space = decision.outlook.map if decision is not None and decision.outlook is not None else None
    if decision is None or space is None or len(space.knobs) != 2 or not space.gain_log2:
        return None
    knobs, gains = space.knobs, space.gain_log2
    across, up = knobs
    surface = {
        (int(a), int(b)): from_log2(gain) for a, b, gain in zip(knobs[across], knobs[up], gains, strict=True)
    }
    path = [(int(setting[across]), int(setting[up])) for setting in book.path(decision_id)]
    title, unit = f"{decision.target}: expected gain", "{:.2f} times the original"
    svg = walk.draw(walk.Landscape(title, surface, path, path[0], unit=unit))
    return Figure(f"{short(decision.target)}: {across} across, {up} up", svg, small=True)


def _targets(rows: Sequence[TargetSummary]) -> Table:
    heading = ["target", "changes", "taken back", "looks", "advised", "refused", "before/after", "last"]
    return Table(
        heading,
        [
            [
                short(row.target), str(row.changes), str(row.reverted), str(row.looks), str(row.advised),
                str(row.failed), _words(row.gain), row.last,
            ]
            for row in rows
        ],
    )  # fmt: skip


def _jobs(rows: Sequence[JobSummary]) -> Table:
    heading = ["job", "user", "changes", "advised", "taken back", "before/after"]
    counts = [[str(job.made), str(job.advised), str(job.reverted), _words(job.gain)] for job in rows]
    return Table(heading, [[job.job, job.user or "-", *each] for job, each in zip(rows, counts, strict=True)])


def _changes(changes: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        [
            _clock(change["t_s"]), _among(each), _done(change),
            _ratio(change["expected"]), change["outcome"] or "–", str(change["sentence"]),
        ]
        for each in _together(changes)[-MOST_ROWS:] for change in each[:1]
    ]  # fmt: skip
    return Table(["when", "target", "change", "expected", "outcome", "why"], rows)


def _together(changes: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Combine the changes that a tuning group made as one decision: same time and same sentence."""
    found: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for change in changes:
        key = (change["t_s"], change["kind"], tuple(change["changes"]), change["sentence"], change["gain"])
        found.setdefault(key, []).append(change)
    return list(found.values())


def _among(changes: Sequence[Mapping[str, Any]]) -> str:
    first = short(changes[0]["target"])
    return first if len(changes) == 1 else f"{first} and {len(changes) - 1} more"


def _done(change: Mapping[str, Any]) -> str:
    return f"{KINDS[change['kind']]}: {', '.join(change['changes'])}"


def _ratio(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _words(gain: Gain | None) -> str:
    return "–" if gain is None else gain.words.removesuffix(" times")


def _clock(time_s: float) -> str:
    return time.strftime("%m-%d %H:%M:%S", time.localtime(time_s))


def short(name: str) -> str:
    """The name of a target without the kernel's address.

    >>> short("scratch-OST0001-osc-ffff8880123"), short("scratch-ffff8880123-statahead")
    ('scratch-OST0001', 'scratch-statahead')
    """
    return re.sub(r"(-osc)?-[0-9a-f]{8,}(?=$|-)", "", name)
