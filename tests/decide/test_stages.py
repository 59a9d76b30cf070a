"""Active and inactive stages, the model's batches, and when the cache is shared anew."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.decide.budget import CacheBudget
from penstock.decide.policies import policy_class
from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Outlook
from penstock.knobs import Candidates, KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.units import MIB
from penstock.window import Void, VoidReason, Window

A, B = (Target(f"fs-OST000{i}-osc-1", "fs", f"OST000{i}") for i in range(2))


class Oracle:
    """A predictor that likes one candidate and remembers what it was asked."""

    history = 1
    digest = "oracle"
    spaces = ("lustre",)

    def __init__(self, liked: Setting, *, in_range: bool = True) -> None:
        self.liked, self.in_range = liked, in_range
        self.asked: list[tuple[str, list[int]]] = []

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> Sequence[Outlook]:
        self.asked.append((direction, [len(history) for history in histories]))
        sure = tuple(0.95 if candidate == self.liked else 0.1 for candidate in candidates)
        return [Outlook(direction, candidates, sure, self.in_range, self.digest) for _ in histories]


def space_of(target: Target) -> KnobSpace:
    return LUSTRE


def window(i: int, target: Target = A, read: float = 0.0, write: float = 0.0, **knobs: int) -> Window:
    metrics = {"read.bytes": read, "write.bytes": write, "dirty.bytes": 0.01 * 2000 * MIB}
    return Window(target, i * 0.5, i * 0.5 + 0.5, LUSTRE.default.replace(**knobs), metrics)


def step(tuner: Tuner, i: int, *windows: Window | Void) -> tuple[Decision, ...]:
    return tuner.step(windows, space_of, i * 0.5 + 0.5)


def test_tuner_asks_the_model_once_per_direction_for_all_targets() -> None:
    oracle = Oracle(Setting(pages=64, flight=32))
    tuner = Tuner(policy_class("dial"), predictor=oracle)
    first = step(tuner, 0, window(0, A, read=1e8), window(0, B, read=1e8))
    step(tuner, 1, window(1, A, read=1e8), window(1, B, write=1e8))
    assert oracle.asked == [("read", [1, 1]), ("read", [2]), ("write", [2])]
    assert [d.wanted.only("pages", "flight") for d in first] == [oracle.liked] * 2
    assert {d.model for d in first} == {"oracle"}


def test_tuner_chooses_the_model_by_dominant_volume() -> None:
    oracle = Oracle(Setting(pages=64, flight=32))
    tuner = Tuner(policy_class("dial"), predictor=oracle)
    step(tuner, 0, window(0, read=1e8, write=2e8))
    assert oracle.asked[0][0] == "write"


def test_tuner_does_not_act_outside_the_training_range() -> None:
    oracle = Oracle(Setting(pages=64, flight=32), in_range=False)
    (decision,) = step(Tuner(policy_class("greedy"), predictor=oracle), 0, window(0, write=1e8))
    assert decision.reason == "out-of-range"
    assert not decision.changes


def test_printed_carat_has_no_veto() -> None:
    oracle = Oracle(Setting(pages=64, flight=32), in_range=False)
    (decision,) = step(Tuner(policy_class("carat"), predictor=oracle), 0, window(0, write=1e8))
    assert decision.wanted.only("pages", "flight") == oracle.liked


def test_tuner_decides_nothing_about_idle_targets() -> None:
    tuner = Tuner(policy_class("random"))
    assert step(tuner, 0, window(0)) == ()
    assert len(step(tuner, 1, window(1, write=1e6))) == 1


def test_tuner_shares_the_cache_only_when_a_target_resumes() -> None:
    oracle = Oracle(Setting(pages=1024, flight=8))
    tuner = Tuner(policy_class("carat"), predictor=oracle, cache=CacheBudget(1000))

    def dirty_wanted(i: int, write: float) -> int | None:
        decisions = step(tuner, i, window(i, write=write))
        return decisions[0].wanted["dirty"] if decisions else None

    assert (
        dirty_wanted(0, 1e8) == 1024
    )  # one writer gets the whole node: b(1000), as printed above the budget
    assert [dirty_wanted(i, 1e8) for i in range(1, 4)] == [2000] * 3  # held by nobody: the window's own value
    assert [dirty_wanted(i, 0.0) for i in range(4, 8)] == [None] * 4
    assert dirty_wanted(8, 1e8) == 1024


def test_tuner_takes_cache_back_from_a_target_that_went_idle() -> None:
    oracle = Oracle(Setting(pages=1024, flight=8))
    tuner = Tuner(policy_class("carat"), predictor=oracle, cache=CacheBudget(1000))
    step(tuner, 0, window(0, A, write=1e8), window(0, B))
    for i in range(1, 5):
        step(tuner, i, window(i, A), window(i, B))
    decisions = {d.target: d for d in step(tuner, 5, window(5, A), window(5, B, write=1e8))}
    assert decisions[A].wanted["dirty"] == 32
    assert decisions[A].reason == "cache"
    assert decisions[B].wanted["dirty"] >= 512


def test_printed_cache_gives_targets_that_never_worked_the_least() -> None:
    oracle = Oracle(Setting(pages=1024, flight=8))
    tuner = Tuner(policy_class("carat"), predictor=oracle, cache=CacheBudget(1000))
    decisions = {d.target: d for d in step(tuner, 0, window(0, A, write=1e8), window(0, B))}
    assert decisions[B].wanted["dirty"] == 32


def test_weir_leaves_targets_that_never_worked_alone() -> None:
    oracle = Oracle(Setting(pages=1024, flight=8))
    tuner = Tuner(policy_class("weir"), predictor=oracle, cache=CacheBudget(1000))
    assert {d.target for d in step(tuner, 0, window(0, A, write=1e8), window(0, B))} <= {A}


def test_cache_goes_by_the_last_stage_where_a_new_one_has_only_begun() -> None:
    """B starts one interval after A: what A wrote in one window says nothing; its last stage does."""
    tuner = Tuner(policy_class("carat"), cache=CacheBudget(1000))
    for i in range(6):
        step(tuner, i, window(i, A, write=3e8), window(i, B, write=1e8))
    for i in range(6, 12):
        step(tuner, i, window(i, A), window(i, B))
    step(tuner, 12, window(12, A, write=1e6), window(12, B))
    decisions = {d.target: d for d in step(tuner, 13, window(13, A, write=1e6), window(13, B, write=1e8))}
    assert (decisions[A].wanted["dirty"], decisions[B].wanted["dirty"]) == (1024, 512)


def test_tuner_starts_its_history_anew_after_a_void_window() -> None:
    oracle = Oracle(Setting(pages=64, flight=32))
    tuner = Tuner(policy_class("dial"), predictor=oracle)
    step(tuner, 0, window(0, read=1e8))
    step(tuner, 1, Void(A, 0.5, 1.0, VoidReason.BACKWARDS))
    step(tuner, 2, window(2, read=1e8))
    assert oracle.asked == [("read", [1]), ("read", [1])]
