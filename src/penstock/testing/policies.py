"""What every policy owes its users. Call `check_policy` from a test with whatever builds yours.

def test_my_policy_obeys():
    check_policy(lambda space, rng: MyPolicy(space, rng))
"""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random

from penstock.decide.guard import Guard, NodeView
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.work import dominant
from penstock.decision import Decision, Outlook, unit_name
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, lustre
from penstock.testing.predictors import FakePredictor
from penstock.units import GIB, PAGE_BYTES
from penstock.window import DIRECTIONS, Window

PolicyFactory = Callable[[KnobSpace, Random], Policy]
TARGET = Target("suite-OST0000-osc-0", "suite", "OST0000")
INTERVAL_S = 0.5
STARTS = 8
MODEL = FakePredictor()


class AskedPolicy:
    """A policy of one target, asked as a tuner asks it: it gets an offer with every window if it reads offers."""

    def __init__(self, policy: Policy, guard: Guard | None = None, work: str = "work") -> None:
        self.policy, self.work = policy, work
        self.guard = guard or Guard(enforces=False)

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """What the policy itself wants."""
        space = self.policy.space
        if self.policy.reads_offers:
            unit = unit_name(window.target)
            self.policy.offered(self.guard.offer(unit, self.work, [window], window, space))
        proposal = self.policy.propose(window, outlook)
        self.decision = Decision(
            f"d{window.t1_s}",
            window.t1_s,
            window.target,
            window.setting,
            proposal.setting,
            proposal.reason,
            proposal.sentence,
            proposal.evidence,
            proposal.confidence,
            unit=unit_name(window.target),
            work=self.work,
        )
        (self.verdict,) = self.guard.review([window], [self.decision], lambda _: space, NodeView())
        return proposal


def check_policy(make: PolicyFactory) -> None:
    """Every check of the suite, each on a policy of its own. Raises AssertionError at the first breach."""
    check_proposals_stay_inside_the_space(make)
    check_proposals_say_why(make)
    check_equal_seeds_give_equal_proposals(make)
    check_idle_targets_are_survived(make)
    check_a_foreign_change_is_survived(make)
    for seed in range(STARTS):
        check_any_legal_start_is_survived(make, seed)


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
    asked = AskedPolicy(make(LUSTRE, Random(1)))
    for i in range(20):
        LUSTRE.check(asked.propose(_window(LUSTRE.default, i, 0.0)).setting)


def check_a_foreign_change_is_survived(make: PolicyFactory) -> None:
    """Somebody else may set any value at any time, candidates or not."""
    asked = AskedPolicy(make(LUSTRE, Random(1)))
    for i, flight in enumerate((8, 8, 3, 3, 200, 200, 1, 1, 256, 7)):
        window = _window(LUSTRE.default.replace(flight=flight, dirty=77), i, 1e8)
        LUSTRE.check(asked.propose(window, _outlook(MODEL, LUSTRE, window)).setting)


def check_any_legal_start_is_survived(make: PolicyFactory, seed: int) -> None:
    """A target may start at any value its bounds allow, and look like anything.

    Seventy windows of random work from one random setting of all knobs, with a fake model's word: whatever is
    proposed lies inside the bounds, is explained, and is based on finite numbers only.
    """
    rng = Random(seed)
    space = rng.choice((LUSTRE, lustre(2 * GIB), lustre(pages_ceiling=4096), lustre(pages_floor=16)))
    setting, asked, model = (
        random_setting(space, rng),
        AskedPolicy(make(space, Random(seed))),
        FakePredictor(seed),
    )
    for i in range(70):
        if rng.random() < 0.03:
            setting = random_setting(space, rng)
        window = _random_window(setting, i, rng)
        proposal = asked.propose(window, _outlook(model, space, window) if rng.random() < 0.9 else None)
        _check_answer(proposal, window)
        if rng.random() < 0.8:
            setting = space.settle(setting, _moved(setting, proposal.setting, space))


