"""Where a job sits, and which of its nodes to choose."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import DataError, MissingError, UsageError
from penstock.plan.storage import load_system
from penstock.plan.write.location import balanced, in_use, locate, parse_locations

TITAN = load_system("titan")
CETUS = load_system("cetus")


@given(st.integers(1, 18688))
def test_locate_scattered_is_as_even_as_can_be(nodes: int) -> None:
    placed = locate(TITAN, nodes, "scattered")
    assert np.unique(placed).size == nodes
    used, most = in_use(TITAN, "router", placed)
    assert (used, most) == (min(nodes, 172), -(-nodes // 172))


def test_locate_scattered_where_even_spacing_would_miss_a_router() -> None:
    assert in_use(TITAN, "router", locate(TITAN, 173, "scattered")) == (172, 2)


@given(st.integers(1, 4096))
def test_locate_scattered_balances_every_stage(nodes: int) -> None:
    placed = locate(CETUS, nodes, "scattered")
    assert in_use(CETUS, "io_node", placed) == (min(nodes, 32), -(-nodes // 32))
    assert in_use(CETUS, "bridge", placed) == (min(nodes, 64), -(-nodes // 64))


def test_locate_compact_fills_one_component_after_the_other() -> None:
    assert in_use(TITAN, "router", locate(TITAN, 128, "compact")) == (2, 109)
    assert in_use(CETUS, "io_node", locate(CETUS, 200, "compact")) == (2, 128)
    assert in_use(CETUS, "bridge", locate(CETUS, 200, "compact")) == (4, 64)


def test_locate_reads_a_file(tmp_path: Path) -> None:
    path = tmp_path / "nodes"
    path.write_text("# my allocation\n0-3\n200, 300\n")
    assert locate(TITAN, 6, str(path)).tolist() == [0, 1, 2, 3, 200, 300]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0-3", "lists 4 nodes, --nodes says 6"),
        ("0-4 99999", "node 99999 is not one of titan's"),
        ("0-5 x", "line 1: 'x'"),
        ("5-1", "runs backwards"),
        ("1 1", "node 1 is listed twice"),
        ("# none", "lists no node"),
    ],
)
def test_locate_refuses_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "nodes"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        locate(TITAN, 6, str(path))


def test_locate_refuses_impossible_jobs() -> None:
    with pytest.raises(UsageError, match="--nodes 0"):
        locate(TITAN, 0, "compact")
    with pytest.raises(UsageError, match="--nodes 5000"):
        locate(CETUS, 5000, "compact")
    with pytest.raises(MissingError, match="nowhere"):
        locate(CETUS, 5, "nowhere")


@given(st.sets(st.integers(0, 4095), min_size=1, max_size=300), st.data())
def test_balanced_never_loads_a_component_more_than_any_choice_must(
    chosen: set[int], data: st.DataObject
) -> None:
    nodes = np.array(sorted(chosen))
    count = data.draw(st.integers(1, nodes.size))
    picked = balanced(CETUS, nodes, count)
    assert picked.size == count
    assert set(picked) <= chosen
    held = np.bincount(CETUS.component_of("io_node", nodes), minlength=32)
    level = 1
    while np.minimum(held, level).sum() < count:
        level += 1
    assert in_use(CETUS, "io_node", picked)[1] == level


def test_parse_locations_is_sorted() -> None:
    assert parse_locations("9 3-4", "x").tolist() == [3, 4, 9]
