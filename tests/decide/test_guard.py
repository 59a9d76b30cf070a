"""The guard: the original as reference, visits that end in time, looks at the original, and the rules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from penstock.decide.belief import MeasuredSetting
from penstock.decide.guard import Guard, GuardLimits, NodeView
from penstock.decide.guard.account import Account
from penstock.decide.guard.limits import LONG_S
from penstock.decide.guard.offer import Offer
from penstock.decide.guard.record import Ban
from penstock.decide.guard.unit_states import validate
from penstock.decide.objective import Rates, gain_log2, rates_of
from penstock.decision import Decision, unit_name
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, fuse
from penstock.window import Void, VoidReason, Window

A, B = (Target(f"fs-OST000{i}-osc-1", "fs", f"OST000{i}") for i in range(2))
# Without waits of its own, and without a price for requests in flight.
CALM = GuardLimits(jitter_s=0.0, dwell_s=0.0, crowd_log2=0.0)
BAD, GOOD = {"flight": 1}, {"pages": 256, "flight": 32}


class Node:
    """A target whose rate follows its setting and whose decisions the test dictates; the setting obeys the guard."""

    def __init__(
        self,
        rate: Callable[[Setting], float],
        limits: GuardLimits = CALM,
        view: NodeView | None = None,
        space: KnobSpace = LUSTRE,
    ) -> None:
        self.guard = Guard(limits)
        self.view = view or NodeView()
        self.space = space
        self.setting = self.original = space.default
        self.rate = rate
        self.i = 0
        self.moved: list[float] = []
        self.hit_ratio = 0.0
        #: What a request carries; not told as long as it is 0.
        self.request_bytes = 0.0

    def step(
        self,
        wanted: dict[str, int] | None = None,
        work: str = "reads",
        beside: Mapping[str, float] | None = None,
        **said: float,
    ) -> Decision:
        """One interval: bytes move, and what is beside them; the policy wants a setting."""
        self.i += 1
        t_s, rate = self.i * 0.5, self.rate(self.setting)
        self.moved.append(rate)
        moved = {"read.bytes": rate * 0.5, "app.read_bytes": rate * 0.5 / (1.0 - self.hit_ratio)}
        if self.request_bytes:
            moved["read.rpcs"] = moved["read.bytes"] / self.request_bytes
        moved |= beside or {}
        window = Window(A, t_s - 0.5, t_s, self.setting, moved, self.original)
        wish = self.setting.replace(wanted or {})
        decision = Decision(f"d{self.i}", t_s, A, self.setting, wish, "test", "test", said, 0.9, work=work)
        (verdict,) = self.guard.review([window], [decision], lambda target: self.space, self.view)
        assert [what for record in self.guard._records.values() for what in validate(record)] == []
        self.setting = self.space.settle(self.setting, {c.knob_id: c.new for c in verdict.changes})
        return verdict

    def steps(self, count: int, wanted: dict[str, int] | None = None) -> list[str]:
        """Several intervals; the reasons of what was decided."""
        return [self.step(wanted).reason for _ in range(count)]

    @property
    def share(self) -> float:
        """What was moved over what the original would have moved."""
        return sum(self.moved) / (self.rate(self.space.default) * len(self.moved))


def space_of(target: Target) -> KnobSpace:
    return LUSTRE


def by_flight(setting: Setting) -> float:
    return {1: 1e7, 8: 1e8, 32: 2e8}.get(setting["flight"], 9e7)


def test_nothing_changes_before_the_original_was_measured() -> None:
    node = Node(by_flight)
    # The first interval after a start is not judged.
    assert node.steps(4, GOOD) == ["guard.reference"] * 4
    assert node.step(GOOD).changes


def test_a_change_that_does_good_stays_and_is_reported_against_the_original() -> None:
    node = Node(by_flight)
    node.steps(5)
    change = node.step(GOOD)
    assert set(node.steps(20)) == {"test"}
    (effect,) = node.guard.effects()
    assert effect.gain == pytest.approx(2.0)
    assert not effect.switchback
    # Whoever explains the change finds its effect by its id.
    assert effect.decision_id == change.id


def test_a_setting_that_somebody_else_made_has_no_effect_of_ours() -> None:
    node = Node(by_flight)
    node.steps(5)
    node.step(GOOD)
    node.steps(20)
    node.guard.effects()
    node.setting = node.setting.replace(flight=16)
    node.steps(20)
    assert node.guard.effects() == ()


@pytest.mark.parametrize(
    ("steps", "pages"), [(1, 64), (20, 64), (round(2 * CALM.switchback_first_s) + 2, LUSTRE.default["pages"])]
)
def test_a_knob_that_somebody_else_took_over_is_no_part_of_the_original_any_more(
    steps: int, pages: int
) -> None:
    node = Node(lambda setting: 1.5e8 if setting["pages"] == 64 else 1e8)
    node.steps(5)
    node.step({"pages": 64, "flight": 32})
    node.steps(steps)
    node.setting, node.original = node.setting.replace(flight=24), node.original.replace(flight=24)
    pinned = tuple(knob.within(24, 24) if knob.id == "flight" else knob for knob in LUSTRE.knobs)
    node.space = replace(LUSTRE, knobs=pinned)
    # In the last case a look is under way: the target is at its original already, and stays there.
    assert ("guard.return" in node.steps(80)) == (pages == 64)
    assert node.setting.only("pages", "flight") == Setting({"pages": pages, "flight": 24})


def test_the_original_is_looked_at_again_and_the_setting_brought_back() -> None:
    node = Node(lambda setting: 1e8 if setting["flight"] == 8 else 1.5e8)
    node.steps(5)
    node.step(GOOD)
    reasons = node.steps(2 * round(CALM.switchback_first_s) + 9)
    assert reasons.count("guard.return") == 1
    looking = reasons.index("guard.return") - reasons.index("guard.switchback")
    assert looking == 1 + CALM.switchback_windows
    assert node.setting["flight"] == 32
    assert any(effect.switchback and effect.gain == pytest.approx(1.5) for effect in node.guard.effects())


@pytest.mark.parametrize(("gain", "looks"), [(1.05, 3), (1.6, 2), (4.0, 0)])
def test_looks_that_cost_much_come_more_rarely(gain: float, looks: int) -> None:
    """A setting that brings twice as much and more is not looked away from for minutes."""
    node = Node(lambda setting: 1e8 if setting["flight"] == 8 else gain * 1e8)
    node.steps(5)
    node.step(GOOD)
    assert node.steps(300).count("guard.return") == looks
    # None is left out for good.
    assert "guard.return" in node.steps(640)


def test_more_work_is_not_taken_for_a_better_setting() -> None:
    rates = {8: 1e7, 32: 1e7}
    node = Node(lambda setting: rates[setting["flight"]])
    node.steps(5)
    node.step(GOOD)
    node.steps(4)
    rates |= {8: 1e8, 32: 3e7}
    # The setting brings three times what it did, and a third of what the original brings now.
    assert "guard.switchback" in node.steps(3)
    assert "guard.revert" in node.steps(2 + CALM.switchback_windows)
    assert node.setting == LUSTRE.default


def drained(node: Node, windows: int, *, busy_before: bool) -> list[str]:
    """A reader comes back after five idle seconds, beside what a writer left; what the guard says meanwhile."""
    node.i += 10
    if busy_before:
        node.step()
    node.rate = lambda setting: 1e7
    left = {"app.write_bytes": 0.0, "write.bytes": 5e7}
    return [node.step(beside=left).reason for _ in range(windows)]


def test_what_other_work_left_unsent_is_charged_to_no_setting() -> None:
    node = Node(by_flight)
    node.steps(6, GOOD)
    node.steps(10)
    told = drained(node, 30, busy_before=False)
    assert not {Reason.GUARD_REVERT, Reason.GUARD_UNPAID} & set(told)
    assert node.setting.replace(GOOD) == node.setting


def test_what_drains_for_long_or_beside_the_work_itself_is_charged() -> None:
    for windows, busy_before in ((60, False), (30, True)):
        node = Node(by_flight)
        node.steps(6, GOOD)
        node.steps(10)
        assert Reason.GUARD_REVERT in drained(node, windows, busy_before=busy_before)


def test_a_small_gain_is_looked_at_soon() -> None:
    node = Node(lambda setting: 1e8 if setting["flight"] == 8 else 1.05e8)
    node.steps(5)
    node.step(GOOD)
    assert "guard.switchback" in node.steps(2 * round(CALM.switchback_first_s) + 5)


def test_a_setting_that_proved_itself_survives_a_stall() -> None:
    stalled = [False]
    node = Node(lambda setting: 1e6 if stalled[0] else by_flight(setting))
    node.steps(5)
    node.step(GOOD)
    node.steps(20)
    stalled[0] = True
    node.steps(3)
    stalled[0] = False
    # The look that is due meanwhile is over by then.
    assert "guard.revert" not in node.steps(15)
    assert node.setting["flight"] == 32


def test_a_setting_that_turns_bad_is_taken_back_within_seconds() -> None:
    rates = {8: 1e8, 32: 2e8}
    node = Node(lambda setting: rates[setting["flight"]])
    node.steps(5)
    node.step(GOOD)
    node.steps(40)
    rates[32] = 5e7
    assert "guard.revert" in node.steps(24)


def test_a_setting_is_measured_before_the_original_is_looked_at_again() -> None:
    node = Node(lambda setting: 1e8 + 1e5 * setting["flight"])
    node.steps(5)
    node.step({"pages": 512, "flight": 16})
    node.steps(2 * round(CALM.switchback_first_s) - 3)
    node.step(GOOD)
    assert "guard.switchback" not in node.steps(CALM.switchback_windows)
    assert "guard.switchback" in node.steps(6)


def test_what_acts_on_new_opens_is_not_looked_away_from() -> None:
    """Files opened during a look would stay slow, and those opened before it would not show it."""
    node = Node(lambda setting: 1e8 if setting["ahead"] == 128 else 1.05e8, space=fuse())
    node.steps(5)
    node.step({"ahead": 512})
    reasons = node.steps(200)
    assert not any(reason.startswith("guard") for reason in reasons)
    # A knob that acts at once is still compared with the original around the same time.
    node = Node(lambda setting: 1e8 if setting["flight"] == 12 else 1.05e8, space=fuse())
    node.steps(5)
    node.step({"flight": 32})
    assert "guard.switchback" in node.steps(60)


def test_what_acts_on_new_opens_is_judged_once_it_is_felt() -> None:
    """For three seconds applications may still read from files that they opened before."""
    pace = {128: 1e8, 512: 1e8}
    node = Node(lambda setting: pace[setting["ahead"]], space=fuse())
    node.steps(5)
    node.step({"ahead": 512})
    node.steps(6)
    pace[512] = 2e8
    node.steps(20)
    (effect,) = node.guard.effects()
    assert effect.gain == pytest.approx(2.0)


def test_harm_is_taken_back_and_not_tried_again() -> None:
    node = Node(by_flight)
    node.steps(5)
    node.step(BAD)
    reasons = node.steps(4)
    assert reasons.count("guard.revert") == 1
    assert node.setting == LUSTRE.default
    node.steps(4)
    assert node.step(BAD).reason == "guard.blacklist"


def test_a_small_lasting_loss_is_found() -> None:
    node = Node(lambda setting: 1e8 if setting["flight"] == 8 else 9.2e7)
    node.steps(5)
    node.step({"flight": 16})
    assert "guard.revert" in node.steps(60)
    assert node.setting == LUSTRE.default


def test_a_loss_that_came_with_the_world_is_told_from_one_that_came_with_the_change() -> None:
    world = [1.0]
    node = Node(lambda setting: world[0] * by_flight(setting))
    node.steps(5)
    node.step(GOOD)
    node.steps(4)
    world[0] = 0.1
    assert "guard.revert" in node.steps(8)
    # Seen again, the original is no better now: the setting may be tried after the wait, not after its ban.
    node.steps(22)
    assert node.step(GOOD).changes
    assert node.setting["flight"] == 32


def test_work_without_a_reference_is_first_looked_at_with_the_original() -> None:
    node = Node(by_flight)
    node.steps(5)
    node.step(GOOD)
    node.steps(3)
    assert node.step(work="writes").reason == "guard.switchback"
    assert node.setting == LUSTRE.default


def test_the_original_is_never_refused_and_never_blacklisted() -> None:
    node = Node(by_flight, GuardLimits(jitter_s=0.0, dwell_s=1e6, changes_per_hour=1))
    node.steps(5)
    assert node.step(GOOD).changes
    assert node.step({"pages": 1024, "flight": 8}).changes
    assert node.setting == LUSTRE.default


def _worst(setting: Setting, i: int) -> dict[str, int]:
    return {"pages": 16, "flight": 1}


def _swing(setting: Setting, i: int) -> dict[str, int]:
    return {"flight": (1, 8, 2)[i % 3]}


def _creep(setting: Setting, i: int) -> dict[str, int]:
    return {"flight": max(1, setting["flight"] // 2)}


@pytest.mark.parametrize("wish", [_worst, _swing, _creep])
@pytest.mark.parametrize("lasting", [0.0, 0.5, 0.93])
def test_whatever_a_policy_wants_little_is_lost(
    wish: Callable[[Setting, int], dict[str, int]], lasting: float
) -> None:
    """Ten minutes; every setting but the original brings that part of what it brings."""
    node = Node(lambda setting: 1e8 if setting["flight"] == 8 and setting["pages"] == 1024 else 1e8 * lasting)
    for i in range(1200):
        node.step(wish(node.setting, i))
    assert node.share >= 0.96


def test_what_lies_far_off_is_reached_over_settings_that_did_no_harm() -> None:
    node = Node(lambda setting: 1e8)
    node.steps(5)
    assert node.step({"pages": 1, "flight": 1}).reason == "guard.reach"
    assert node.step({"pages": 16, "flight": 8}).reason == "guard.reach"
    assert node.step({"pages": 32, "flight": 1}).changes
    node.steps(10)
    assert node.step({"pages": 1, "flight": 1}).changes


def test_knobs_are_raised_further_than_they_are_lowered() -> None:
    """A request that is too large or one too many costs less than many that are too small."""
    node = Node(lambda setting: 1e8)
    node.setting = node.original = LUSTRE.default.replace(pages=4, flight=256)
    node.request_bytes = 16384.0
    node.steps(5)
    assert node.step({"pages": 4, "flight": 4}).reason == "guard.reach"
    assert node.step({"pages": 1024, "flight": 256}).changes


def test_a_request_size_that_nobody_uses_is_no_distance() -> None:
    """Requests of two pages: one page is next door, however large they might be."""
    for request_bytes, refused in ((8192.0, False), (4194304.0, True)):
        node = Node(lambda setting: 1e8)
        node.request_bytes = request_bytes
        node.steps(5)
        assert (node.step({"pages": 1, "flight": 8}).reason == "guard.reach") is refused


def test_the_file_systems_default_is_never_too_far_off() -> None:
    node = Node(lambda setting: 1e8)
    node.setting = LUSTRE.default.replace(pages=1, flight=1)
    node.steps(5)
    assert node.step({"pages": 1024, "flight": 8}).changes


def from_a_bad_start(setting: Setting) -> float:
    """As a real client brought it: 64 x 1 a third of the default, a little more with 16 in flight, and with 32."""
    return {1: 13e6, 8: 33e6, 16: 37e6, 32: 39e6}[setting["flight"]]


def at_a_bad_start(rate: Callable[[Setting], float]) -> Node:
    """A node that found three times its original and holds that."""
    node = Node(rate)
    node.setting = node.original = LUSTRE.default.replace(pages=64, flight=1)
    node.steps(6)
    node.step({"pages": 1024, "flight": 16})
    reasons = node.steps(44)
    assert not any(reason.startswith("guard.") for reason in reasons)
    assert node.setting == LUSTRE.default.replace(flight=16)
    return node


def test_a_trial_is_taken_back_to_what_is_proven_not_to_a_bad_original() -> None:
    node = at_a_bad_start(from_a_bad_start)
    assert node.step({"flight": 32}).changes
    taken_back = [node.step() for _ in range(60)]
    (revert,) = (verdict for verdict in taken_back if verdict.reason == "guard.revert")
    assert "too little for what it has in flight" in revert.sentence
    assert "back to pages=1024 flight=16, which brought 2.85 times the original" in revert.sentence
    assert node.setting == LUSTRE.default.replace(flight=16)
    at_the_original = [one.reason for one in taken_back if one.before["flight"] == 1]
    assert set(at_the_original) <= {"guard.switchback", "guard.return"}


def test_a_trial_that_a_look_finds_unpaid_is_given_up_for_what_is_proven() -> None:
    node = at_a_bad_start(lambda setting: 13.05e6 if setting["flight"] == 8 else from_a_bad_start(setting))
    node.step({"flight": 8})
    reasons = node.steps(200)
    assert "guard.unpaid" in reasons
    assert node.setting == LUSTRE.default.replace(flight=16)


def test_what_was_proven_and_loses_all_the_same_is_left_for_the_original() -> None:
    world = [1.0]
    node = at_a_bad_start(
        lambda setting: from_a_bad_start(setting) * (world[0] if setting["flight"] > 8 else 1.0)
    )
    world[0] = 0.2
    assert "guard.revert" in node.steps(12)
    assert node.setting == node.original


@pytest.mark.parametrize(("swing", "held", "proven"), [(0.0, 12, True), (0.0, 4, False), (0.6, 12, False)])
def test_few_windows_or_uncertain_ones_are_no_proof(swing: float, held: int, proven: bool) -> None:
    swings = itertools.cycle((1.0 - swing, 1.0 + swing))
    rates = {8: 33e6, 16: 40e6, 32: 1e6}
    node = Node(lambda setting: rates[setting["flight"]] * (next(swings) if setting["flight"] == 16 else 1.0))
    node.guard.limits = replace(CALM, visit_loss_s=3.0, minute_loss_s=10.0)
    node.steps(6)
    node.step({"pages": 256, "flight": 16})
    node.steps(held)
    node.step({"pages": 256, "flight": 32})
    assert "guard.revert" in node.steps(30)
    assert node.setting == (LUSTRE.default.replace(pages=256, flight=16) if proven else node.original)


def test_harm_that_outlasts_a_visit_is_charged_to_it() -> None:
    scarred = [1.0]
    node = Node(lambda setting: by_flight(setting) * (scarred[0] if setting["flight"] == 8 else 1.0))
    node.steps(5)
    node.step(BAD)
    scarred[0] = 0.5
    assert "guard.revert" in node.steps(6)
    (at_once,) = node.guard.bounds(node.i * 0.5)
    node.steps(60)
    (later,) = node.guard.bounds(node.i * 0.5)
    assert later.lost_s >= at_once.lost_s + 10.0
    assert node.step({"flight": 2}).reason == "guard.loss"


@pytest.mark.parametrize(
    ("gain", "fair_share", "stays"), [(1.5, 1.0, False), (5.0, 1.0, True), (1.5, 0.0, True)]
)
def test_bytes_in_flight_beyond_the_usual_must_pay_for_what_others_may_lose(
    gain: float, fair_share: float, stays: bool
) -> None:
    """Four times the bytes in flight must bring four times as much."""
    limits = replace(CALM, fair_share=fair_share)
    node = Node(lambda setting: 1e8 * (gain if setting["flight"] == 32 else 1.0), limits)
    node.steps(5)
    node.step({"flight": 32})
    reasons = node.steps(8)
    assert ("guard.revert" in reasons) != stays
    assert (node.setting["flight"] == 32) == stays
    assert node.step({"flight": 32}).reason == ("test" if stays else "guard.blacklist")
    node.steps(100)
    assert (node.step({"flight": 32}).reason == "guard.blacklist") != stays


def test_swinging_between_two_settings_breaks_the_circuit() -> None:
    node = Node(lambda setting: 1e8)
    node.steps(5)
    reasons = [node.step({"pages": 256, "flight": 16 if i % 2 else 32}).reason for i in range(8)]
    assert "guard.breaker" in reasons
    assert node.step(GOOD).reason == "guard.breaker"


def test_every_unit_waits_a_time_of_its_own_after_a_pause() -> None:
    waits = set()
    for seed in range(6):
        node = Node(by_flight, GuardLimits(dwell_s=0.0, jitter_s=4.0, reference_windows=1))
        node.guard = Guard(node.guard.limits, seed)
        waits.add(next(i for i in range(20) if node.step(GOOD).changes))
    assert len(waits) > 1


def test_evidence_that_is_not_finite_is_refused() -> None:
    node = Node(by_flight)
    node.steps(5)
    verdict = node.step(GOOD, gain=math.inf)
    assert verdict.reason == "guard.finite"
    assert all(math.isfinite(value) for value in verdict.evidence.values())


def test_a_reconnect_gives_up_a_look_and_quiets_for_a_while() -> None:
    node = Node(by_flight, GuardLimits(jitter_s=0.0, dwell_s=1.4))
    node.steps(5)
    void = Void(A, 2.5, 3.0, VoidReason.RESTARTED)
    assert node.guard.review([void], [], space_of, node.view) == ()
    node.i += 1
    assert node.step(GOOD).reason == "guard.jitter"


def test_the_nodes_dirty_budget_and_memory_hold_whatever_was_decided() -> None:
    for view, reason in ((NodeView(100.0), "guard.cache"), (NodeView(1e6, 0.01), "guard.memory")):
        node = Node(by_flight, CALM, view)
        node.steps(5)
        assert node.step({"dirty": 2047}).reason == reason


def test_a_ban_doubles_and_is_forgiven() -> None:
    first = Ban(0.0, 0).again(0.0, 60.0)
    again = first.again(60.0, 60.0)
    assert (first.until_s, again.until_s) == (60.0, 180.0)
    assert again.again(180.0 + 1200.0, 60.0).strikes == 1


@pytest.mark.parametrize(
    ("metrics", "read", "write"),
    [
        ({"write.bytes": 1e8, "app.write_bytes": 6e8, "dirty.grown_bytes": 5e8}, 0.0, 3e8),
        ({"write.bytes": 0.0, "app.write_bytes": 1e6, "dirty.grown_bytes": 1e6}, 0.0, 2e6),
        ({"write.bytes": 5e6, "app.write_bytes": 1e6, "dirty.grown_bytes": -4e6}, 0.0, 2e6),
        ({"write.bytes": 1e8, "app.write_bytes": 4e8, "dirty.grown_bytes": 0.0}, 0.0, 8e8),
        ({"write.bytes": 1e8}, 0.0, 2e8),
        ({"write.bytes": 1e7, "app.write_bytes": 0.0, "dirty.grown_bytes": -1e7}, 0.0, 2e7),
        ({"read.bytes": 2e8, "app.read_bytes": 1e8}, 2e8, 0.0),
        ({"read.bytes": 2e8}, 4e8, 0.0),
    ],
    ids=[
        "a filling cache",
        "small writes kept",
        "small writes sent",
        "updates in place",
        "nothing known",
        "a slow fsync",
        "wasted readahead",
        "reads on the wire",
    ],
)
def test_what_is_done_for_good_counts(metrics: dict[str, float], read: float, write: float) -> None:
    rates = rates_of(Window(A, 0.0, 0.5, LUSTRE.default, metrics))
    assert (rates.read, rates.write) == (read, write)


def test_fairness_counts_a_starving_reader_and_stops_at_what_others_may_lose() -> None:
    original = Rates(1.5e6, 4e8, 1.0, 8.0)
    assert gain_log2(Rates(4.2e7, 3.96e8, 1.0, 2.0), original) > 1.0
    assert gain_log2(Rates(4.2e7, 3.96e8, 1.0, 2.0), original, "bytes") < 0.2
    assert gain_log2(Rates(8e7, 3e8, 1.0, 2.0), original) < 0.0
    # Stray reads that nobody waits for do not count.
    assert gain_log2(Rates(1e5, 4.4e8, 0.0, 8.0), Rates(1e6, 4e8, 0.01, 8.0)) > 0.1
    assert gain_log2(Rates(2e8, 1e8), Rates(1e8, 1e8), "worst") == 0.0


def test_what_other_targets_lose_counts_while_as_many_of_them_are_busy() -> None:
    def rates(own: float, others: float, busy: float = 2.0) -> Rates:
        return Rates(own * 1e6, 0.0, others=others * 1e6, others_busy=busy)

    original = rates(100.0, 100.0)
    assert gain_log2(rates(150.0, 50.0), original) < -0.5
    assert gain_log2(rates(150.0, 50.0), original, "bytes") == pytest.approx(0.0, abs=1e-6)
    assert gain_log2(rates(150.0, 50.0, busy=1.0), original) == pytest.approx(math.log2(250 / 200), abs=1e-6)
    assert gain_log2(rates(150.0, 100.0), original) > 0.25
    # Others that move next to nothing are not a direction of their own.
    assert gain_log2(rates(150.0, 0.5), rates(100.0, 2.0)) > 0.5


def test_a_look_in_which_nothing_moved_is_not_believed_and_not_repeated_at_once() -> None:
    """Applications may wait for what was written before, so that a look sees nothing."""

    def by_half(setting: Setting) -> float:
        return 1e8 if setting["flight"] == 8 else 1.5e8

    node = Node(by_half)
    node.steps(5)
    node.step(GOOD)
    looks = []
    for _ in range(60):
        verdict = node.step()
        looks.append(verdict.reason)
        # While the original is in force, nothing moves.
        node.rate = (lambda setting: 1.0) if node.setting == LUSTRE.default else by_half
    assert looks.count("guard.return") == 1
    assert node.setting["flight"] == 32


def test_a_setting_found_twice_as_good_needs_no_extra_look_when_the_work_grows() -> None:
    def switchbacks(gain: float) -> int:
        node = Node(lambda setting: 1e8 * (gain if setting["flight"] == 32 else 1.0))
        node.steps(5)
        node.step(GOOD)
        node.steps(40)
        node.rate = lambda setting: 3e8 * (gain if setting["flight"] == 32 else 1.0)
        return node.steps(6).count("guard.switchback")

    assert switchbacks(1.2) > 0
    assert switchbacks(4.0) == 0


def test_setting_that_a_look_does_not_show_to_be_better_is_given_up_without_blame() -> None:
    node = Node(lambda setting: 1e8)
    node.steps(6)
    node.step(GOOD)
    reasons = node.steps(2 * round(CALM.switchback_first_s) + 9)
    assert "guard.unpaid" in reasons
    assert "guard.return" not in reasons
    assert node.setting["flight"] == 8
    assert node.step(GOOD).reason.startswith("guard.")
    (bound,) = node.guard.bounds(node.i * 0.5)
    assert bound.lost_s == 0.0


def test_the_account_is_a_targets_and_counts_seconds_of_work() -> None:
    """A loss is forgotten after ten minutes of work, however long the clock ran meanwhile."""
    node = Node(by_flight)
    node.steps(5)
    (untouched,) = node.guard.bounds(node.i * 0.5)
    assert untouched.lost_s == 0.0
    node.step(BAD)
    node.steps(6)
    (used,) = node.guard.bounds(node.i * 0.5)
    assert 0.0 < used.lost_s < used.most_s == CALM.price * LONG_S
    # An hour without work changes nothing, and nor does other work.
    node.i += 7200
    node.step(work="writes")
    (later,) = node.guard.bounds(node.i * 0.5)
    assert later.lost_s == pytest.approx(used.lost_s)
    node.steps(round(2 * LONG_S) + 2)
    (worked,) = node.guard.bounds(node.i * 0.5)
    assert worked.lost_s == 0.0


def test_one_minute_of_work_costs_no_more_than_its_share() -> None:
    """There is room for ten minutes, and yet no trial until the minute is over."""
    account, limits = Account(), GuardLimits()
    account.work(10.0)
    account.charge(2.5)
    assert account.room_s(limits) == pytest.approx(0.5)
    account.work(61.0)
    assert account.room_s(limits) == pytest.approx(limits.minute_loss_s)
    for _ in range(4):
        account.charge(2.5)
        account.work(61.0)
    assert account.room_s(limits) == pytest.approx(limits.price * LONG_S - 12.5)
    # A refund makes room again.
    account.charge(-2.5)
    assert account.lost_s() == pytest.approx(10.0)


def test_a_trial_that_lost_all_room_leaves_the_way_to_what_was_measured_to_be_better() -> None:
    """Two windows of twice as much are no proof yet, but going there is not expected to cost anything."""
    node = Node(by_flight, replace(CALM, minute_loss_s=1.5, blacklist_s=1.0))
    node.steps(5)
    node.step(GOOD)
    node.steps(3)
    node.step(BAD)
    node.steps(6)
    assert node.setting == LUSTRE.default
    assert node.step({"flight": 2}).reason == "guard.loss"
    assert node.step(GOOD).changes
    assert set(node.steps(12)) == {"test"}


def offered(node: Node) -> Offer:
    """What the guard offers a unit after its last window."""
    moved = {"read.bytes": 5e7, "app.read_bytes": 5e7}
    t_s = (node.i + 1) * 0.5
    window = Window(A, t_s - 0.5, t_s, node.setting, moved, node.original)
    return node.guard.offer(unit_name(A), "reads", [window], window, node.space)


@pytest.mark.parametrize(
    ("steps", "limits", "rule"),
    [
        (1, CALM, "guard.reference"),
        (6, replace(CALM, minute_loss_s=0.5), "guard.loss"),
        (6, replace(CALM, changes_per_hour=0), "guard.budget"),
        (6, replace(CALM, reach=1.0, reach_down=1.0), "guard.reach"),
    ],
)
def test_an_offer_refuses_with_one_sentence_a_rule(steps: int, limits: GuardLimits, rule: str) -> None:
    node = Node(by_flight, limits)
    node.steps(steps)
    offer = offered(node)
    refusal = offer.refusal(Setting(GOOD))
    assert refusal is not None
    assert refusal.rule == rule
    assert refusal.sentence
    assert offer.refusal(node.original.only("pages", "flight")) is None


def test_a_setting_that_did_harm_is_barred_whatever_else_refuses_it() -> None:
    node = Node(by_flight)
    node.steps(6)
    node.step(BAD)
    node.steps(6)
    bad, good = (node.original.replace(each).only("pages", "flight") for each in (BAD, GOOD))
    offer = offered(node)
    offer.record.charge(20.0)
    refusals = [offer.refusal(place) for place in (bad, good)]
    assert [each and each.rule for each in refusals] == ["guard.loss", "guard.loss"]
    assert [offer.is_barred(place) for place in (bad, good)] == [True, False]


def test_the_mask_is_what_a_review_lets_through() -> None:
    grid = LUSTRE.candidates()
    node = Node(by_flight)
    node.steps(5)
    node.step(BAD)
    node.steps(6)
    offer = offered(node)
    mask = [offer.refusal(setting) is None for setting in grid]
    assert 0 < sum(mask) < len(grid)
    for allowed, setting in list(zip(mask, grid, strict=True))[::9]:
        again = Node(by_flight)
        again.steps(5)
        again.step(BAD)
        again.steps(6)
        verdict = again.step(dict(setting))
        assert verdict.reason.startswith("guard.") != allowed


def test_a_guard_that_does_not_enforce_allows_everything_and_orders_nothing() -> None:
    node = Node(by_flight)
    node.guard = Guard(CALM, enforces=False)
    assert set(node.steps(40, BAD)) == {"test"}
    offer = offered(node)
    assert {offer.refusal(setting) for setting in LUSTRE.candidates()} == {None}
    assert not offer.busy


def rewrites(
    file_bytes: float,
    wish: dict[str, int],
    limits: GuardLimits = CALM,
    drains: float = 0.5,
    happens: Mapping[int, Mapping[str, float]] | None = None,
) -> tuple[Setting, list[str]]:
    """A set of so many bytes rewritten at random: app = wire / (1 - d/F). The default sends 100 MB/s and keeps a
    tenth dirty, the wish sends `drains` of that and keeps four fifths. What is decided within half a minute, where
    in some intervals other things happen.
    """
    guard, setting, said = Guard(limits), LUSTRE.default, []
    for i in range(60):
        away = setting != LUSTRE.default
        wire, share = (1e8 * drains, 0.8) if away else (1e8, 0.1)
        app = wire / (1.0 - share)
        metrics = {
            "write.bytes": wire / 2,
            "write.rpcs": wire / 2 / 4e6,
            "write.usec": 7.5e6 / 2,
            "app.write_bytes": app / 2,
            "app.write_calls": app / 2e6,
            "dirty.bytes": share * file_bytes,
            "dirty.grown_bytes": 0.0,
        } | dict((happens or {}).get(i, {}))
        window = Window(A, i / 2, i / 2 + 0.5, setting, metrics, LUSTRE.default)
        wanted = setting.replace(wish) if i in (10, 40, 55) else setting
        decision = Decision(f"d{i}", i / 2, A, setting, wanted, "test", "test", {}, 0.9, work="writes")
        (verdict,) = guard.review([window], [decision], space_of, NodeView())
        setting = verdict.wanted
        said.append(verdict.reason)
    return setting, said


SLOW = {"pages": 256, "flight": 1}


def test_rewriting_that_fits_into_memory_is_tried_and_kept() -> None:
    setting, said = rewrites(2.5e8, SLOW)
    assert setting.only("pages", "flight") == Setting(SLOW)
    assert not any(reason.startswith("guard.") for reason in said)


def test_rewriting_that_would_leave_too_much_unsent_is_refused() -> None:
    setting, said = rewrites(2e9, SLOW)
    assert setting == LUSTRE.default
    assert said[10] == "guard.drain"
    # With more patience it may.
    assert rewrites(2e9, SLOW, replace(CALM, unsent_s=60.0))[0] != LUSTRE.default


def test_rewriting_that_hardly_sends_is_given_up_whatever_it_brings() -> None:
    setting, said = rewrites(2.5e8, SLOW, drains=0.25)
    assert said[10] == "test"
    assert "guard.unpaid" in said
    assert setting == LUSTRE.default
    assert rewrites(2.5e8, SLOW, replace(CALM, least_drain=0.1), drains=0.25)[0] != LUSTRE.default


def test_where_gains_of_the_cache_are_not_wanted_rewriting_is_left_alone() -> None:
    setting, said = rewrites(2.5e8, SLOW, replace(CALM, cache_gains=False))
    assert (setting, said[10]) == (LUSTRE.default, "guard.cached")


STOPPED = {"app.write_bytes": 0.0, "app.write_calls": 0.0, "dirty.grown_bytes": -2.5e7}


@pytest.mark.parametrize("what", [{"app.fsyncs": 1.0}, {"app.closes": 1.0}, STOPPED])
def test_what_waits_is_sent_in_the_interval_in_which_the_program_ends_its_writing(
    what: dict[str, float],
) -> None:
    """It may be tried again 5 s later."""
    setting, said = rewrites(2.5e8, SLOW, happens={28: what})
    assert said[28] == "guard.send"
    assert not any(reason.startswith("guard.") for reason in (*said[:28], *said[29:]))
    assert setting.only("pages", "flight") == Setting(SLOW)


def test_a_program_that_ends_its_writing_again_and_again_is_left_alone_for_longer() -> None:
    ends = {i: {"app.fsyncs": 1.0} for i in (14, 28, 42)}
    few, said = rewrites(2.5e8, SLOW, happens=dict(list(ends.items())[:1]))
    assert (said[14], said[40]) == ("guard.send", "test")
    ends = {i: {"app.fsyncs": 1.0, "dirty.bytes": 2e8} for i in (14, 28, 42)}
    often, said = rewrites(2.5e8, SLOW, happens=ends)
    assert (said[42], said[55]) == ("guard.send", "guard.drain")
    assert (few.only("pages", "flight"), often) == (Setting(SLOW), LUSTRE.default)


def test_a_stall_that_the_writer_has_always_had_is_no_end_of_writing() -> None:
    # At the original twice as much is sent, so twice as much leaves the pile.
    at_home = {i: {**STOPPED, "dirty.grown_bytes": -5e7} for i in (6, 7)}
    stalls = {**at_home, **dict.fromkeys((20, 21, 33), STOPPED)}
    setting, said = rewrites(2.5e8, SLOW, happens=stalls)
    assert "guard.send" not in said
    assert setting.only("pages", "flight") == Setting(SLOW)
    assert "guard.send" in rewrites(2.5e8, SLOW, happens={**stalls, 34: STOPPED, 35: STOPPED})[1]


def test_files_that_are_closed_all_the_time_end_nothing() -> None:
    closes = {i: {"app.closes": 3.0} for i in range(60)}
    setting, said = rewrites(2.5e8, SLOW, happens=closes)
    assert setting.only("pages", "flight") == Setting(SLOW)
    assert "guard.send" not in said


def test_a_setting_that_hardly_sends_gives_way_to_a_proven_one() -> None:
    """Both bring more than the original. The slower one is given up for the one that sends enough."""
    guard, setting, said = Guard(CALM), LUSTRE.default, []
    sends = {8: (1e8, 0.1), 2: (5e7, 0.8), 1: (1e7, 0.97)}
    for i in range(60):
        wire, share = sends[setting["flight"]]
        metrics = {
            "write.bytes": wire / 2,
            "write.rpcs": wire / 8e6,
            "write.usec": 3.75e6,
            "app.write_bytes": wire / (1.0 - share) / 2,
            "app.write_calls": wire / (1.0 - share) / 2e6,
            "dirty.bytes": share * 2.5e8,
            "dirty.grown_bytes": 0.0,
        }
        window = Window(A, i / 2, i / 2 + 0.5, setting, metrics, LUSTRE.default)
        wanted = setting.replace(flight=2 if i == 10 else 1) if i in (10, 30) else setting
        decision = Decision(f"d{i}", i / 2, A, setting, wanted, "test", "test", {}, 0.9, work="writes")
        (verdict,) = guard.review([window], [decision], space_of, NodeView())
        setting = verdict.wanted
        said.append(verdict.reason)
    assert said.count("guard.unpaid") == 1
    assert setting["flight"] == 2
    # What memory does of the gain, and what waits, is told with it.
    effects = guard.effects()
    assert any(
        e.memory_bytes_per_s == pytest.approx(2e8) and e.unsent_bytes == pytest.approx(2e8) for e in effects
    )


@pytest.mark.parametrize(
    ("windows", "certain"), [((1.6e8, 1.5e8, 1.55e8), True), ((3e8, 0.4e8, 1.2e8), False)]
)
def test_a_way_back_must_be_certain_where_changes_have_cost_too_much(
    windows: tuple[float, ...], certain: bool
) -> None:
    """Three windows say that both bring one and a half times the original; only of one they say it for sure."""
    node = Node(by_flight)
    node.steps(12)
    measured = MeasuredSetting()
    for at, rate in enumerate(windows):
        measured.take(Rates(rate, 0.0), at)
    good = Setting(GOOD)
    offer = offered(node)
    offer.work.known.measured[good] = measured
    assert offer.refusal(good) is None
    offer.record.charge(20.0)
    refusal = offer.refusal(good)
    assert (refusal is None) == certain
    assert refusal is None or refusal.rule == "guard.loss"
