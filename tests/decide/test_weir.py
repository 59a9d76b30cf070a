"""The shipped policy: it finds what is better, gives up what is worse, and comes to rest."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.decide.belief import Knowledge, MeasuredSetting
from penstock.decide.guard import Guard, GuardLimits
from penstock.decide.guard.prices import prices
from penstock.decide.level import Level
from penstock.decide.objective import Rates
from penstock.decide.policies.weir import WeirPolicy
from penstock.decide.value import Prospect, Stay, sober, weigh
from penstock.decision import Cases, Outlook
from penstock.knobs import Setting
from penstock.predict.surfaces import KINDS
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, fuse
from penstock.testing.policies import AskedPolicy
from penstock.window import Window

GRID = LUSTRE.candidates()
HOME = LUSTRE.default.only("pages", "flight")
TARGET = Target("t / reads", "t")
Surface = Callable[[Setting], float]
CALM = GuardLimits(jitter_s=0.0)


def cases(*surfaces: Surface) -> Cases:
    table = np.log2([[surface(setting) for setting in GRID] for surface in surfaces])[:, None]
    return Cases({kind: np.repeat(table, len(ways), axis=1) for kind, ways in KINDS.items()})


BAD_START, MANY_LARGE = Setting(pages=64, flight=1), Setting(pages=1024, flight=32)


class World:
    """A guarded target whose settings bring fixed rates, and a survey that may be right or wrong about them."""

    def __init__(
        self,
        rate: Surface,
        survey: Cases | None,
        start: Setting = LUSTRE.default,
        limits: GuardLimits | None = CALM,
    ) -> None:
        self.rate, self.survey, self.setting = rate, survey, start
        self.original = start
        guard = Guard(enforces=False) if limits is None else Guard(limits)
        self.asked = AskedPolicy(WeirPolicy(LUSTRE, Random(1)), guard)
        self.i, self.moves = 0, 0
        self.moved: list[float] = []
        self.said: list[str] = []

    def run(self, windows: int, way: str = "read", requests: float = 200.0) -> None:
        for _ in range(windows):
            rate, t_s = self.rate(self.setting), self.i * 0.5
            metrics = {
                f"{way}.bytes": rate / 2,
                f"{way}.rpcs": requests,
                f"app.{way}_bytes": rate / 2,
                f"app.{way}_calls": 10.0,
            }
            window = Window(TARGET, t_s, t_s + 0.5, self.setting, metrics, self.original)
            outlook = Outlook(way, GRID, (), True, "m", cases=self.survey) if self.survey else None
            self.asked.propose(window, outlook)
            wanted = self.asked.verdict.wanted
            self.i += 1
            self.moves += wanted != self.setting
            self.moved.append(rate)
            self.said.append(self.asked.verdict.reason)
            self.setting = LUSTRE.settle(self.setting, wanted.only("pages", "flight"))

    @property
    def place(self) -> Setting:
        return self.setting.only("pages", "flight")


def flat(setting: Setting) -> float:
    return 1e8


def small_is_good(setting: Setting) -> float:
    return 1e8 * float((1024 / setting["pages"]) ** 0.2)


def many_are_good(setting: Setting) -> float:
    return 1e8 * float((min(setting["flight"], 64) / 8) ** 0.4)


def large_is_good(setting: Setting) -> float:
    return 1e8 * float((setting["pages"] * min(setting["flight"], 8) / 8192) ** 0.5)


ALL = (flat, small_is_good, many_are_good, large_is_good)


@pytest.mark.parametrize("truth", [small_is_good, many_are_good])
def test_weir_finds_the_case_it_is_in_by_measuring(truth: Surface) -> None:
    world = World(truth, cases(*ALL))
    world.run(120)
    best = max(truth(setting) for setting in GRID)
    assert truth(world.setting) >= 0.9 * best


@pytest.mark.parametrize("truth", [flat, large_is_good])
def test_weir_stays_where_nothing_is_better_and_loses_little(truth: Surface) -> None:
    world = World(truth, cases(*ALL))
    world.run(240)
    assert world.setting == LUSTRE.default
    assert sum(world.moved) >= 0.97 * 1e8 * 240


def test_weir_comes_to_rest_and_looks_ever_more_rarely() -> None:
    world = World(flat, cases(*ALL))
    world.run(200)
    early, world.moves = world.moves, 0
    world.run(400)
    assert world.moves <= early


def test_weir_climbs_out_of_a_bad_start() -> None:
    world = World(large_is_good, cases(*ALL), LUSTRE.default.replace(pages=64, flight=1))
    world.run(120)
    assert large_is_good(world.setting) >= 0.95e8


def test_weir_tries_the_default_first_where_somebody_set_something_else() -> None:
    world = World(large_is_good, cases(flat, small_is_good), LUSTRE.default.replace(pages=64, flight=1))
    while not world.moves:
        world.run(1)
    assert world.place == HOME


def test_weir_waits_after_trials_that_lost() -> None:
    world = World(
        lambda setting: 1e8 if setting == LUSTRE.default else 4e7, cases(small_is_good, many_are_good)
    )
    world.run(240)
    assert sum(world.moved) >= 0.97 * 1e8 * 240


def test_weir_prices_bytes_in_flight_beyond_the_default() -> None:
    """A little more for eight times the bytes in flight is not worth what others may lose."""
    greedy = World(lambda setting: 1e8 * (setting["flight"] / 8) ** 0.1, cases(many_are_good, flat))
    greedy.run(240)
    assert LUSTRE.in_flight_bytes(greedy.setting) <= LUSTRE.in_flight_bytes(LUSTRE.default)


def test_one_stalled_window_does_not_condemn_what_should_be_good() -> None:
    world = World(many_are_good, cases(many_are_good))
    stalls = iter([1.0])
    world.rate = lambda setting: (
        many_are_good(setting) * (0.05 if setting["flight"] > 8 and next(stalls, None) else 1.0)
    )
    world.run(40)
    assert world.setting["flight"] > 8


def test_weir_learns_without_any_survey() -> None:
    world = World(many_are_good, None)
    world.run(400)
    assert world.rate(world.setting) >= 1.2e8


@pytest.mark.parametrize("start", [{"flight": 24}, {"pages": 768}, {"pages": 1000, "flight": 20}])
def test_weir_returns_to_a_start_that_is_no_candidate(start: dict[str, int]) -> None:
    home = LUSTRE.default.replace(start)
    world = World(
        lambda setting: 1e8 if setting.only(*start) == home.only(*start) else 3e7, cases(*ALL), home
    )
    world.run(100)
    assert world.setting == home


def test_weir_notices_that_the_world_changed() -> None:
    world = World(many_are_good, cases(*ALL))
    world.run(120)
    assert world.setting["flight"] > 8
    world.rate = large_is_good
    world.run(1200)
    assert large_is_good(world.setting) >= 0.95e8


def test_cases_that_measurements_contradict_lose_their_votes() -> None:
    def level(rate: float) -> MeasuredSetting:
        found = Level()
        for _ in range(6):
            found.take(Rates(rate, 0.0))
        return MeasuredSetting(found, 0)

    elsewhere = Setting(pages=64, flight=8)
    known = Knowledge({HOME: level(1e8), elsewhere: level(small_is_good(elsewhere))})
    belief = known.believe(cases(*ALL), GRID, HOME, 0, "fair")
    assert belief.votes[1] > 0.9
    at = belief.candidates.places[Setting(pages=16, flight=8)]
    assert belief.mean[at] == pytest.approx(np.log2(small_is_good(GRID[at]) / 1e8), abs=0.15)
    assert belief.chance(0.0)[at] > 0.9


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(list(GRID)), st.floats(1e3, 1e10)), min_size=1, max_size=12))
def test_beliefs_are_finite_whatever_was_measured(seen: list[tuple[Setting, float]]) -> None:
    known = Knowledge()
    for now, (setting, rate) in enumerate(seen):
        known.measured.setdefault(setting, MeasuredSetting()).take(Rates(rate, rate / 3), now)
    belief = known.believe(cases(*ALL), GRID, HOME, len(seen), "fair")
    for values in (belief.mean, belief.deviation, belief.improvement(0.0), belief.shortfall(0.0)):
        assert np.isfinite(values).all()
    assert belief.votes.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_weir_climbs_from_a_bad_original_past_the_default_in_spite_of_noise(seed: int) -> None:
    rng = Random(seed)
    best, brings = Setting(pages=256, flight=32), {BAD_START: 0.3, HOME: 1.0}

    def noisy(setting: Setting) -> float:
        place = setting.only("pages", "flight")
        return 1e8 * (1.3 if place == best else brings.get(place, 0.9)) * rng.lognormvariate(0.0, 0.15)

    guess = cases(
        *[lambda s, g=g: 1e8 * (g if s == best else brings.get(s, 0.8)) for g in (0.9, 1.1, 1.2)],
        *[lambda s, g=g: 1e8 * (g if s == MANY_LARGE else brings.get(s, 0.8)) for g in (0.9, 1.1)],
    )
    world = World(noisy, guess, LUSTRE.default.replace(BAD_START))
    world.run(160)
    assert world.place == best


def test_the_chance_that_is_said_grows_with_the_votes_and_is_never_certain() -> None:
    assert 0.0 < sober(0.0) < sober(0.5) < sober(1.0) < 0.9


@pytest.mark.parametrize(("change", "unfelt"), [({"ahead": 512}, 12), ({"flight": 64}, 0)])
def test_weir_waits_until_a_knob_that_acts_on_new_opens_is_felt(change: dict[str, int], unfelt: int) -> None:
    asked, setting, said = AskedPolicy(WeirPolicy(fuse(), Random(1))), fuse().default, []
    for i in range(20):
        window = Window(TARGET, i / 4, (i + 1) / 4, setting, {"read.bytes": 2e7}, fuse().default)
        said.append(asked.propose(window).reason)
        setting = fuse().settle(setting, change) if i == 1 else setting
    assert said[2:].count("settling") == 1 + unfelt


def test_weir_tries_first_what_shows_at_once() -> None:
    """Readahead promises a little more here, but a trial of it lasts until files are opened anew."""
    space = fuse()
    grid = space.candidates()
    ahead = np.array([setting["ahead"] > 500 for setting in grid])
    many = np.array([setting["flight"] > 50 for setting in grid])
    surfaces = np.array([a * 1.03 * ahead + m * many for a in (1, -1) for m in (1, -1)])[:, None]
    outlook = Outlook("read", grid, (), True, "m", cases=Cases({"read": surfaces}))
    free = Guard(GuardLimits(crowd_log2=0.0), enforces=False)
    asked, wanted, i = AskedPolicy(WeirPolicy(space, Random(1)), free), space.default, 0
    while wanted == space.default:
        window = Window(TARGET, i / 4, (i + 1) / 4, space.default, {"read.bytes": 2e7})
        wanted, i = asked.propose(window, outlook).setting, i + 1
    assert (wanted["ahead"], wanted["flight"] > 50) == (128, True)


def test_weir_leaves_alone_what_limits_only_directions_in_which_nothing_moves() -> None:
    """Whatever a survey says: readahead has nothing to do with writes."""
    space = fuse()
    grid = space.candidates()
    surfaces = np.array([[[float(setting["ahead"] > 500) for setting in grid]]])
    for way, moves in (("read", True), ("write", False)):
        outlook = Outlook(way, grid, (), True, "m", cases=Cases({way: surfaces}))
        asked, metrics = AskedPolicy(WeirPolicy(space, Random(1))), {f"{way}.bytes": 2e7}
        said = [
            asked.propose(Window(TARGET, i / 4, (i + 1) / 4, space.default, metrics), outlook)
            for i in range(14)
        ]
        assert any(proposal.reason == "promising" for proposal in said) == moves


def test_weir_does_not_stay_at_what_other_work_of_its_targets_left_behind() -> None:
    """Nor at a value that is no candidate: the guard looks at the original, and what lost is left."""
    world = World(lambda setting: 1e8 if setting["flight"] == 8 else 6e7, cases(flat))
    world.run(8)
    world.setting = LUSTRE.default.replace(pages=33, flight=256)
    world.run(12)
    assert world.setting == LUSTRE.default


@pytest.mark.parametrize(("requests", "moves"), [(2.0, False), (200.0, True)])
def test_weir_leaves_work_with_hardly_any_requests_alone(requests: float, moves: bool) -> None:
    world = World(small_is_good, cases(*ALL))
    world.run(40, requests=requests)
    assert (world.moves > 0) == moves


def test_weir_without_a_guard_has_records_of_its_own() -> None:
    world = World(many_are_good, cases(*ALL), limits=None)
    world.run(120)
    assert many_are_good(world.setting) >= 0.9 * max(many_are_good(setting) for setting in GRID)
    assert not any(reason.startswith("guard.") for reason in world.said)


def test_a_relief_that_did_not_help_is_not_tried_again_soon() -> None:
    """Every minute the work changes so much that all measurements are forgotten; the relief is remembered."""
    asked, outlook = (
        AskedPolicy(WeirPolicy(LUSTRE, Random(1))),
        Outlook("write", GRID, (), True, "m", cases=cases(flat)),
    )
    setting, reliefs = LUSTRE.default, []
    for i in range(220):
        load = 1e8 * 4.0 ** ((i // 60) % 2)
        share = {"read.bytes": 0.01 * load, "app.read_bytes": 0.01 * load, "app.read_calls": 40.0}
        flights = {"read.usec": 1e6, "read.rpcs": 40.0, "write.usec": 3e6, "write.rpcs": 40.0}
        metrics = {"write.bytes": load, "app.write_bytes": load, "app.write_calls": 40.0, **share, **flights}
        window = Window(TARGET, i / 2, i / 2 + 0.5, setting, metrics, LUSTRE.default)
        proposal = asked.propose(window, outlook)
        if proposal.reason == "starving" and proposal.setting != setting:
            reliefs.append(i)
        setting = LUSTRE.settle(setting, proposal.setting.only("pages", "flight"))
    assert len(reliefs) == 1


def weighed(known: Knowledge, survey: Cases, lasted_s: float = 60.0) -> Prospect:
    """The candidates as they look from the original."""
    belief = known.believe(survey, GRID, HOME, 8, "fair")
    stay = Stay(HOME, HOME, lasted_s, surveyed=True, now=8)
    return weigh(known, belief, prices(belief.candidates, HOME, 0.0, GuardLimits()), stay)


def brought(**rates: float) -> Knowledge:
    """So many bytes a second at these settings, in eight windows each."""
    places = {"home": HOME, "modest": Setting(pages=16, flight=16), "crowd": Setting(pages=16, flight=128)}
    known = Knowledge({places[name]: MeasuredSetting() for name in rates})
    for now in range(8):
        for name, rate in rates.items():
            known.measured[places[name]].take(Rates(rate, 0.0, 1.0), now)
    return known


def test_what_takes_more_from_others_is_behind_what_brings_nearly_as_much() -> None:
    """A hundredth more for eight times the requests: the modest one is the best."""
    found = weighed(brought(home=1e8, modest=1.5e8, crowd=1.515e8), cases(*ALL))
    assert found.belief.candidates[found.best] == Setting(pages=16, flight=16)


def test_a_trial_is_worth_more_the_longer_the_work_is_likely_to_go_on() -> None:
    risky = cases(*[lambda s, g=g: 1e8 * (g if s == BAD_START else 1.0) for g in (0.3, 0.3, 0.3, 1.3)])
    at = GRID.places[BAD_START]
    worths = [
        float(weighed(brought(home=1e8), risky, lasted_s).worth[at])
        for lasted_s in (1.0, 60.0, 600.0, 7200.0)
    ]
    assert worths[0] == worths[1] < worths[2] < worths[3]
    # Nobody plans for more than an hour.
    assert worths[3] == float(weighed(brought(home=1e8), risky, 3600.0).worth[at])


def test_what_is_measured_is_not_tried_again_and_bets_come_in_the_order_of_their_worth() -> None:
    found = weighed(brought(home=1e8, modest=1.1e8), cases(*ALL))
    assert len(found.bets) > 1
    places = [found.belief.candidates[at] for at in found.bets]
    assert not {HOME, Setting(pages=16, flight=16)} & set(places)
    worths = [float(found.worth[at]) for at in found.bets]
    assert worths == sorted(worths, reverse=True)
    assert worths[-1] > 0.0
