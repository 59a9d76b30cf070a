"""The timeline page: self-contained, escaped, inside its frame."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from penstock.report.timeline import HEIGHT, WIDTH, Page, Series, render

points = st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e12)), min_size=1, max_size=20)


@given(points)
def test_timeline_draws_every_point_inside_the_frame(line: list[tuple[float, float]]) -> None:
    page = render(Page("t", "l", "MB/s", [Series("a", "#000", line)], ("x",), []))
    drawn = re.search(r'points="([^"]*)"', page)
    assert drawn is not None
    places = [tuple(map(float, pair.split(","))) for pair in drawn[1].split()]
    assert len(places) == len(line)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)


def test_timeline_escapes_what_it_is_given() -> None:
    page = render(Page("<t>", "<b>", "MB/s", [Series("<i>", "#000", [(0, 1)])], ("<h>",), [("<td>",)]))
    for raw in ("<t>", "<b>", "<i>", "<h>"):
        assert raw not in page
    assert "&lt;td&gt;" in page
