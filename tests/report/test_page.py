"""The page: escaped, self-contained, the same tables in Markdown."""

from __future__ import annotations

from penstock.report import bars, walk
from penstock.report.page import Figure, Section, Table, markdown, render

TABLE = Table(["row", "command"], [["a < b", "`penstock demo --x 'y'`"]])
SECTION = Section("First part", ["plain & **strong**"], [Figure("drawn", "<svg></svg>")], [TABLE])


def test_page_escapes_and_needs_no_network() -> None:
    page = render("Title", ["lead"], [SECTION])
    assert "a &lt; b" in page
    assert "<code>penstock demo --x &#x27;y&#x27;</code>" in page
    assert "plain &amp; <b>strong</b>" in page
    assert 'href="#first-part"' in page
    assert "http" not in page


def test_markdown_holds_the_same_tables() -> None:
    text = markdown("Title", ["lead"], [SECTION])
    assert "| a < b | `penstock demo --x 'y'` |" in text
    assert "## First part" in text


def test_bars_mark_default_and_best() -> None:
    svg = bars.draw("t", [bars.Bar("w", 1.5, 2.0), bars.Bar("v", 0.9, None)])
    assert svg.count("var(--policy)") == 3
    assert svg.count("best static: ") == 1


def test_walk_draws_every_cell_and_the_way() -> None:
    surface = {(p, f): float(p * f) for p in (1, 2, 4) for f in (1, 8)}
    svg = walk.draw("t", surface, [(4, 8), (2, 1)], (4, 8))
    assert svg.count("MB/s") == 6
    assert svg.count("<polyline") == 2
    assert "<circle" in svg
