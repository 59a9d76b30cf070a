from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.decide.belief import Forecast, Measured, believe
from penstock.decide.policies.weir import KEPT_RATES, Episode, WeirPolicy
from penstock.decide.work import Work, echo_windows, work_of
from penstock.decision import Outlook
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

GRID = LUSTRE.grid("pages", "flight")
HERE = LUSTRE.default.only("pages", "flight")
TARGET = Target("t-OST0000-osc-0", "t", "OST0000")


class World:
    """A target whose every setting brings a fixed rate, and a forecast that may be wrong about it."""

    def __init__(self, rates: dict[Setting, float], gains: np.ndarray, request: int = 1 << 20) -> None:
        self.rates, self.gains, self.request = rates, gains, request
        self.policy = WeirPolicy(LUSTRE, Random(1))
        self.setting, self.t_s = LUSTRE.default, 0.0
        self.moves: list[Setting] = []

    def run(self, windows: int, direction: str = "read") -> None:
        for _ in range(windows):
            rate = self.rates.get(self.setting.only("pages", "flight"), 1e8)
            moved = rate * 0.5
            metrics = {
                f"{direction}.bytes": moved,
                f"app.{direction}_bytes": moved,
                f"app.{direction}_calls": moved / self.request,
            }
            window = Window(TARGET, self.t_s, self.t_s + 0.5, self.setting, metrics)
            here = GRID.index(self.setting.only("pages", "flight"))
            gains = self.gains - self.gains[here]
            outlook = Outlook(direction, GRID, [0.5] * 99, True, "m", gains.tolist(), [0.15] * 99)
            proposal = self.policy.propose(window, outlook)
            self.t_s += 0.5
            if proposal.setting != self.setting:
                self.setting = LUSTRE.settle(self.setting, proposal.setting)
                self.moves.append(self.setting)


def test_weir_goes_where_the_forecast_is_right_and_rests() -> None:
    best = Setting(pages=256, flight=64)
    gains = np.zeros(99)
    gains[GRID.index(best)] = 1.0
    world = World({best: 2e8}, gains)
    world.run(100)
    assert world.setting.only("pages", "flight") == best
    assert len(world.moves) <= 3


def test_weir_returns_when_the_forecast_is_wrong() -> None:
    trap = Setting(pages=1, flight=1)
    gains = np.zeros(99)
    gains[GRID.index(trap)] = 1.0
    world = World({trap: 1e7}, gains)
    world.run(100)
    assert world.moves[0].only("pages", "flight") == trap
    assert world.setting.only("pages", "flight") != trap
    assert world.moves.count(world.moves[0]) == 1


def test_weir_leaves_a_target_alone_where_nothing_promises_more() -> None:
    world = World({}, np.full(99, -0.5) + 0.5 * (np.arange(99) == GRID.index(HERE)))
    world.run(200)
    assert world.moves == []


def test_weir_remembers_work_that_returns() -> None:
    best = Setting(pages=64, flight=32)
    gains = np.zeros(99)
    gains[GRID.index(best)] = 1.0
    world = World({best: 2e8}, gains, request=1 << 20)
    world.run(60)
    world.request, world.rates = 1 << 13, {HERE: 2e8, best: 1e7}
    world.gains = np.zeros(99)
    world.gains[GRID.index(HERE)] = 2.0
    world.run(60)
    assert world.setting.only("pages", "flight") == HERE
    world.request, world.rates, world.gains = 1 << 20, {best: 2e8}, np.zeros(99)
    before = len(world.moves)
    world.run(12)
    assert [move.only("pages", "flight") for move in world.moves[before:]] == [best]


def test_weir_tells_three_kinds_of_work_apart_again_and_again() -> None:
    world = World({}, np.zeros(99))
    for turn in range(9):
        world.request, world.rates = 1 << (12 + 4 * (turn % 3)), {HERE: 1e8 * (1 + turn % 3)}
        world.run(8)
    assert len(world.policy._past) == 3


def test_weir_moves_at_once_on_a_promise_beyond_doubt() -> None:
    best = Setting(pages=256, flight=64)
    waited = {}
    for gain in (0.2, 2.0):
        gains = np.zeros(99)
        gains[GRID.index(best)] = gain
        world = World({best: 1e8 * 2**gain}, gains)
        while not world.moves:
            world.run(1)
        waited[gain] = world.t_s
    assert waited[2.0] < waited[0.2]


