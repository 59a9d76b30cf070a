"""Overhead in the papers' three columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import overhead
from benchmarks.made_part import replace_part
from benchmarks.plain_tree import Tree

from penstock.errors import DataError
from penstock.observe.collector import LustreObserver


def test_columns_are_parts_of_one_pass() -> None:
    found = overhead.measure("carat", "write", 3)
    assert tuple(found) == overhead.COLUMNS
    assert 0 < found["inference"] < found["end_to_end"]
    assert found["snapshot"] > 0
    assert "| `carat` | write |" in overhead.table({"carat": {"write": found}})


@pytest.mark.parametrize("direction", ["read", "write"])
def test_only_one_direction_moves(direction: str, tmp_path: Path) -> None:
    tree = Tree(tmp_path, 1, direction=direction)
    observer = LustreObserver(tmp_path)
    before = observer.observe()
    tree.move_on()
    after = observer.observe()
    observer.close()
    moved = {
        way: after.targets[0].counters[f"{way}.bytes"] - before.targets[0].counters[f"{way}.bytes"]
        for way in ("read", "write")
    }
    still = {"read": "write", "write": "read"}[direction]
    assert moved[direction] > 0
    assert moved[still] == 0


def test_made_part_of_a_page_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n\n<!-- made: one -->\nold\n<!-- /made -->\n\n<!-- made: two -->\n<!-- /made -->\n"
    )
    replace_part(page, "one", "new \\1\n")
    assert page.read_text().count("new \\1") == 1
    assert "old" not in page.read_text()
    assert page.read_text().endswith("<!-- made: two -->\n<!-- /made -->\n")
    with pytest.raises(DataError, match="made: three"):
        replace_part(page, "three", "")
