"""A world that needs more records than it has stops with an error that names the pool; memory stays whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from penstock.knobs import Setting
from penstock.simulate import assembly
from penstock.simulate.assembly import Job
from penstock.simulate.kernel.records import ARRAYS, POOLS, World
from penstock.simulate.simulation import PoolError, Simulation
from penstock.workload import parse_workload

from .conftest import Lab

GUARD = 7


def shrunk(monkeypatch: pytest.MonkeyPatch, pool: str, records: int) -> list[Any]:
    """Worlds made from now on have only so many records of one pool; returns what lies behind those of each."""
    behind: list[Any] = []

    def made(shapes: Mapping[str, tuple[int, ...]]) -> World:
        world = World(shapes)
        array = getattr(world, pool)
        behind.append(array[records:].view("u1"))
        behind[-1][:] = GUARD
        setattr(world, pool, array[:records])
        world.table[list(ARRAYS).index(pool), 1] = records
        return world

    monkeypatch.setattr(assembly, "World", made)
    return behind


def shared_writers(lab: Lab) -> Simulation:
    jobs = [Job(parse_workload("s_wr_rn_8k"), client, shared="one") for client in range(3)]
    return lab.cluster(jobs)


@pytest.mark.parametrize(
    ("pool", "records", "workload"),
    [
        ("event", 24, "f_rd_sq_1m"),
        ("extent", 40, "s_rd_sq_16m"),
        ("extent", 40, "s_wr_rn_8k"),
        ("rpc", 8, "s_rd_sq_16m"),
        ("rpc", 8, "s_wr_sq_1m"),
        ("lock", 2, ""),
    ],
)
def test_full_pool_stops_the_run_with_its_name(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, pool: str, records: int, workload: str
) -> None:
    behind = shrunk(monkeypatch, pool, records)
    made = lab.simulation(workload) if workload else shared_writers(lab)
    made.set_all(Setting(pages=16, flight=64))
    with pytest.raises(PoolError, match=f"pool '{pool}' is full \\({records} records\\)"):
        made.run_until(5.0)
    assert (behind[-1] == GUARD).all()


def test_full_ring_of_cached_runs_stops_the_run_with_its_name(lab: Lab) -> None:
    made = lab.simulation("s_wr_rn_8k")
    made.world.osc.lru_size[:] = 4
    with pytest.raises(PoolError, match="pool 'lru' is full"):
        made.run_until(1.0)


@pytest.mark.parametrize("request_bytes", [4096, 8192, 1 << 20])
def test_dirty_pages_may_exceed_the_page_cache(lab: Lab, request_bytes: int) -> None:
    work = lab.workload("s_wr_rn_8k", request_bytes=request_bytes, cache_bytes=1 << 20)
    made = lab.simulation(work)
    made.run_until(4.0)
    assert made.totals().app_bytes > 100e6
    assert (made.world.osc.lru_count <= made.world.osc.lru_size).all()


def test_full_world_stays_stopped(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    shrunk(monkeypatch, "extent", 40)
    made = lab.simulation("s_rd_sq_16m", Setting(pages=16, flight=64))
    with pytest.raises(PoolError) as first:
        made.run_until(1.0)
    stopped_s = made.now_s
    with pytest.raises(PoolError) as second:
        made.run_until(2.0)
    assert str(first.value) == str(second.value)
    assert made.now_s == stopped_s < 1.0


def test_every_pool_is_an_array_of_the_world() -> None:
    assert set(POOLS[1:]) <= set(ARRAYS)
