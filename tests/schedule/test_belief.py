"""Curves nobody has: priors, what measurements change, and advice that says how sure it is."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from tests.schedule.test_advice import HEAVY, NEXT, SITE, run
from tests.schedule.test_ledger import site_for

from penstock.errors import DataError
from penstock.schedule.advice import Rule, SiteScene, advise
from penstock.schedule.application import Curve
from penstock.schedule.belief import CLASSES, Measurement, believe, prior
from penstock.schedule.certainty import Stakes, choose, told_apart
from penstock.schedule.job import Job
from penstock.schedule.profile import load_profiles


def unsure(access: str, *seen: Measurement, nodes: int = 50) -> Job:
    belief = believe(access, 8, seen)
    return Job("next", nodes, 1000.0, 1e12, belief.curve(), belief=belief)


def test_belief_goes_through_exact_measurements_and_narrows() -> None:
    before = believe("shared", 32, [Measurement(1, 2e9)])
    after = before.learn(Measurement(8, 5e9, spread=1e-6))
    assert after.curve().at(8) == pytest.approx(5e9, rel=1e-4) and after.spread(8) < 1e-5
    assert all(after.spread(count) < before.spread(count) for count in (2, 4, 8, 16, 32))
    assert before.spread(32) > before.spread(8) > before.spread(1)


def test_belief_does_not_depend_on_the_order_of_measurements() -> None:
    seen = [Measurement(1, 1e9), Measurement(4, 2e9, 0.4), Measurement(6, 2.5e9)]
    first, second = believe("unknown", 16, seen), believe("unknown", 16, seen[::-1])
    assert first.mean == pytest.approx(second.mean)
    assert np.allclose(first.covariance, second.covariance, atol=1e-9)


def test_samples_scatter_as_the_belief_says() -> None:
    belief = believe("shared", 8, [Measurement(1, 1e9)])
    draws = np.log(belief.samples(np.random.default_rng(1).standard_normal((20_000, 4)), range(1, 9)))
    for count in (1, 3, 8):
        assert draws[:, count - 1].std() == pytest.approx(belief.spread(count), rel=0.05)


@pytest.mark.parametrize("access", ["shared", "file-per-process"])
def test_prior_covers_the_curves_it_was_made_from(access: str, shared_dir: Path) -> None:
    layout = {"shared": "1", "file-per-process": "0"}[access]
    own = [
        profile.curve
        for profile in load_profiles("io-nodes", shared_dir / "data")
        if profile.name.split("-")[2] == layout and profile.curve.counts == (1, 2, 4, 8)
    ]
    steps = [np.mean([math.log(c.at(2 * n) / c.at(n)) for c in own]) for n in (1, 2, 4)]
    assert steps == pytest.approx(CLASSES[access].steps, abs=0.01) and len(own) in (63, 126)
    belief = believe(access, 8, [Measurement(1, 1e9, spread=1e-3)])
    inside = [
        abs(math.log(curve.at(8) / curve.at(1)) - math.log(belief.curve().at(8) / 1e9)) < 2 * belief.spread(8)
        for curve in own
    ]
    assert sum(inside) / len(inside) > 0.95


def test_one_measurement_predicts_unseen_curves_better_than_a_flat_guess(shared_dir: Path) -> None:
    # Systems other than the prior's own: OSTs under IOR, and nine applications.
    errors = {"prior": 0.0, "flat": 0.0}
    for source, access in (("osts", "shared"), ("applications", "unknown")):
        for profile in load_profiles(source, shared_dir / "data"):
            if profile.name.startswith("read"):
                continue
            curve = profile.curve
            belief = believe(access, curve.largest, [Measurement(curve.counts[0], curve.bytes_per_s[0])])
            for count in curve.counts[1:]:
                truth = math.log(curve.at(count))
                errors["prior"] += abs(truth - math.log(belief.curve().at(min(count, belief.counts[-1]))))
                errors["flat"] += abs(truth - math.log(curve.bytes_per_s[0]))
    assert errors["prior"] < errors["flat"]


def test_advice_says_how_sure_it_is_and_what_measuring_would_gain() -> None:
    vague = advise(SiteScene(12, 1000, [HEAVY]), unsure("unknown", Measurement(1, 1e9)))
    known = [Measurement(count, 1e9 * count**0.9, 0.02) for count in (1, 2, 4, 8) for _ in range(5)]
    firm = advise(SiteScene(12, 1000, [HEAVY]), unsure("unknown", *known))
    assert vague.certainty and firm.certainty
    assert firm.certainty.sure > 0.95 > vague.certainty.sure > 0
    assert firm.certainty.spread < 0.1 < vague.certainty.spread
    assert vague.certainty.measuring_gains is not None and firm.certainty.measuring_gains is not None
    assert vague.certainty.measuring_gains > 10 * firm.certainty.measuring_gains
    assert vague.certainty.measure_on > 1
    assert len(firm.resources) == 8 and len(vague.resources) == vague.certainty.count


def test_advised_measurement_gains_what_was_promised() -> None:
    """Draw true curves from the belief, measure each where advised, choose again: idle nodes fall as promised."""
    job = unsure("unknown", Measurement(1, 1e9), nodes=400)
    scene = SiteScene(12, 1000, [HEAVY])
    advice = advise(scene, job)
    assert (
        advice.certainty is not None
        and advice.certainty.measuring_gains is not None
        and job.belief is not None
    )
    truths = job.belief.samples(np.random.default_rng(3).standard_normal((150, 4)), range(1, 9))
    rng = Random(4)
    saved = []
    for truth in truths:
        count = advice.certainty.measure_on
        seen = Measurement(count, float(truth[count - 1]) * math.exp(rng.gauss(0, 0.2)))
        learnt = job.belief.learn(seen)
        later = advise(scene, replace(job, belief=learnt, curve=learnt.curve()))
        saved.append(_idle(truth, len(advice.resources)) - _idle(truth, len(later.resources)))
    mean, error = float(np.mean(saved)), float(np.std(saved) / math.sqrt(len(saved)))
    assert mean > 0
    assert abs(mean - advice.certainty.measuring_gains) < 4 * error + 0.2 * advice.certainty.measuring_gains


def _idle(truth: np.ndarray[tuple[int], np.dtype[np.float64]], count: int) -> float:
    # Eight of the twelve resources are free, so nobody else is met up to there.
    io_s = 1e12 / float(truth[count - 1])
    return 400 * io_s / (1000 + io_s)


def test_class_alone_gives_a_count() -> None:
    wide = advise(SiteScene(12, 1000, []), Job("fpp", 4, belief=prior("file-per-process", 8)))
    narrow = advise(SiteScene(12, 1000, []), Job("one", 4, belief=prior("shared", 8)))
    assert (len(wide.resources), len(narrow.resources)) == (8, 2)
    assert wide.certainty and narrow.certainty and wide.certainty.sure > narrow.certainty.sure
    assert wide.certainty.measuring_gains is None


def test_worst_slowdown_is_held_where_it_can_be() -> None:
    flat = Curve((1,), (1e9,))
    crowd = [replace(HEAVY, name=f"heavy{index}", curve=flat, resources=(index,)) for index in range(6)]
    scene = SiteScene(6, 1000, crowd)
    small = replace(NEXT, compute_nodes=1)
    free = advise(scene, small)
    held = advise(replace(scene, rule=Rule(worst_slowdown=5.0)), small)
    slowdowns = [option.slowdown for option in free.options]
    assert slowdowns[len(free.resources) - 1] > 5.0 >= slowdowns[len(held.resources) - 1]
    assert "no count keeps" not in held.reason
    tight = advise(replace(scene, rule=Rule(worst_slowdown=1.0001)), small)
    assert "no count keeps everybody within 1.0001" in tight.reason


def test_wide_uncertain_curves_are_compared_on_fewer_counts_without_loss() -> None:
    belief = believe("unknown", 512, [Measurement(1, 1e9), Measurement(64, 2e10)])
    counts = range(1, 513)

    def stakes(some: Sequence[int]) -> Stakes:
        loss = tuple(0.02 * count for count in some)
        return Stakes(400, 1000.0, 1e13, tuple(some), tuple(0.01 * count for count in some), loss)

    every, apart = choose(belief, stakes(counts), 512), choose(belief, stakes(told_apart(counts)), 512)
    normals = np.random.default_rng(5).standard_normal((400, len(belief.counts)))
    idle = stakes(counts).idle_nodes(belief.samples(normals, counts)).mean(axis=0)
    assert idle[apart.count - 1] < 1.01 * idle[every.count - 1]
    assert len(told_apart(counts)) < 60 and told_apart([33, 35]) == [33, 35]


def test_site_learns_from_ior_and_refuses_what_is_none(tmp_path: Path) -> None:
    for count, rate in ((1, 900.0), (4, 3000.0)):
        results = [{"access": "write", "bwMiB": rate * scale} for scale in (0.9, 1.0, 1.1)]
        results.append({"access": "read", "bwMiB": 9e9})
        (tmp_path / f"ior{count}.json").write_text(json.dumps({"tests": [{"Results": results}]}))
    site = tmp_path / "site.toml"
    known = 'family = "ascent"\nfamily_bandwidth = "1GiB"'
    site.write_text(
        SITE.replace(known, 'ior = { 1 = "ior1.json", 4 = "ior4.json" }\naccess = "file-per-process"')
    )
    document = run("advise", str(site))
    assert document["rule"] == "idle-nodes" and 0 < document["certainty"]["sure"] <= 1
    assert document["certainty"]["spread"] < 0.5
    (tmp_path / "ior4.json").write_text('{"tests": []}')
    with pytest.raises(DataError, match="holds no write"):
        run("advise", str(site))


def test_only_new_jobs_move(tmp_path: Path) -> None:
    ledger = str(tmp_path / "jobs.jsonl")
    ocean, storm = (site_for(tmp_path, name) for name in ("ocean", "storm"))
    before = run("advise", ocean, "--ledger", ledger)["resources"]
    assert run("advise", storm, "--ledger", ledger, "--start")["resources"] == before
    waiting = run("advise", ocean, "--ledger", ledger)["resources"]
    assert not set(waiting) & set(before)
    run("advise", ocean, "--ledger", ledger, "--start")
    run("advise", storm, "--ledger", ledger, "--end", "storm")
    assert run("advise", ocean, "--ledger", ledger, "--list")["jobs"][0]["resources"] == waiting
    assert run("advise", ocean, "--ledger", ledger, "--start")["resources"] == waiting
