"""What every policy owes its users. Call `check_policy` from a test with whatever builds yours.

def test_my_policy_obeys():
    check_policy(lambda space, rng: MyPolicy(space, rng))
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from penstock.decide.policies._base import Policy, Proposal
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, lustre
from penstock.units import GIB
from penstock.window import DIRECTIONS, Window

PolicyFactory = Callable[[KnobSpace, Random], Policy]
TARGET = Target("suite-OST0000-osc-0", "suite", "OST0000")
INTERVAL_S = 0.5


def check_policy(make: PolicyFactory) -> None:
    """Every check of the suite, each on a policy of its own. Raises AssertionError at the first breach."""
    check_proposals_stay_inside_the_space(make)
    check_proposals_say_why(make)
    check_equal_seeds_give_equal_proposals(make)
    check_idle_targets_are_survived(make)
    check_a_foreign_change_is_survived(make)


def check_proposals_stay_inside_the_space(make: PolicyFactory) -> None:
    """Also on a small node, and on a target that refuses small requests."""
    for space in (LUSTRE, lustre(2 * GIB), lustre(pages_floor=16, pages_ceiling=256)):
        for proposal in _follow(make, space, windows=150):
            space.check(proposal.setting)
            assert set(proposal.setting) == set(space.ids), f"knobs got lost: {proposal.setting}"


def check_proposals_say_why(make: PolicyFactory) -> None:
    """A short code for machines, a sentence for people."""
    for proposal in _follow(make, LUSTRE, windows=60):
        assert proposal.reason.strip(), "a proposal without a reason"
        assert " " not in proposal.reason, f"a reason is one word, got {proposal.reason!r}"
        assert proposal.sentence.strip(), "a proposal without a sentence"


def check_equal_seeds_give_equal_proposals(make: PolicyFactory) -> None:
    """No clock, no global chance, no memory of other targets."""
    assert _follow(make, LUSTRE, windows=100) == _follow(make, LUSTRE, windows=100)


def check_idle_targets_are_survived(make: PolicyFactory) -> None:
    """Nothing was transferred, so ratios are None; that is a window like any other."""
    policy = make(LUSTRE, Random(1))
    for i in range(20):
        LUSTRE.check(policy.propose(_window(LUSTRE.default, i, 0.0)).setting)


def check_a_foreign_change_is_survived(make: PolicyFactory) -> None:
    """Somebody else may set any value at any time, candidates or not."""
    policy = make(LUSTRE, Random(1))
    for i, flight in enumerate((8, 8, 3, 3, 200, 200, 1, 1, 256, 7)):
        proposal = policy.propose(_window(LUSTRE.default.replace(flight=flight, dirty=77), i, 1e8))
        LUSTRE.check(proposal.setting)


def _follow(make: PolicyFactory, space: KnobSpace, windows: int) -> list[Proposal]:
    policy, setting, seen = make(space, Random(1)), space.default, []
    for i in range(windows):
        rate = 1e8 * min(setting["flight"], 40) ** 0.5 + 1e4 * setting["pages"]
        proposal = policy.propose(_window(setting, i, rate))
        setting = space.settle(setting, proposal.setting)
        seen.append(proposal)
    return seen


def _window(setting: Setting, i: int, bytes_per_s: float) -> Window:
    """Reads in the first half of every twenty windows, writes in the second."""
    busy = DIRECTIONS[(i // 10) % 2] if bytes_per_s else None
    metrics: dict[str, float | None] = {"dirty.utilisation": 0.1, "cache_update_bytes": 0.0}
    for direction in DIRECTIONS:
        moved = bytes_per_s * INTERVAL_S if direction == busy else 0.0
        metrics[f"{direction}.bytes"] = moved
        metrics[f"{direction}.page_utilisation"] = 0.5 if moved else None
        metrics[f"{direction}.channel_utilisation"] = 0.9 if moved else None
        metrics[f"{direction}.page_latency_us"] = 20.0 if moved else None
    return Window(TARGET, i * INTERVAL_S, (i + 1) * INTERVAL_S, setting, metrics)
