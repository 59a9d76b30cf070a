"""docs/tour.md leads through functions that are really passed, in that order, and says how many there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from benchmarks import walk

PAGE = Path(__file__).parents[1] / "docs" / "tour.md"
MOST_HOPS = {"Online": 40, "Offline": 15}
#: The page's count may be off by as much: a helper more or less does not make the page wrong.
TOLERANCE = 4


def hops(part: str) -> list[str]:
    """The functions of one half of the page, as `file name`."""
    text = PAGE.read_text().split(f"## {part}")[1].split("## ")[0]
    return [
        f"{file} {name}"
        for name, file in re.findall(r"^\d+\. \[`([\w.]+)`\]\(\.\./src/penstock/(\S+)\)", text, re.MULTILINE)
    ]


def told(part: str) -> tuple[int, int]:
    """How many functions the page says were counted, and how many steps it shows."""
    row = re.search(rf"^\| {part.lower()}, [^|]*\| (\d+) \| \d+ \| (\d+) \|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None
    return int(row[1]), int(row[2])


def in_order(wanted: Sequence[str], passed: Iterable[str]) -> list[str]:
    """The wanted functions that were not passed after those before them."""
    following, left = iter(passed), list(wanted)
    for name in wanted:
        if name not in following:
            return left
        left.remove(name)
    return left


@pytest.mark.parametrize("part", MOST_HOPS)
def test_tour_is_short_enough(part: str) -> None:
    assert 5 < len(hops(part)) <= MOST_HOPS[part]
    assert told(part)[1] == len(hops(part))


def test_online_tour_is_what_a_figure_passes(tmp_path: Path) -> None:
    walk.write_tree(tmp_path / "root")
    passed = walk.walk("weir", tmp_path / "root", tmp_path / "state")
    assert in_order(hops("Online"), passed) == []
    assert abs(told("Online")[0] - len(passed)) <= TOLERANCE


def test_offline_tour_is_what_a_workload_passes(tmp_path: Path) -> None:
    passed = walk.publish("random", tmp_path)
    assert in_order(hops("Offline"), passed) == []
    assert abs(told("Offline")[0] - len(passed)) <= TOLERANCE
