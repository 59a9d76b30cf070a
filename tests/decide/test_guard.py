"""The guard's rules, each on a history that calls for it."""

from __future__ import annotations

import pytest

from penstock.decide.guard import Guard, GuardLimits, NodeView
from penstock.decide.guard.record import Ban, useful_bytes_per_s
from penstock.decision import Decision
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Void, VoidReason, Window

A, B = (Target(f"fs-OST000{i}-osc-1", "fs", f"OST000{i}") for i in range(2))
CALM = GuardLimits(jitter_s=0.0, dwell_s=0.0)


class Node:
    """Two targets whose decisions the test dictates and whose settings follow the guard's verdicts."""

    def __init__(self, limits: GuardLimits = CALM, view: NodeView | None = None) -> None:
        self.guard = Guard(limits)
        self.view = view or NodeView()
        self.settings = {A: LUSTRE.default, B: LUSTRE.default}
        self.i = 0

    def step(
        self,
        rate: float,
        wanted: dict[str, int] | None = None,
        confidence: float = 0.95,
        control: float = 0.0,
        direction: str = "write",
    ) -> Decision:
        """One interval: A moves `rate` bytes a second and its policy wants a setting; B only moves bytes."""
        self.i += 1
        t_s = self.i * 0.5
        seen = [self._window(A, t_s, rate, direction), self._window(B, t_s, control)]
        before = self.settings[A]
        decision = Decision(
            f"d{self.i}", t_s, A, before, before.replace(wanted or {}), "test", "test", {}, confidence
        )
        (verdict,) = self.guard.review(seen, [decision], space_of, self.view)
        self.settings[A] = LUSTRE.settle(before, {c.knob_id: c.new for c in verdict.changes})
        return verdict

    def _window(self, target: Target, t_s: float, rate: float, direction: str = "write") -> Window:
        return Window(target, t_s - 0.5, t_s, self.settings[target], {f"{direction}.bytes": rate * 0.5})


def space_of(target: Target) -> KnobSpace:
    return LUSTRE


def test_guard_lets_a_change_through_that_does_good() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e8)
    assert node.step(1e8, {"flight": 16}).changes
    for _ in range(5):
        assert node.step(2e8).reason == "test"
    assert node.settings[A]["flight"] == 16


def test_guard_takes_back_a_change_that_does_harm_and_blacklists_it() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e8)
    node.step(1e8, {"flight": 1})
    verdicts = [node.step(3e7) for _ in range(4)]
    reverts = [verdict for verdict in verdicts if verdict.reason == "guard.revert"]
    assert len(reverts) == 1
    assert reverts[0].evidence["before_bytes_per_s"] == 1e8
    assert node.settings[A] == LUSTRE.default
    assert node.step(1e8, {"flight": 1}).reason == "guard.blacklist"


def test_guard_takes_back_slow_harm_after_longer_looking() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e8)
    node.step(1e8, {"flight": 1})
    reasons = [node.step(7e7).reason for _ in range(12)]
    assert reasons.index("guard.revert") == CALM.judge_windows
    assert node.settings[A] == LUSTRE.default


def test_guard_judges_changes_that_follow_each_other_against_what_was_before_the_first() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e8)
    for i in range(20):
        verdict = node.step(1e8 * 0.97**i, {"flight": 2 ** (i % 5 + 4)} if i % 3 == 0 else None)
        if verdict.reason == "guard.revert":
            break
    assert verdict.reason == "guard.revert"
    assert verdict.wanted == LUSTRE.default


@pytest.mark.parametrize(
    ("metrics", "useful"),
    [
        ({"write.bytes": 1e8, "app.write_bytes": 6e8, "cache_update_bytes": 0.0}, 2e8),
        ({"write.bytes": 1e8, "app.write_bytes": 4e8, "cache_update_bytes": 3e8}, 8e8),
        ({"write.bytes": 1e8}, 2e8),
        ({"read.bytes": 2e8, "app.read_bytes": 1e8}, 2e8),
        ({"read.bytes": 2e8, "app.read_bytes": None}, 4e8),
    ],
    ids=["a filling cache", "updates in place", "nothing known", "wasted readahead", "reads on the wire"],
)
def test_guard_counts_what_is_done_for_good(metrics: dict[str, float | None], useful: float) -> None:
    assert useful_bytes_per_s(Window(A, 0.0, 0.5, LUSTRE.default, metrics)) == useful


def test_guard_does_not_blame_a_change_for_what_happens_to_everybody() -> None:
    node = Node()
    for _ in range(6):
        node.step(1e8, control=1e8)
    node.step(1e8, {"flight": 16}, control=1e8)
    reasons = {node.step(4e7, control=4e7).reason for _ in range(3)}
    assert reasons == {"test"}


def test_guard_judges_a_change_by_the_work_it_was_made_for() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e8)
    node.step(1e8, {"flight": 1})
    assert {node.step(3e7, direction="read").reason for _ in range(15)} == {"test"}
    reasons = [node.step(3e7).reason for _ in range(4)]
    assert "guard.revert" in reasons
    assert node.settings[A] == LUSTRE.default


def test_guard_measures_a_change_against_the_work_of_the_moment() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e9)
    node.step(1e9, {"flight": 16})
    for _ in range(4):
        node.step(1e8, direction="read")
    node.step(1e8, {"flight": 1}, direction="read")
    reasons = [node.step(2e7, direction="read").reason for _ in range(4)]
    assert "guard.revert" in reasons
    assert node.settings[A]["flight"] == 16


