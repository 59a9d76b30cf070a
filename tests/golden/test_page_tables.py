"""Pages show the figures of their tables, and say so where a policy behaves differently since they were measured."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.evidence.page_table import (
    BEGINS,
    PageTable,
    not_in_table,
    read_table,
    rendered,
    shown_tables,
    stamped,
    told_ratios,
    without_columns,
    write_table,
)

from penstock.report.page import Section, Table

from .decisions import known_marks

DOCS = Path(__file__).parents[2] / "docs"
TABLES = sorted(DOCS.rglob("figures.json"))


def page_of(table: Path) -> Path:
    return table.parent.with_suffix(".md")


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_page_shows_the_figures_of_its_table(path: Path) -> None:
    page, table = page_of(path).read_text("utf-8"), read_table(path)
    assert shown_tables(page)
    assert not_in_table(page, table) == []
    cells = " ".join(
        cell for tables in table.tables.values() for rows in tables for row in rows for cell in row
    )
    assert {ratio for ratio in told_ratios(page) if ratio not in cells} == set()


def test_ratios_of_sentences_are_those_with_an_interval() -> None:
    page = "Gains 1.20 [1.10, 1.30] of 3 to 4.00.\n\n| a | 9.99 [1.00, 2.00] |\n"
    assert told_ratios(page) == {"1.20 [1.10, 1.30]"}


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.parent.name)
def test_page_says_of_which_behaviour_its_figures_are(path: Path) -> None:
    page = page_of(path)
    line = read_table(path).line(known_marks())
    if os.environ.get("PENSTOCK_GOLDEN") == "write":
        page.write_text(stamped(page.read_text("utf-8"), line), "utf-8")
    said = [each for each in page.read_text("utf-8").splitlines() if each.startswith(BEGINS)]
    assert said == [line], "PENSTOCK_GOLDEN=write pytest tests/golden says it anew"


def test_figures_of_an_earlier_behaviour_are_labelled(tmp_path: Path) -> None:
    rows = [[["who", "gain"], ["weir", "1.20 [1.10, 1.30]"]]]
    table = PageTable("89abcde", {"carat": "one", "weir": "two"}, {"A": rows})
    assert "earlier version" not in table.line(table.marks)
    later = {**table.marks, "weir": "another"}
    assert "**Measured with an earlier version of `weir`**" in table.line(later)
    assert stamped(f"# A page\n\n{table.line(table.marks)}\n", table.line(later)).endswith(
        f"{table.line(later)}\n"
    )
    write_table(tmp_path / "figures.json", replace(table, commit="0123456"))
    assert read_table(tmp_path / "figures.json") == replace(table, commit="0123456")


def test_page_may_show_less_than_its_table_and_nothing_else(tmp_path: Path) -> None:
    whole = PageTable("0123456", {}, {"A": [[["who", "wire", "app"], ["x", "1", "2"], ["y", "3", "4"]]]})
    (tmp_path / "page").mkdir()
    write_table(tmp_path / "page" / "figures.json", whole)
    page = tmp_path / "page.md"
    page.write_text(f"# T\n\n{whole.line({})}\n\n## A\n\nA sentence.\n")

    def brief(section: Section) -> Section:
        (table,) = section.tables
        shown = without_columns(table, ("wire",))
        return Section(section.title, section.text, (), [Table(shown.heading, shown.rows[1:])])

    rendered(tmp_path / "page" / "figures.json", "T", (), brief)
    text = page.read_text()
    assert shown_tables(text) == {"A": [[["who", "app"], ["y", "4"]]]}
    assert "A sentence." in text
    assert not_in_table(text, whole) == []
    assert not_in_table(text.replace("| 4 |", "| 3 |"), whole) == [["y", "3"]]
    assert not_in_table(text.replace("| app |", "| net |"), whole) == [["y", "4"]]
    assert read_table(tmp_path / "page" / "figures.json") == whole