def test_weir_doubts_what_it_knew_when_work_resumes_and_brings_something_else() -> None:
    world = World({}, np.zeros(99))
    world.run(30)
    world.rates, world.t_s = {HERE: 3e8}, world.t_s + 60.0
    world.run(30)
    world.rates, world.t_s = {}, world.t_s + 60.0
    world.run(30)
    first, second = world.policy._past
    assert first.measured[HERE].mean == pytest.approx(3e8)
    assert second.measured[HERE].mean == pytest.approx(1e8)


def test_weir_gives_readers_more_in_flight_for_a_clear_gain_and_writers_never() -> None:
    larger = Setting(pages=1024, flight=64)
    gains = np.zeros(99)
    gains[GRID.index(larger)] = 1.0
    moves = {}
    for direction in ("read", "write"):
        world = World({larger: 2e8}, gains)
        world.run(60, direction)
        moves[direction] = [move.only("pages", "flight") for move in world.moves]
    assert moves == {"read": [larger], "write": []}


def test_weir_lets_a_writer_return_to_the_default() -> None:
    smaller = Setting(pages=64, flight=2)
    gains = np.zeros(99)
    gains[GRID.index(smaller)] = 1.0
    world = World({smaller: 1e7}, gains)
    world.run(100, "write")
    assert [move.only("pages", "flight") for move in world.moves][:2] == [smaller, HERE]


def test_weir_waits_while_old_writes_drain_under_a_reader() -> None:
    metrics = {"read.bytes": 1e8, "write.bytes": 1e8, "app.read_bytes": 1e8, "app.write_bytes": 0.0}
    window = Window(TARGET, 0.0, 0.5, LUSTRE.default, metrics)
    outlook = Outlook("read", GRID, [0.5] * 99, True, "m", [3.0] * 99, [0.1] * 99)
    policy = WeirPolicy(LUSTRE, Random(1))
    proposals = [policy.propose(window, outlook) for _ in range(20)]
    assert {proposal.reason for proposal in proposals} == {"draining"}
    assert not any(proposal.decided for proposal in proposals)


def test_weir_keeps_no_more_of_a_long_rest_than_of_a_short_one() -> None:
    world = World({}, np.full(99, -0.5) + 0.5 * (np.arange(99) == GRID.index(HERE)))
    world.run(2 * KEPT_RATES)
    assert world.moves == []
    assert len(world.policy._rates) == KEPT_RATES


def one_by_one(policy: WeirPolicy, episode: Episode) -> tuple[int, float]:
    """What to try and its hope, by the rules as docs/weir.md has them, candidate after candidate."""

    def in_flight(setting: Setting) -> int:
        return setting["pages"] * setting["flight"]

    belief = believe(episode.forecast, episode.measured, policy._now)
    reads = episode.work.kind == "read"
    over = max(float(belief.mean[i]) for i, c in enumerate(GRID) if c in episode.measured)
    hopes = belief.improvement(over)
    for i, candidate in enumerate(GRID):
        more = in_flight(candidate) > in_flight(HERE)
        least = policy.fair_log2 if more else policy.worth_log2
        sure = policy.sure_read if reads else policy.sure_write
        vague = belief.mean[i] - over < max(least, sure * float(belief.deviation[i]))
        refused = episode.refused.get(candidate, -1) > policy._now
        if candidate in episode.measured or vague or refused or (more and not reads):
            hopes[i] = 0.0
    return int(np.argmax(hopes)), float(np.max(hopes))


@pytest.mark.parametrize("kind", ["read", "write", "both"])
def test_weir_prospect_is_what_candidate_after_candidate_comes_to(kind: str) -> None:
    rng = np.random.default_rng(5)
    found = set()
    for _ in range(40):
        policy = WeirPolicy(LUSTRE, Random(1))
        episode = Episode(Work(kind, 20.0))
        places = [GRID.index(HERE), *rng.integers(0, 99, 2)]
        for place in places:
            episode.measured.setdefault(GRID[place], Measured()).take(2.0 ** rng.normal(27.0, 0.2), 1)
            rates, spreads = rng.normal(26.7, 0.4, 99), rng.uniform(0.06, 0.6, 99)
            episode.forecast.take(GRID[place], GRID, rates, spreads)
        episode.refused = {GRID[int(i)]: int(rng.integers(-5, 6)) for i in rng.integers(0, 99, 20)}
        prospect = policy._prospect(episode, HERE)
        assert (prospect.best, prospect.hope) == one_by_one(policy, episode)
        found.add(prospect.hope > 0)
    assert True in found


