"""Algorithm 1, printed and as the authors' code has it, on cases computed by hand."""

from __future__ import annotations

from random import Random

import pytest

from penstock.decide import score
from penstock.decide.policies import policy_class
from penstock.decision import Outlook
from penstock.knobs import Candidates, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

SMALL, WIDE, LARGE = Setting(pages=64, flight=8), Setting(pages=64, flight=32), Setting(pages=1024, flight=16)
TARGET = Target("fs-OST0000-osc-1", "fs", "OST0000")


def outlook(direction: str, probabilities: dict[Setting, float], *, in_range: bool = True) -> Outlook:
    return Outlook(direction, Candidates(LUSTRE, probabilities), tuple(probabilities.values()), in_range, "m")


def window(update_bytes: float = 0.0) -> Window:
    metrics = {
        "write.bytes": 1e8,
        "read.bytes": 0.0,
        "app.write_bytes": 1e8 + update_bytes,
        "dirty.grown_bytes": 0.0,
    }
    return Window(TARGET, 0.0, 0.5, LUSTRE.default, metrics)


def test_survivors_are_strictly_above_the_threshold() -> None:
    kept = score.survivors(outlook("read", {SMALL: 0.8, WIDE: 0.81}))
    assert len(kept) == 1
    assert (kept.setting(0), kept.p.tolist()) == (WIDE, [0.81])


def test_printed_scores_by_hand() -> None:
    kept = score.survivors(outlook("write", {SMALL: 0.9, WIDE: 0.85, LARGE: 0.82}))
    write = score.printed(kept, "write")
    assert write == pytest.approx([0.9, 0.85 * 1.5, 0.82 * (1 + 0.5 * (1 + 1 / 3))])
    read = score.printed(kept, "read")
    assert read[1:] == pytest.approx([0.85 + 1, 0.82 * 1.5 + 1 / 3])
    assert kept.setting(score.best(read)) == WIDE


def test_printed_score_of_a_single_survivor_divides_by_nothing() -> None:
    assert score.printed(score.survivors(outlook("write", {LARGE: 0.9})), "write") == pytest.approx([0.9 * 2])


def test_authors_scores_by_hand() -> None:
    kept = score.survivors(outlook("read", {SMALL: 0.9, LARGE: 0.82}))
    reading = score.authors(kept, "read", LUSTRE, updating=False)
    assert reading == pytest.approx([1 + 0.6 + 3 / 8, 0 + 1 + 0.5])
    writing = score.authors(kept, "write", LUSTRE, updating=False)
    assert writing[0] == pytest.approx(1 * (1 + 0.6 + 3 / 8))
    updating = score.authors(kept, "write", LUSTRE, updating=True)
    assert updating[0] == pytest.approx(1 + (1 - 3 / 8))


@pytest.mark.parametrize("name", ["carat", "dial", "greedy"])
def test_model_policy_keeps_the_setting_when_nothing_survives(name: str) -> None:
    policy = policy_class(name)(LUSTRE, Random(0))
    proposal = policy.propose(window(), outlook("write", {SMALL: 0.5}))
    assert proposal.setting == LUSTRE.default
    assert proposal.reason == "no-candidate"


def test_carat_moves_to_the_highest_score_and_greedy_to_the_surest() -> None:
    view = outlook("write", {SMALL: 0.95, WIDE: 0.85, LARGE: 0.82})
    carat = policy_class("carat")(LUSTRE, Random(0)).propose(window(), view)
    greedy = policy_class("greedy")(LUSTRE, Random(0)).propose(window(), view)
    assert carat.setting.only("pages", "flight") == LARGE
    assert greedy.setting.only("pages", "flight") == SMALL
    assert greedy.confidence == 0.95


def test_carat_authors_starts_small_and_rests_while_updating() -> None:
    policy = policy_class("carat-authors")(LUSTRE, Random(0))
    view = outlook("write", {SMALL: 0.95, LARGE: 0.9})
    first = policy.propose(window(), view)
    assert first.setting.only("pages", "flight") == Setting(pages=1, flight=1)
    moved = policy.propose(window(update_bytes=1e9), view)
    assert moved.reason == "score"
    assert [policy.propose(window(), view).reason for _ in range(6)] == ["skip"] * 5 + ["score"]
    policy.resumed()
    assert policy.propose(window(), view).reason == "first"


def test_epsilon_greedy_explores_about_one_time_in_ten() -> None:
    policy = policy_class("epsilon-greedy")(LUSTRE, Random(0))
    view = outlook("write", {SMALL: 0.95, LARGE: 0.1})
    reasons = [policy.propose(window(), view).reason for _ in range(1000)]
    assert 60 <= reasons.count("explore") <= 140


def test_model_policy_without_a_model_does_nothing() -> None:
    proposal = policy_class("carat")(LUSTRE, Random(0)).propose(window())
    assert (proposal.setting, proposal.reason) == (LUSTRE.default, "no-model")
