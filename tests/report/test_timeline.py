"""The timeline: every point inside its frame, settings below on the same axis, phases and changes marked."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st

from penstock.report.timeline import WIDTHS, Band, Drawing, Mark, Series, draw

points = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e12)), min_size=1, max_size=20)


def svgs(drawing: Drawing) -> list[tuple[float, float, str]]:
    """Width, height and text of the drawing at every width."""
    found = re.findall(r'<svg viewBox="0 0 (\d+) (\d+)".*?</svg>', draw(drawing), re.DOTALL)
    texts = re.findall(r"<svg .*?</svg>", draw(drawing), re.DOTALL)
    return [(float(w), float(h), text) for (w, h), text in zip(found, texts, strict=True)]


def lines(svg: str) -> list[list[tuple[float, float]]]:
    found = re.findall(r'points="([^"]*)"', svg)
    return [
        [(float(x), float(y)) for x, _, y in (pair.partition(",") for pair in one.split())] for one in found
    ]


@given(points)
@example([(0.0, 5e-324)])
@example([(5e-324, 1.0)])
def test_timeline_draws_every_point_inside_the_frame(line: list[tuple[float, float]]) -> None:
    series = [Series("a", "#000", line)]
    drawn = svgs(Drawing("t", "MB/s", series, steps=series))
    assert [width for width, _, _ in drawn] == list(WIDTHS.values())
    for width, height, svg in drawn:
        rates, held = lines(svg)[:2]
        assert len(rates) == len(line)
        levels = 1 + sum(later[1] != one[1] for one, later in pairwise(line))
        assert len(held) == 2 * levels
        assert all(0 <= x <= width and 0 <= y <= height for x, y in (*rates, *held))


def test_settings_share_the_time_axis_of_the_throughput() -> None:
    rates = Series("rate", "#000", [(0.0, 1.0), (10.0, 2.0)])
    knob = Series("pages", "#000", [(0.0, 1024.0), (5.0, 4.0)])
    _, _, svg = svgs(Drawing("t", "MB/s", [rates], steps=[knob]))[0]
    rate_line, knob_line = lines(svg)[:2]
    assert rate_line[0][0] == knob_line[0][0]
    assert rate_line[-1][0] == knob_line[-1][0]
    assert knob_line[1][0] == (rate_line[0][0] + rate_line[-1][0]) / 2
    assert min(y for _, y in knob_line) > max(y for _, y in rate_line)


def test_timeline_marks_phases_changes_and_units() -> None:
    series = [Series("a", "#000", [(0.0, 1.0), (10.0, 2.0)])]
    bands, marks = [Band(0, 4, "first"), Band(4, 10, "second")], [Mark(4.5, "x 1 -> 2"), Mark(6.0, "y")]
    for _, _, svg in svgs(Drawing("t", "MB/s", series, bands, marks)):
        assert svg.count('<rect class="band') == 2
        assert ">first</text>" in svg
        assert "<title>4.5 s: x 1 -&gt; 2</title>" in svg
        assert svg.count('<g class="mark">') == 2
        assert ">MB/s</text>" in svg
        assert ">10 s</text>" in svg
        assert ">a (MB/s)</text>" in svg


def test_long_times_are_told_in_minutes_and_hours() -> None:
    for end_s, words in ((600.0, ">10 min<"), (28800.0, ">8 h<")):
        assert words in draw(Drawing("t", "MB/s", [Series("a", "#000", [(0.0, 1.0), (end_s, 1.0)])]))


def test_drawings_can_share_a_time_axis_of_round_times() -> None:
    short = Drawing("t", "MB/s", [Series("a", "#000", [(0.0, 1.0), (76.0, 1.0)])], until_s=124.0)
    _, _, svg = svgs(short)[0]
    assert [int(t) for t in re.findall(r">(\d+) s<", svg)] == [0, 20, 40, 60, 80, 100, 120]
    (line, *_) = lines(svg)
    assert line[-1][0] < 700


def test_no_line_is_drawn_over_times_that_nobody_measured() -> None:
    series = [Series("a", "#000", [(0.0, 1.0), (1.0, 1.0), (50.0, 2.0)])]
    _, _, svg = svgs(Drawing("t", "MB/s", series, gap_s=5.0))[0]
    assert [len(line) for line in lines(svg)[:2]] == [2, 1]
    assert "<circle" in svg


def test_timeline_escapes_what_it_is_given() -> None:
    drawing = draw(
        Drawing("<t>", "<u>", [Series("<i>", "#000", [(0, 1)])], [Band(0, 1, "<b>")], [Mark(0, "<m>")])
    )
    for raw in ("<t>", "<u>", "<i>", "<b>", "<m>"):
        assert raw not in drawing


def test_many_steps_are_drawn_as_levels_and_not_as_a_block() -> None:
    knob = Series("pages", "#000", [(float(t), 4.0 if t % 2 else 1024.0) for t in range(300)])
    _, _, svg = svgs(Drawing("t", "MB/s", [], steps=[knob]))[0]
    drawn = lines(svg)[:300]
    assert all(len(level) == 2 and level[0][1] == level[1][1] for level in drawn)
