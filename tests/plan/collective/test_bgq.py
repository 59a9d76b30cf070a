from __future__ import annotations

from collections import Counter

import pytest
from benchmarks.collective_study.bgq import (
    MB,
    BgqHints,
    BgqInstance,
    BgqSwitches,
    configurations,
    grid,
    rounds,
    terms,
)
from benchmarks.collective_study.bgq_machine import benchmark
from benchmarks.collective_study.bgq_study import BgqHybrid, BgqLearned, judge, run_time, true_times

from penstock.errors import UsageError


def storage(instance: BgqInstance, hints: BgqHints, switches: BgqSwitches | None = None) -> dict[str, int]:
    names = ("lock", "full", "partial")
    return {t.operation: t.times for t in terms(instance, hints, switches) if t.operation in names}


def test_aggregators_follow_equation_two() -> None:
    assert [BgqHints(per_pset).aggregators(128) for per_pset in (4, 16, 64)] == [40, 136, 520]
    assert BgqHints(16).aggregators(512) == 544


def test_grid_is_the_papers() -> None:
    assert (len(grid()), len(configurations())) == (33, 9)


def test_only_round_is_counted_once_and_as_the_locking_one() -> None:
    instance, hints = BgqInstance(128, MB), BgqHints()
    assert rounds(instance, hints) == (0, 1, 128 * 16 * MB)
    assert storage(instance, hints) == {"lock": 1}


def test_rounds_split_into_locking_full_and_partial() -> None:
    instance, hints = BgqInstance(128, 32 * MB), BgqHints(4, 16 * MB)
    complete, incomplete, left = rounds(instance, hints)
    assert (complete, incomplete) == (102, 1)
    assert storage(instance, hints) == {"lock": 1, "full": 101, "partial": 1}
    assert storage(instance, hints, BgqSwitches(locking=False)) == {"full": 101, "partial": 1}
    moved = 102 * 40 * 16 * MB + left
    assert moved == 128 * 16 * 32 * MB


def test_messages_are_no_larger_than_what_a_rank_writes() -> None:
    shuffled = [t for t in terms(BgqInstance(128, 2 * MB), BgqHints(4, 8 * MB)) if t.operation == "alltoallv"]
    assert max(term.bytes for term in shuffled) == 2 * MB
    assert Counter(term.bytes for term in shuffled)[8] == 1


def test_exact_full_rounds_leave_no_partial_one() -> None:
    instance, hints = BgqInstance(128, 130 * MB), BgqHints(64, 8 * MB)
    assert rounds(instance, hints) == (64, 0, 0)
    assert storage(instance, hints) == {"lock": 1, "full": 63}


def test_topology_and_locking_cost_what_their_switches_say() -> None:
    instance, hints = BgqInstance(256, 32 * MB), BgqHints(4, 8 * MB)
    assert run_time(instance, hints, BgqSwitches(topology_aware=False)) > run_time(instance, hints)
    assert run_time(instance, hints, BgqSwitches(locking=False)) < run_time(instance, hints)


def test_hybrid_recovers_the_made_up_machine_and_beats_chance() -> None:
    truth = true_times()
    hybrid = judge("hybrid", "", truth, [BgqHybrid(benchmark()).run_times(grid())])
    optimal = judge("optimal", "", truth, [truth])
    learned = judge("ml", "", truth, [BgqLearned(truth, points=33).run_times(grid())])
    assert optimal.rank_correlation == pytest.approx(1.0)
    assert 0.95 * optimal.geomean_speedup < hybrid.geomean_speedup <= optimal.geomean_speedup
    assert hybrid.rank_correlation > learned.rank_correlation


def test_empty_job_is_refused() -> None:
    with pytest.raises(UsageError, match="0 nodes"):
        BgqInstance(0, MB)
