"""Our own allocator: legal, repeatable, and better than tcpu on both metrics together."""

from __future__ import annotations

from random import Random

import pytest

from penstock.schedule.family import family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.plan import allocate, place
from penstock.schedule.simulation import simulate


@pytest.mark.parametrize("load", [0.3, 0.6, 0.95])
def test_balance_beats_tcpu_on_slowdown_and_idle_time(load: float) -> None:
    totals = {name: [0.0, 0.0] for name in ("balance", "tcpu")}
    for seed in range(12):
        workload = generate(Scenario(60, load), family_profiles(), Random(seed))
        for name, total in totals.items():
            rng = Random(seed)
            placement = place(workload, allocate(workload, name, rng), "greedy-non-clairvoyant", rng)
            outcome = simulate(workload, placement, "first")
            total[0] += outcome.mean_io_slowdown
            total[1] += outcome.machine_idle_time
    assert totals["balance"][0] < totals["tcpu"][0]
    assert totals["balance"][1] < totals["tcpu"][1] * 1.01


def test_balance_gives_a_lone_application_its_best_count() -> None:
    workload = generate(Scenario(1, 0.02), family_profiles(), Random(0))
    assert allocate(workload, "balance", Random(0)).counts == allocate(workload, "bestbdw", Random(0)).counts