def test_guard_does_not_undo_what_somebody_else_set_meanwhile() -> None:
    node = Node()
    for _ in range(3):
        node.step(1e8)
    node.step(1e8, {"flight": 1})
    node.step(3e7)
    node.step(3e7)
    node.settings[A] = LUSTRE.default.replace(flight=77)
    for _ in range(4):
        node.step(3e7)
    assert node.settings[A]["flight"] == 77


def test_guard_holds_a_setting_for_the_dwell_time() -> None:
    node = Node(GuardLimits(jitter_s=0.0, dwell_s=1.4))
    node.step(1e8, {"flight": 16})
    refused = [node.step(1e8, {"flight": 32}).reason for _ in range(3)]
    assert refused == ["guard.dwell", "guard.dwell", "test"]


def test_guard_returns_to_a_setting_just_left_only_when_sure() -> None:
    node = Node()
    node.step(1e8, {"flight": 16})
    assert node.step(1e8, {"flight": 8}, confidence=0.85).reason == "guard.hysteresis"
    assert node.step(1e8, {"flight": 8}, confidence=0.95).reason == "test"


def test_guard_spends_at_most_its_changes_an_hour() -> None:
    node = Node(GuardLimits(jitter_s=0.0, dwell_s=0.0, changes_per_hour=5, breaker_reverts=99))
    values = [1, 2, 4, 16, 32, 64, 128, 256]
    reasons = [node.step(1e8, {"flight": value}).reason for value in values]
    assert reasons == ["test"] * 5 + ["guard.budget"] * 3


def test_guard_breaks_the_circuit_after_swinging() -> None:
    node = Node()
    reasons = [node.step(1e8, {"flight": 16 if i % 2 == 0 else 8}).reason for i in range(7)]
    assert reasons[:6] == ["test"] * 6
    assert reasons[6] == "guard.breaker"
    assert node.step(1e8, {"flight": 64}).reason == "guard.breaker"


def test_guard_breaks_the_circuit_after_many_reverts() -> None:
    node = Node(GuardLimits(jitter_s=0.0, dwell_s=0.0, blacklist_s=0.1, breaker_reverts=2))
    for flight in (1, 2):
        for _ in range(7):
            node.step(1e8)
        node.step(1e8, {"flight": flight})
        for _ in range(4):
            node.step(2e7 if node.settings[A]["flight"] == flight else 1e8)
    assert node.step(1e8, {"flight": 64}).reason == "guard.breaker"


def test_guard_waits_a_time_of_its_own_after_a_pause() -> None:
    first = {}
    for seed in range(20):
        guard = Guard(GuardLimits(jitter_s=5.0, dwell_s=0.0), seed)
        for i in range(1, 12):
            seen = [Window(A, i * 0.5 - 0.5, i * 0.5, LUSTRE.default, {"write.bytes": 5e7})]
            wish = Decision("d", i * 0.5, A, LUSTRE.default, LUSTRE.default.replace(flight=16), "t", "t")
            if guard.review(seen, [wish], space_of, NodeView())[0].changes:
                first[seed] = i
                break
    assert len(first) == 20
    assert len(set(first.values())) > 3


def test_guard_cools_down_after_a_void_window() -> None:
    guard = Guard(GuardLimits(jitter_s=0.0, dwell_s=1.4))
    wish = Decision("d", 1.0, A, LUSTRE.default, LUSTRE.default.replace(flight=16), "t", "t")
    seen = [Void(A, 0.5, 1.0, VoidReason.RESTARTED)]
    assert guard.review(seen, [wish], space_of, NodeView())[0].reason == "guard.jitter"


def test_guard_keeps_the_nodes_dirty_limits_within_their_budget() -> None:
    node = Node(view=NodeView(dirty_budget_mib=4020))
    assert node.step(1e8, {"dirty": 2047}).reason == "guard.cache"
    assert node.step(1e8, {"dirty": 1024}).reason == "test"


def test_guard_counts_the_systems_own_coupling_against_the_budget() -> None:
    node = Node(view=NodeView(dirty_budget_mib=2500))
    node.settings[A] = Setting(pages=1024, flight=8, dirty=32)
    assert node.step(1e8, {"flight": 256}).reason == "guard.cache"


def test_guard_raises_no_dirty_limit_while_memory_is_short() -> None:
    node = Node(view=NodeView(memory_available_ratio=0.02))
    assert node.step(1e8, {"dirty": 2047}).reason == "guard.memory"
    assert node.step(1e8, {"dirty": 512}).reason == "test"


def test_guard_says_what_was_wished() -> None:
    node = Node(GuardLimits(jitter_s=0.0, dwell_s=10.0))
    node.step(1e8, {"flight": 16})
    assert "wished: flight 16 -> 32" in node.step(1e8, {"flight": 32}).sentence


@pytest.mark.parametrize(("gap_s", "length_s"), [(0.0, 20.0), (50.0, 20.0), (500.0, 10.0)])
def test_ban_doubles_and_decays(gap_s: float, length_s: float) -> None:
    first = Ban(0.0, 0).again(0.0, 10.0)
    assert (first.until_s, first.strikes) == (10.0, 1)
    later_s = first.until_s + gap_s
    assert first.again(later_s, 10.0).until_s == later_s + length_s


def test_guard_same_history_same_verdicts() -> None:
    def run() -> list[tuple[str, Setting]]:
        node = Node(GuardLimits())
        steps = [node.step(1e8 / (1 + i % 5), {"flight": 2 ** (i % 9)}) for i in range(60)]
        return [(verdict.reason, verdict.wanted) for verdict in steps]

    assert run() == run()
