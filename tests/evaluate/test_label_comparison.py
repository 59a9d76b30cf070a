"""Whether application labels become `carat-tuned`: the rule, and the page's part that says so."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import application_label as bench
from benchmarks.evidence.asks import Found


@pytest.mark.parametrize(
    ("found", "wins"),
    [
        ({"a": (1.0, 1.2), "b": (1.0, 0.99)}, True),
        ({"a": (1.0, 1.5), "b": (1.0, 0.97)}, False),
        ({"a": (1.0, 1.0), "b": (1.0, 0.99)}, False),
    ],
)
def test_rule_wants_a_higher_mean_and_no_row_below(found: bench.Pairs, wins: bool) -> None:
    assert bench.better(found) is wins


def test_one_cluster_where_it_loses_decides() -> None:
    gains, loses = {"a": (1.0, 1.2)}, {"a": (1.0, 1.2), "b": (1.0, 0.5)}
    assert "do **not** become" in bench.summary({"x": gains, "y": loses}, "one seed").text[0]
    part = bench.summary({"x": gains, "y": gains}, "one seed")
    assert part.text[0].startswith("By the rule application labels become")
    alone = bench.summary({"y": loses}, "one seed")
    assert "do **not** become `carat-tuned`: y alone decides" in alone.text[0]
    assert bench.summary({"x": gains}, "one seed").text[0].startswith("The rule needs both clusters")
    (table,) = alone.tables
    assert list(table.rows[0]) == ["y", "2", "1.000", "0.775", "1", "0.50 (`b`)"]


def test_rows_are_24_workloads_and_9_lists_against_the_default() -> None:
    rates = {"default": 100.0, "carat": 110.0, "carat-application": 120.0}
    rows = {ask: Found(rates[ask.label], 1.0, 1.0, 1.0) for ask in bench.asks("c220g5", 2, 20.0)}
    found = bench.pairs(rows, "c220g5")
    assert len(found) == 33
    assert {tuple(round(each, 9) for each in ratios) for ratios in found.values()} == {(1.1, 1.2)}


def test_part_of_the_page_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "learning.md"
    page.write_text("# A\n\n<!-- made: application-label -->\n<!-- /made -->\n\nMore.\n")
    bench.write(bench.summary({name: {"a": (1.0, 1.2)} for name in "xy"}, "one seed"), page)
    text = page.read_text()
    assert "| x | 1 | 1.000 | 1.200 | 0 | 1.20 (`a`) |" in text
    assert text.startswith("# A\n\n<!-- made: application-label -->\nBy the rule")
    assert text.endswith("<!-- /made -->\n\nMore.\n")
