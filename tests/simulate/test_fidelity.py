"""A short version of `benchmarks/fidelity.py`: the surfaces still look like the measured ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.report.heatmap import read_measured
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.protocol import random_walk, recorded_rhythm
from penstock.spaces import LUSTRE
from penstock.workload import parse_workload


def rank_correlation(shared_dir: Path, name: str, changes: dict[str, str]) -> float:
    real = read_measured(shared_dir / "data" / "lustre-traces" / "response_surface.csv", name)
    assert real is not None
    work = parse_workload(name)
    plan = named_plan(builtin_cluster("c220g5").override(changes), name, seed=3)
    cells = random_walk(plan, LUSTRE.candidates(), 4.0, recorded_rhythm(work))
    pairs = np.array([(real[c.setting["pages"], c.setting["flight"]], c.app_mbps) for c in cells])
    ranks = pairs.argsort(axis=0).argsort(axis=0)
    return float(np.corrcoef(ranks[:, 0], ranks[:, 1])[0, 1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "least"), [("s_rd_rn_1m", 0.90), ("s_rd_sq_1m", 0.85), ("s_wr_sq_1m", 0.75)]
)
def test_simulated_surface_ranks_settings_like_the_measured_one(
    shared_dir: Path, name: str, least: float
) -> None:
    assert rank_correlation(shared_dir, name, {}) >= least


@pytest.mark.slow
def test_without_the_extent_tax_writes_no_longer_look_real(shared_dir: Path) -> None:
    assert rank_correlation(shared_dir, "s_wr_sq_1m", {"extent_tax_kib": "0"}) < 0.6
