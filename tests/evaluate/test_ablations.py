"""Policies that answer one question each and are loaded by path: variants of `weir`, of CARAT and of its stage 2."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from benchmarks.ablations.cache_fitted import fitted
from benchmarks.evidence.asks import ABLATIONS, policy_of
from hypothesis import given
from hypothesis import strategies as st

from penstock.decide import score
from penstock.decide.budget import CacheBudget
from penstock.decide.cache_shares import Demand
from penstock.decide.policies import MOVED_NAMES, policy_class
from penstock.decide.policies.carat import CaratPolicy
from penstock.decide.tuner import Tuner
from penstock.decision import Outlook
from penstock.errors import UsageError
from penstock.evaluate.tuners import find_policy
from penstock.knobs import Candidates, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.testing.policies import check_policy
from penstock.units import MIB
from penstock.window import Window

A, B, C = (Target(f"fs-OST000{i}-osc-1", "fs", f"OST000{i}") for i in range(3))
FILES = sorted(ABLATIONS.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_ablation_loads_by_path(file: Path) -> None:
    assert find_policy(str(file)).name.replace("-", "_") == file.stem


@pytest.mark.parametrize("name", MOVED_NAMES)
def test_former_name_names_its_file_and_that_obeys(name: str) -> None:
    check_policy(find_policy(policy_of(name)))
    with pytest.raises(UsageError, match=f"benchmarks/ablations/{name.replace('-', '_')}.py"):
        policy_class(name)


def test_logarithm_keeps_the_largest_from_outweighing_the_rest() -> None:
    near, far = Setting(pages=64, flight=64), Setting(pages=4, flight=256)
    said = {Setting(pages=64, flight=8): 0.85, near: 0.99, far: 0.82}
    outlook = Outlook("read", Candidates(LUSTRE, said), tuple(said.values()), True, "m")
    window = Window(A, 0.0, 0.5, LUSTRE.default, {"read.bytes": 1e8})
    assert (
        score.survivors(outlook).setting(score.best(score.printed(score.survivors(outlook), "read"))) == far
    )
    for policy, liked in ((CaratPolicy, far), (find_policy(policy_of("carat-log2")), near)):
        proposal = policy(LUSTRE, Random(0)).propose(window, outlook)
        assert proposal.setting.only("pages", "flight") == liked


def test_fitted_cache_keeps_a_share_for_who_was_active_a_moment_ago() -> None:
    tuner = Tuner(find_policy(policy_of("cache-fitted")), cache=CacheBudget(1000))

    def step(i: int, a: float, b: float) -> dict[Target, int]:
        metrics = {"read.bytes": 0.0, "dirty.bytes": 0.01 * 2000 * MIB}
        held = LUSTRE.default.replace(dirty=20)
        windows = [
            Window(target, i / 2, i / 2 + 0.5, held, metrics | {"write.bytes": write})
            for target, write in ((A, a), (B, b))
        ]
        return {d.target: d.wanted["dirty"] for d in tuner.step(windows, lambda _: LUSTRE, i / 2 + 0.5)}

    for i in range(14):
        step(i, 3e8 if i < 8 else 0.0, 0.0)
    assert step(14, 0.0, 1e8) == {A: 500, B: 500}


wide_demands = st.builds(
    Demand, st.floats(0, 1e12), st.floats(0, 4e9), st.floats(0, 4e9), st.floats(0, 1), st.integers(0, 9)
)


def test_fitted_cache_serves_requests_in_flight_first_and_shares_the_rest_alike() -> None:
    busy, calm = (
        Demand(volume, 300 * MIB, flight * MIB, 1.0, 9) for volume, flight in ((3e9, 140), (1e9, 40))
    )
    limits = fitted({A: busy, B: calm}, [C], CacheBudget(1032))
    assert limits == {A: 140 + 410, B: 40 + 410, C: 32}


def test_fitted_cache_gives_what_one_cannot_use_to_the_others() -> None:
    busy, calm = Demand(1e9, 900 * MIB, 0.0, 1.0, 9), Demand(1e9, 80 * MIB, 0.0, 0.1, 9)
    assert fitted({A: busy, B: calm}, [], CacheBudget(1000)) == {A: 900, B: 100}
    # A single window tells nothing.
    calm.windows = 1
    assert fitted({A: busy, B: calm}, [], CacheBudget(1000)) == {A: 500, B: 500}


@given(
    st.lists(wide_demands, min_size=1, max_size=9),
    st.integers(0, 5),
    st.integers(32, 20000),
)
def test_fitted_cache_stays_within_the_budget(active: list[Demand], idle: int, node_mib: int) -> None:
    targets = [Target(f"t{i}", "fs") for i in range(len(active) + idle)]
    demands = dict(zip(targets, active, strict=False))
    limits = fitted(demands, targets[len(active) :], CacheBudget(node_mib))
    assert set(limits) == set(targets)
    assert all(32 <= limit <= 2047 for limit in limits.values())
    assert sum(limits.values()) <= max(node_mib, 32 * len(targets))
    if node_mib < 2047 * len(active) + 32 * idle:
        spare = node_mib - sum(limits.values())
        assert spare <= len(targets) or all(limits[t] == 2047 for t in demands)