def random_setting(space: KnobSpace, rng: Random) -> Setting:
    """Any legal value of every knob, by ratio, candidates or not."""
    return Setting(
        {
            k.id: _between(max(k.floor, 1), k.ceiling, rng) if rng.random() < 0.95 else k.floor
            for k in space.knobs
        }
    )


def _between(low: int, high: int, rng: Random) -> int:
    return min(high, max(low, round(low * math.exp(rng.random() * math.log(high / low)))))


def _moved(before: Setting, wanted: Setting, space: KnobSpace) -> dict[str, int]:
    """What a tuner writes: the knobs that differ, which must lie inside the bounds."""
    moved = {knob_id: value for knob_id, value in wanted.items() if value != before[knob_id]}
    space.check(moved)
    return moved


def _check_answer(proposal: Proposal, window: Window) -> None:
    assert set(proposal.setting) == set(window.setting), f"knobs got lost: {proposal.setting}"
    assert proposal.reason.strip(), "a proposal without a reason"
    assert proposal.sentence.strip(), "a proposal without a sentence"
    for name, value in {"confidence": proposal.confidence, **proposal.evidence}.items():
        assert value is None or math.isfinite(value), (
            f"{name} is {value} at {window.setting}: {proposal.sentence}"
        )


def _outlook(model: FakePredictor, space: KnobSpace, window: Window) -> Outlook:
    """What a tuner would hand over with this window, for the direction that moved more."""
    return model.outlooks(dominant(window), [[window]], space.candidates())[0]


def _random_window(setting: Setting, i: int, rng: Random) -> Window:
    """Anything counters may say: much, little or nothing, in either direction, with gaps."""
    metrics = {"dirty.bytes": rng.random() * 1e9, "dirty.grown_bytes": rng.uniform(-1e8, 1e8)}
    for direction in DIRECTIONS:
        moved = rng.choice((0.0, 4096.0, 10 ** rng.uniform(3, 10)))
        rpcs = moved / 2 ** rng.uniform(12, 22)
        metrics |= {f"{direction}.bytes": moved, f"{direction}.rpcs": rpcs}
        if rng.random() < 0.9:
            metrics[f"{direction}.usec"] = rpcs * 10 ** rng.uniform(2, 6)
        if rng.random() < 0.7:
            calls = float(rng.randrange(1, 10**5))
            metrics |= {
                f"app.{direction}_bytes": calls * 2 ** rng.uniform(0, 24),
                f"app.{direction}_calls": calls,
            }
    return Window(TARGET, i * INTERVAL_S, (i + 1) * INTERVAL_S, setting, metrics)


def _follow(make: PolicyFactory, space: KnobSpace, windows: int) -> list[Proposal]:
    """What a policy proposes window by window, mostly with an outlook: models may be missing for a while."""
    asked, setting, seen = AskedPolicy(make(space, Random(1))), space.default, []
    for i in range(windows):
        rate = 1e8 * min(setting["flight"], 40) ** 0.5 + 1e4 * setting["pages"]
        window = _window(setting, i, rate)
        proposal = asked.propose(window, _outlook(MODEL, space, window) if i % 7 != 3 else None)
        setting = space.settle(setting, proposal.setting)
        seen.append(proposal)
    return seen


def _window(setting: Setting, i: int, bytes_per_s: float) -> Window:
    """Reads in the first half of every twenty windows, writes in the second."""
    busy = DIRECTIONS[(i // 10) % 2] if bytes_per_s else None
    metrics = {"dirty.bytes": 2e8, "dirty.grown_bytes": 0.0}
    for direction in DIRECTIONS:
        moved = bytes_per_s * INTERVAL_S if direction == busy else 0.0
        rpcs = moved / (setting["pages"] * PAGE_BYTES / 2)
        usec = 0.9 * setting["flight"] * INTERVAL_S * 1e6 if moved else 0.0
        metrics |= {f"{direction}.bytes": moved, f"{direction}.rpcs": rpcs, f"{direction}.usec": usec}
    return Window(TARGET, i * INTERVAL_S, (i + 1) * INTERVAL_S, setting, metrics)
