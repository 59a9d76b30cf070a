"""The page: escaped, self-contained, the same tables in Markdown."""

from __future__ import annotations

from penstock.report import bars, interval, walk
from penstock.report.page import Figure, Section, Table, markdown, render

TABLE = Table(["row", "command"], [["a < b", "`penstock demo --x 'y'`"]])
SECTION = Section("First part", ["plain & **strong**"], [Figure("drawn", "<svg></svg>")], [TABLE])


def test_page_escapes_and_needs_no_network() -> None:
    page = render("Title", ["lead"], [SECTION])
    assert "a &lt; b" in page
    assert "<code>penstock demo --x &#x27;y&#x27;</code>" in page
    assert "plain &amp; <b>strong</b>" in page
    assert 'href="#first-part"' in page
    assert "http" not in page and "src=" not in page


def test_page_begins_with_the_answer_and_the_picture() -> None:
    page = render("Title", ["lead"], [SECTION], "**Twice** as fast.", Figure("seen", "<svg id='p'></svg>"))
    order = [
        page.index(part)
        for part in ("<h1><b>Twice</b> as fast.</h1>", "<svg id='p'>", "<p>lead</p>", "<table")
    ]
    assert order == sorted(order)


def test_markdown_holds_the_same_tables() -> None:
    text = markdown("Title", ["lead"], [SECTION])
    assert "| a < b | `penstock demo --x 'y'` |" in text
    assert "## First part" in text


def test_bars_mark_default_and_best() -> None:
    svg = bars.draw("t", [bars.Bar("w", 1.5, 2.0), bars.Bar("v", 0.9, None)])
    # Once for wide and once for narrow pages, each with two bars and a legend.
    assert svg.count("var(--policy)") == 2 * 3
    assert svg.count("best static: ") == 2


def test_walk_draws_every_cell_and_the_way() -> None:
    surface = {(p, f): float(p * f) for p in (1, 2, 4) for f in (1, 8)}
    svg = walk.draw(walk.Landscape("t", surface, [(4, 8), (2, 1)], (4, 8), (1, 8)))
    # Every cell's value, and the scale's highest.
    assert svg.count("MB/s</title>") == 6 and ">32 MB/s</text>" in svg
    assert svg.count("<polyline") == 2
    assert "<circle" in svg
    for sign in ("default", "best here", "best over longer runs"):
        assert f"<title>{sign}</title>" in svg


def test_interval_shows_what_is_proved() -> None:
    assert "var(--good)" in interval.draw(1.4, 1.2, 1.6)
    assert "var(--bad)" in interval.draw(0.7, 0.6, 0.9)
    assert "var(--twin)" in interval.draw(1.1, 0.9, 1.3)
    assert ">1.20</text>" in interval.draw(1.4, 1.2, 1.6)


def test_columns_look_like_what_they_hold() -> None:
    rows = [
        ["a", "640 GiB", "high", "x" * 40, "-", "1.2 [1.1, 1.3]"],
        ["b", "3", "low", "short", "0.5", "2"],
    ]
    page = render("t", [], [Section("s", tables=[Table([*"abcdef"], rows)])])
    assert page.count('<th scope="col">') == 2
    assert page.count('<th scope="col" class="num">') == 3
    assert '<td class="prose" data-label="d">short</td>' in page
    assert '<td class="num" data-label="b">3</td>' in page
