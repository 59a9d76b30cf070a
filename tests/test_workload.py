"""Workload names."""

from __future__ import annotations

import pytest

from penstock.errors import UsageError
from penstock.units import GIB
from penstock.workload import NAMES, parse_workload


def test_workload_names_are_the_papers_24() -> None:
    assert len(set(NAMES)) == 24
    parsed = [parse_workload(name) for name in NAMES]
    assert {workload.streams for workload in parsed} == {1, 5}
    assert {workload.request_bytes for workload in parsed} == {8 << 10, 1 << 20, 16 << 20}


def test_workload_has_the_sizes_of_the_traces() -> None:
    assert parse_workload("s_wr_rn_1m").file_bytes == 5 * GIB
    assert parse_workload("f_wr_rn_1m").file_bytes == GIB
    read = parse_workload("f_rd_sq_8k")
    assert (read.file_bytes, read.cache_bytes, read.direction) == (10 * GIB, GIB, "read")


@pytest.mark.parametrize("name", ["", "s_wr_rn", "x_wr_rn_1m", "s_wr_rn_1x", "s_wr_rn_1m "])
def test_workload_with_another_name_is_a_usage_error(name: str) -> None:
    with pytest.raises(UsageError, match="unknown workload"):
        parse_workload(name)


def test_workload_misspelt_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "s_wr_rn_1m"'):
        parse_workload("s_wr_rm_1m")