def test_forecast_from_one_place_is_what_was_said_to_the_last_bit() -> None:
    rng = np.random.default_rng(7)
    forecast = Forecast()
    for _ in range(5):
        forecast.take(HERE, GRID, rng.normal(27.0, 1.0, 99), rng.uniform(0.06, 3.0, 99))
    said = forecast.said[HERE]
    weight = (said.count / said.spreads**2) / (said.count / said.spreads**2)
    mean, spread = forecast.moments()
    assert np.array_equal(mean, weight * said.rates)
    assert np.array_equal(spread, np.sqrt(weight * (said.spreads**2 + (said.rates - mean) ** 2)))
    assert mean is not said.rates and spread is not said.spreads


def test_forecast_believes_what_was_said_with_certainty() -> None:
    forecast = Forecast()
    vague, sure = Setting(pages=1024, flight=8), Setting(pages=64, flight=2)
    for _ in range(4):
        forecast.take(vague, GRID, np.full(99, 27.0), np.full(99, 0.6))
        forecast.take(sure, GRID, np.full(99, 29.0), np.full(99, 0.06))
    mean, spread = forecast.moments()
    assert mean == pytest.approx(np.full(99, 29.0), abs=0.05)
    assert (spread > 0.06).all()


def test_weir_gives_up_a_wish_that_is_never_granted() -> None:
    wish = Setting(pages=256, flight=64)
    gains = np.zeros(99)
    gains[GRID.index(wish)] = 1.0
    world = World({}, gains)
    asked = 0
    for _ in range(100):
        world.run(1)
        asked += world.setting != LUSTRE.default
        world.setting = LUSTRE.default
    assert 0 < asked <= 4 * WeirPolicy.patience


def test_weir_without_a_forecast_stays() -> None:
    window = Window(TARGET, 0.0, 0.5, LUSTRE.default, {"read.bytes": 1e8})
    proposal = WeirPolicy(LUSTRE, Random(1)).propose(window)
    assert proposal.setting == LUSTRE.default and proposal.reason == "no-forecast"


@pytest.mark.parametrize(
    ("metrics", "work", "request_log2"),
    [
        (
            {"read.bytes": 9.0, "write.bytes": 1.0, "app.read_bytes": 8192.0, "app.read_calls": 2.0},
            "read",
            12.0,
        ),
        (
            {"read.bytes": 5.0, "write.bytes": 5.0, "app.read_bytes": 4096.0, "app.read_calls": 1.0},
            "both",
            12.0,
        ),
        ({"write.bytes": 5.0}, "write", math.nan),
    ],
)
def test_work_is_told_from_the_counters(metrics: dict[str, float], work: str, request_log2: float) -> None:
    found = work_of(Window(TARGET, 0.0, 0.5, LUSTRE.default, metrics))
    assert found.kind == work
    assert found.request_log2 == pytest.approx(request_log2, nan_ok=True)


@pytest.mark.parametrize(("latency_us", "windows"), [(2.0, 0), (500.0, 1), (1500.0, 3), (1e6, 8)])
def test_echo_lasts_as_long_as_an_rpc_takes(latency_us: float, windows: int) -> None:
    metrics = {
        "write.page_latency_us": latency_us,
        "write.page_utilisation": 1.0,
        "read.page_latency_us": None,
    }
    assert echo_windows(Window(TARGET, 0.0, 0.5, LUSTRE.default, metrics)) == windows


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 98), st.floats(1e6, 1e9)), min_size=1, max_size=12))
def test_belief_follows_measurements_and_is_never_less_sure_for_them(seen: list[tuple[int, float]]) -> None:
    forecast = Forecast()
    forecast.take(HERE, GRID, np.full(99, 27.0), np.full(99, 0.3))
    measured: dict[Setting, Measured] = {}
    for now, (place, rate) in enumerate(seen):
        for _ in range(50):
            measured.setdefault(GRID[place], Measured()).take(rate, now)
    belief = believe(forecast, measured, len(seen))
    assert np.isfinite(belief.mean).all()
    assert (belief.deviation <= 0.3 + 1e-9).all()
    assert (belief.improvement(27.0) >= 0).all()
    for setting in {GRID[place] for place, _ in seen}:
        place = GRID.index(setting)
        assert belief.deviation[place] < 0.3


def test_belief_carries_to_neighbours_and_not_far() -> None:
    forecast = Forecast()
    forecast.take(HERE, GRID, np.full(99, 27.0), np.full(99, 0.3))
    measured = {Setting(pages=64, flight=16): Measured()}
    for _ in range(20):
        measured[Setting(pages=64, flight=16)].take(2.0**28, 1)
    mean = believe(forecast, measured, 1).mean
    near, far = GRID.index(Setting(pages=64, flight=32)), GRID.index(Setting(pages=1, flight=256))
    assert mean[near] > 27.5
    assert mean[far] == pytest.approx(27.0, abs=0.01)
