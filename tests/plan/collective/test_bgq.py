from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks.collective_study import calibrate
from benchmarks.collective_study.bgq_methods import BgqHybrid, measured_elements
from benchmarks.collective_study.bgq_study import Setting, buckets, campaigns, chosen
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import UsageError
from penstock.plan.collective.bgq.calibrated import VESTA
from penstock.plan.collective.bgq.operations import (
    MB,
    BgqHints,
    BgqInstance,
    BgqSwitches,
    BgqTerm,
    configurations,
    grid,
    rounds,
    terms,
)
from penstock.plan.collective.bgq.ranking import instance_of, rank_configurations


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


def test_machine_is_within_reach_of_the_papers_counts() -> None:
    places = calibrate.whole_grid()
    for seeds in (range(calibrate.DRAWS), range(100, 110)):
        off = np.abs(calibrate.mean_counts(VESTA, places, seeds) - calibrate.WANTED)
        assert off.max() <= 1.5


def test_first_round_is_slower_with_few_aggregators_and_faster_where_caches_overflow() -> None:
    ratio = calibrate.first_over_later(VESTA)
    assert ratio[:, :3].min() > 1
    assert ratio[:, -1].max() < 1


def test_uniform_aggregators_lose_where_they_are_few() -> None:
    few, many = (BgqTerm("full", 1, 128, BgqHints(each).aggregators(128), 1, 8 * MB) for each in (4, 64))
    aware, uniform = (VESTA.seconds([few, many], topology_aware=each) for each in (True, False))
    assert 1.5 < uniform[0] / aware[0] < 1.69
    assert uniform[1] / aware[1] < 1.1


def test_search_comes_nearer_to_the_counts_the_longer_it_runs() -> None:
    short, _ = calibrate.search(40, 0)
    longer, machine = calibrate.search(160, 0)
    assert longer <= short
    assert machine != VESTA


@pytest.mark.slow
def test_hybrid_knows_the_machine_better_than_chance() -> None:
    (one,) = campaigns(1)
    hybrid = buckets("hybrid", [one], 1)
    assert hybrid.geomean > buckets("random", [one], 10).geomean
    assert hybrid.geomean <= buckets("optimal", [one], 1).geomean
    # Without scatter the surrogates follow the formulas.
    still = replace(VESTA, spread=0.0)
    times, truth = BgqHybrid(measured_elements(still, 0)).run_times(), calibrate.whole_grid().seconds(still)
    assert float(np.abs(np.log(times / truth)).mean()) < 0.25


def test_every_method_chooses_for_every_instance() -> None:
    (one,) = campaigns(1)
    assert chosen("random", one, 3, Setting()).shape == (3, 33)
    assert chosen("ml", one, 2, Setting(sigma=0.1, points=33)).shape == (2, 33)


def test_empty_job_is_refused() -> None:
    with pytest.raises(UsageError, match="0 nodes"):
        BgqInstance(0, MB)


def test_parts_of_a_ranked_configuration_sum_to_its_time() -> None:
    ranking = rank_configurations(instance_of(4096, 8 * MB))
    assert len(ranking.ranking) == 9
    assert [one.seconds for one in ranking.ranking] == sorted(one.seconds for one in ranking.ranking)
    best = ranking.ranking[0]
    assert sum(share.seconds for share in best.operations.values()) == pytest.approx(best.seconds)
    assert ranking.default.hints == BgqHints()
    assert ranking.outside == ()


def ask(*words: str) -> Any:
    found = CliRunner().invoke(cli, ["plan", "collective", "--model", "bgq", *words])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found


def test_model_answers_without_a_profile() -> None:
    said = json.loads(ask("--ranks", "8192", "--bytes-per-rank", "4MB", "--json").stdout)
    assert said["default"]["bg_nodes_pset"] == 64
    assert said["default"]["cb_nodes"] == 2080
    assert said["advice"]["seconds"] == said["ranking"][0]["seconds"] < said["default"]["seconds"]
    assert said["operations"]["lock"]["count"] == 1
    assert "no measurement" in said["notes"][0]
    shown = ask("--ranks", "8192", "--bytes-per-rank", "4MB").stdout
    assert "advice: bg_nodes_pset=" in shown


def test_model_flags_what_the_paper_did_not_run() -> None:
    said = json.loads(ask("--ranks", "512", "--bytes-per-rank", "512MB", "--json").stdout)
    assert [line.split(";")[0] for line in said["outside"]] == ["32 nodes", "512000000 bytes a rank"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--ranks", "100", "--bytes-per-rank", "1MB"), "--ranks 100"),
        (("--ranks", "65536", "--bytes-per-rank", "1MB"), "at most 32768"),
        (("--bytes-per-rank", "1MB"), "Missing option '--ranks'"),
        (("--ranks", "4096", "--bytes-per-rank", "1MB", "--confirm", "3"), "--confirm is for --profile"),
        (("--ranks", "4096", "--bytes-per-rank", "1MB", "--pattern", "strided"), "one contiguous piece"),
    ],
)
def test_question_the_model_has_no_answer_to_is_refused(words: tuple[str, ...], message: str) -> None:
    try:
        found = ask(*words)
    except UsageError as error:
        assert message in str(error)
    else:
        assert found.exit_code == 2
        assert message in found.stderr
