"""A node's log as an HTML page to keep or print. It needs no server and no extra."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.agent.summary import JobSummary, Summary, TargetSummary, summarise
from penstock.dash.book import KINDS, Book
from penstock.dash.history import History
from penstock.dash.node import logged_points
from penstock.dash.unit_words import named
from penstock.gains import Gain
from penstock.report import interval, walk
from penstock.report.page import Figure, Section, Table, render
from penstock.report.timeline import KNOB_COLOURS, Drawing, Mark, Series, draw

MOST_TARGETS, MOST_MAPS, MOST_ROWS = 8, 6, 200
# A log has measurements around decisions only, so longer gaps are normal.
GAP_S = 6.0
RATIOS = "Expected: times the throughput of the best setting so far. Outcome: times that of the original."


def node_page(events: Iterable[Mapping[str, Any]], since_s: float, until_s: float, title: str) -> str:
    """The page: what tuning gained in a period, and for every target what was changed and why."""
    seen = [event for event in events if since_s <= float(event.get("time_s") or 0.0) <= until_s]
    book, history, summary = Book(), History(), summarise(seen, since_s, until_s)
    book.take(seen)
    changes = book.changes()
    history.take(logged_points(seen), changes)
    tracks = history.document()[:MOST_TARGETS]
    began_s = min((float(track["points"][0][0]) for track in tracks if track["points"]), default=since_s)
    ended_s = max((float(track["points"][-1][0]) for track in tracks if track["points"]), default=until_s)
    courses = [_course(track, changes, (began_s, ended_s)) for track in tracks]
    effect = book.worth(None)["effect"]
    picture = courses[0] if courses else None
    if effect is not None and effect.get("low") is not None:
        drawn = interval.draw(effect["gain"], effect["low"], effect["high"])
        picture = Figure("Tuned over untuned, with its 95 % interval", drawn)
    rest = [figure for figure in courses if figure is not picture]
    sections = [
        Section(
            "Target by target", _remark(rest), rest, [_targets(summary.targets)] if summary.targets else []
        ),
        *([Section("Jobs on this node", tables=[_jobs(summary.jobs)])] if summary.jobs else []),
        *_maps(book, changes),
        Section("Every change, and why", [RATIOS], tables=[_changes(changes)])
        if changes
        else Section("No change"),
    ]
    return render(title, [_lead(summary, book)], sections, str(book.worth(None)["sentence"]), picture)


def _lead(summary: Summary, book: Book) -> str:
    counts = book.worth(None)["counts"]
    hours = (summary.until_s - summary.since_s) / 3600
    return (
        f"The last {hours:.1f} h: {counts['change']} changes, {counts['revert']} taken back, {counts['look']} moves "
        f"only to look at the original and back, {counts['advice']} advised, {counts['failed']} refused."
    )


def _remark(figures: Sequence[Figure]) -> list[str]:
    return ["A log holds measurements only where something was decided."] if figures else []


def _course(
    track: Mapping[str, Any], changes: Sequence[Mapping[str, Any]], span_s: tuple[float, float]
) -> Figure:
    """Throughput and settings of one target.

    Times count from the first measurement of all targets, so the axes agree.
    """
    points, (began_s, ended_s) = track["points"], span_s
    lines = [
        Series(name, colour, [(point[0] - began_s, point[column] / 1e6) for point in points])
        for column, name, colour in ((1, "read", "var(--tuned)"), (2, "written", "var(--write)"))
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
    drawing = Drawing(str(track["name"]), "MB/s", lines, (), marks, steps, GAP_S, ended_s - began_s)
    began = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(began_s))
    return Figure(f"{short(track['name'])}, from {began} on", draw(drawing))


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
    decision = book.decision(decision_id) or {}
    space = (decision.get("outlook") or {}).get("map") or {}
    knobs, gains = space.get("knobs") or {}, space.get("gain_log2")
    if len(knobs) != 2 or not gains:
        return None
    across, up = knobs
    surface = {
        (int(a), int(b)): 2.0**gain for a, b, gain in zip(knobs[across], knobs[up], gains, strict=True)
    }
    path = [(int(setting[across]), int(setting[up])) for setting in book.path(decision_id)]
    title, unit = f"{decision['target']}: expected gain", "{:.2f} times the original"
    svg = walk.draw(walk.Landscape(title, surface, path, path[0], unit=unit))
    return Figure(f"{short(decision['target'])}: {across} across, {up} up", svg, small=True)


def _targets(rows: Sequence[TargetSummary]) -> Table:
    heading = ["target", "changes", "advised", "taken back", "refused", "before/after", "last"]
    return Table(
        heading,
        [
            [
                short(row.target), str(row.made), str(row.advised), str(row.reverted), str(row.failed),
                _words(row.gain), row.last,
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
    """The name of a data path without the kernel address at its end.

    >>> short("scratch-OST0001-osc-ffff8880123")
    'scratch-OST0001'
    """
    return re.sub(r"-osc-[0-9a-f]{8,}$", "", name)
