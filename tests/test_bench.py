"""The table of performance: what it prints, and when it says that a result has moved."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks import table
from benchmarks.measures import MEASURES, Line

FAST = Line("parsing", 2.0, "ms", False, 5.0, "the old way", 8.0)
SLOW = Line("playing", 12.0, "s per s", True, 30.0)


def test_lines_know_whether_they_meet_their_goal() -> None:
    assert (FAST.met, FAST.ratio) == (True, 4.0)
    assert (SLOW.met, SLOW.ratio) == (False, None)


def test_table_shows_medians_and_what_is_not_met() -> None:
    rows = [
        table.median_row("x", [{**asdict(SLOW), "value": value} for value in (12.0, 10.0, 11.0)]),
        table.median_row("x", [asdict(FAST)]),
    ]
    text = table.markdown(rows)
    assert "| playing | 11 s per s | - | - | >= 30 | **no** | 18 % |" in text
    assert "| parsing | 2 ms | the old way: 8 | 4.00 | <= 5 | yes | 0 % |" in text


def test_only_what_leaves_the_noise_has_moved() -> None:
    before = [{**asdict(SLOW), "noise": 0.05}]
    assert table.moved({**asdict(SLOW), "value": 13.0, "noise": 0.02}, before) is None
    assert table.moved({**asdict(SLOW), "value": 18.0, "noise": 0.02}, before) == 1.5
    assert table.moved({**asdict(SLOW), "value": 18.0, "noise": 0.30}, before) is None
    assert table.moved({**asdict(FAST), "noise": 0.0}, before) is None


def test_measuring_some_again_keeps_the_others_and_their_places() -> None:
    before = [asdict(SLOW), asdict(FAST)]
    new = Line("starting", 1.0, "s", False)
    again = {**asdict(SLOW), "value": 31.0}
    assert table._merged(before, [asdict(new), again]) == [again, asdict(FAST), asdict(new)]


def test_page_is_made_from_the_committed_result() -> None:
    kept = json.loads(table.RESULT.read_text())
    assert {row["measure"] for row in kept["rows"]} == set(MEASURES)
    assert (
        Path(table.PAGE).read_text()
        == table.HEAD.format(repeats=kept["repeats"]) + table.markdown(kept["rows"]) + "\n"
    )
