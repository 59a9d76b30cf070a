"""docs/tour.md leads through functions that are really passed, in that order."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import FrameType

import pytest
from benchmarks import walk

from penstock.evaluate import static
from penstock.evaluate.lab import Lab
from penstock.evaluate.report import write
from penstock.evaluate.request import Request
from penstock.evaluate.store import Store
from penstock.simulate.cluster import builtin_cluster

PAGE = Path(__file__).parents[1] / "docs" / "tour.md"
MOST_HOPS = {"Online": 25, "Offline": 15}


def hops(part: str) -> list[str]:
    """The functions of one half of the page, as `file name`."""
    text = PAGE.read_text().split(f"## {part}")[1].split("## ")[0]
    return [
        f"{file} {name}"
        for name, file in re.findall(r"^\d+\. \[`([\w.]+)`\]\(\.\./src/penstock/(\S+)\)", text, re.MULTILINE)
    ]


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


def test_online_tour_is_what_a_figure_passes(tmp_path: Path) -> None:
    walk.write_tree(tmp_path / "root")
    passed = walk.walk("weir", tmp_path / "root", tmp_path / "state")
    assert in_order(hops("Online"), passed) == []


def test_offline_tour_is_what_a_workload_passes(tmp_path: Path) -> None:
    called: dict[str, None] = {}

    def note(frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(walk.HOME):
            called.setdefault(f"{code.co_filename[len(walk.HOME) + 1 :]} {code.co_qualname}")

    request = Request(("random",), 1.0, cluster=builtin_cluster("c220g5"), only=("s_rd_rn_1m",))
    sys.setprofile(note)
    try:
        with Lab(Store(None), workers=1) as lab:
            write([{**static.evaluate(lab, request), "role": "static"}], tmp_path)
    finally:
        sys.setprofile(None)
    assert in_order(hops("Offline"), called) == []
