"""Makes a survey: the gain of settings in many random worlds or in recordings of real clients.

A world runs at the default until its caches work as they do all the time. Then some other settings are visited, one
after the other, with the default in between, as a tuner would. (Settings held from an empty cache on gave writes
gains of 50 times, which were those of memory that fills.) The gains of other settings are interpolated from the
measured ones. Far from all measured settings they approach the mean of all cases of that kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random

import numpy as np
from numpy.typing import NDArray

from penstock import __version__
from penstock.campaign.engines import local_engine
from penstock.campaign.shards import in_order
from penstock.decide.level import Level
from penstock.decide.look import look_of
from penstock.decide.objective import Rates, rates_of
from penstock.knobs import Candidates, KnobSpace, Setting
from penstock.predict.surfaces import KINDS, Case, Survey
from penstock.simulate.assembly import Plan
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.train.cache_share import CacheShare
from penstock.train.draws import draw_worlds
from penstock.train.worlds import DescribedWorld
from penstock.window import Window, windows

Floats = NDArray[np.float64]
# Families of worlds that are never surveyed, because policies are evaluated on them.
LEFT_OUT = ("fast-link", "few-threads", "bursty")
INTERVAL_S = 0.5
# Seconds before the first window, before the first window of a visit, and of the default between two visits: longer
# where somebody writes, because what is dirty was queued under the setting before.
WARMUP_S, SETTLE_S, BETWEEN_S = 2.0, 1.0, 2.0
WRITING_WARMUP_S, WRITING_SETTLE_S, WRITING_BETWEEN_S = 8.0, 2.0, 2.5
# Of the time between two visits, the first second is not used.
RETURN_S = 1.0
# Settings held in every world, besides random ones. The default comes first, because gains are relative to it.
ALWAYS = ((1024, 8), (64, 8), (256, 2))
ANYWHERE, NEAR = 7, 8
# At this many doublings apart, the deviations of two settings from the mean have a correlation of 60 %.
REACH_LOG2 = 2.0
SPREAD_LOG2 = 0.8
LEAST_NOISE = 0.03
MOST_LOG2 = 7.0
# No simulated world is believed to gain more than this (twice the default): larger gains are nearly always those of a
# client that fell into step with others, and a few of them would draw every first trial to settings that mostly lose.
BELIEVED_LOG2 = 1.0
# A real client counts as so many simulated worlds: there are few recordings, and a simulator is never quite right.
REAL_WEIGHT = 5.0
LEAST_SETTINGS = 5
LEAST_BYTES_PER_S = 1e3
GRID = LUSTRE.candidates()
HOME = GRID.places[Setting(pages=1024, flight=8)]


@dataclass(frozen=True, slots=True)
class HeldRates:
    """One kind of work in one world or recording: the rates of each setting and their uncertainty."""

    origin: str
    levels: Mapping[Setting, Level]
    #: The default, which gains are relative to.
    home: Setting = GRID[HOME]
    #: What it looks like there (`penstock.decide.look`); empty where that is not known.
    look: tuple[float, ...] = ()
    #: How many votes it has.
    weight: float = 1.0
    #: No gain is taken to be larger, ...
    most_log2: float = MOST_LOG2
    #: ... and no rate smaller.
    least_rate: float = LEAST_BYTES_PER_S

    @property
    def kind(self) -> str:
        """What the work does at the default."""
        reads, writes = self.levels[self.home].mean.counts
        return "both" if reads and writes else "read" if reads else "write"


def surveyed(
    worlds: Sequence[DescribedWorld], seconds: float, seed: int, workers: int, say: Callable[[str], None]
) -> list[HeldRates]:
    """Measure all worlds in parallel processes. The result does not depend on the number of processes."""
    found = []
    with local_engine(workers, "spawn") as engine:
        for number, held in enumerate(
            in_order(engine, partial(measure, seconds=seconds, seed=seed), worlds), 1
        ):
            found += [held] if held is not None else []
            say(f"{number}/{len(worlds)} {worlds[number - 1].name}")
    return found


def drawn(count: int, seed: int) -> list[DescribedWorld]:
    """Random worlds of the families that may be surveyed."""
    return list(draw_worlds(seed, count, without=LEFT_OUT))


def measure(world: DescribedWorld, seconds: float, seed: int) -> HeldRates | None:
    """Visit some settings in one world and observe the first client.

    None if the client moves nothing at the default, or if the page cache does much of the work, because such work is
    not tuned.
    """
    return measure_plan((world.name, world.plan(seed)), seconds, seed)


def measure_plan(named: tuple[str, Plan], seconds: float, seed: int) -> HeldRates | None:
    """The same for an existing plan with this name. The seed draws the settings."""
    name, plan = named
    visitor = _Visitor(plan)
    visitor.warm_up(seconds)
    home = visitor.seen[GRID[HOME]]
    if not home:
        return None
    # Targets that do the same work as the busiest one are tuned together, so they are surveyed together.
    kinds = {name: _level(rates).mean.counts for name, rates in home.items()}
    busiest = max(home, key=lambda name: _level(home[name]).mean.total)
    members = [name for name, kind in kinds.items() if kind == kinds[busiest]]
    if visitor.cached[busiest].large:
        return None
    for setting in _settings(Random(f"survey/{seed}/{name}"))[1:]:
        visitor.visit(setting, seconds)
    levels = {
        setting: _level([rates for name in members for rates in targets.get(name, ())])
        for setting, targets in visitor.seen.items()
    }
    known = {setting: level for setting, level in levels.items() if level.count and level.mean.total > 0}
    if GRID[HOME] not in known or len(known) < LEAST_SETTINGS:
        return None
    held = HeldRates(name, known, most_log2=BELIEVED_LOG2)
    seen = (window for name in members for window in visitor.default.get(name, ()))
    return replace(held, look=look_of(held.kind, seen))


def _settings(rng: Random) -> list[Setting]:
    anywhere = [(2 ** rng.randint(0, 10), 2 ** rng.randint(0, 8)) for _ in range(ANYWHERE)]
    near = [(2 ** rng.randint(4, 10), 2 ** rng.randint(0, 7)) for _ in range(NEAR)]
    return [Setting(pages=p, flight=f) for p, f in dict.fromkeys([*ALWAYS, *anywhere, *near])]


class _Visitor:
    """One simulated world whose settings change while it runs.

    `seen` has the rates of every setting's and target's busy windows, `default` those windows at the default, and
    `cached` how much of each target's work the page cache does there.
    """

    def __init__(self, plan: Plan) -> None:
        self._simulation = Simulation(plan)
        self._probe = Probe(self._simulation)
        self._now_s = 0.0
        self._writes = any(job.workload.read_ratio < 1.0 for job in plan.jobs)
        self.seen: dict[Setting, dict[str, list[Rates]]] = {GRID[HOME]: {}}
        self.cached: dict[str, CacheShare] = {}
        self.default: dict[str, list[Window]] = {}

    def warm_up(self, seconds: float) -> None:
        """Run at the default until it is steady, then measure it."""
        self._hold(GRID[HOME], WRITING_WARMUP_S if self._writes else WARMUP_S, seconds)

    def visit(self, setting: Setting, seconds: float) -> None:
        """Measure a setting, then go back to the default."""
        self._hold(setting, WRITING_SETTLE_S if self._writes else SETTLE_S, seconds)
        between_s = WRITING_BETWEEN_S if self._writes else BETWEEN_S
        self._hold(GRID[HOME], RETURN_S, between_s - RETURN_S)

    def _hold(self, setting: Setting, settle_s: float, seconds: float) -> None:
        self._simulation.set_all(setting)
        self._now_s += settle_s
        self._probe.sleep_until(self._now_s)
        before = self._probe.observe()
        seen = self.seen.setdefault(setting, {})
        for _ in range(max(1, round(seconds / INTERVAL_S))):
            self._now_s += INTERVAL_S
            self._probe.sleep_until(self._now_s)
            after = self._probe.observe()
            for window in windows(before, after):
                if isinstance(window, Window) and (rates := rates_of(window)).total > 0:
                    seen.setdefault(window.target.name, []).append(rates)
                    if setting == GRID[HOME]:
                        self.cached.setdefault(window.target.name, CacheShare()).take(window)
                        self.default.setdefault(window.target.name, []).append(window)
            before = after


def _level(rates: Sequence[Rates]) -> Level:
    level = Level()
    for one in rates:
        level.take(one)
    return level


def make_survey(
    held: Sequence[HeldRates], source: str, settings: Mapping[str, object], space: KnobSpace = LUSTRE
) -> Survey:
    """Fill in every case over the whole grid of a knob space."""
    grid = space.candidates()
    means = {kind: _means([case for case in held if case.kind == kind], kind, grid) for kind in KINDS}
    knobs = {knob_id: space[knob_id].values for knob_id in space.searched}
    # A survey's grid is every combination of values; of one that no target can have, the nearest candidate's gain.
    every = [Setting(dict(zip(knobs, values, strict=True))) for values in itertools.product(*knobs.values())]
    places = grid.nearest(every)
    cases = tuple(
        Case(one.origin, one.kind, _filled(one, means[one.kind], grid)[:, places], one.look, one.weight)
        for one in held
    )
    provenance = {"made_by": f"penstock {__version__}", "source": source, **settings}
    return Survey(space.name, knobs, cases, provenance, "")


def _means(held: Sequence[HeldRates], kind: str, grid: Candidates) -> Floats:
    """The smoothed mean gain of every setting, one row per direction; zero where nothing was measured."""
    total, count = np.zeros((len(KINDS[kind]), len(grid))), np.full(len(grid), 1e-6)
    for one in held:
        places, gains, _ = _gains(one, grid)
        total[:, places] += gains
        count[places] += 1.0
    near = grid.likeness(REACH_LOG2 / 2.0)
    means: Floats = (total @ near.T) / (count @ near.T)
    return means - means[:, [grid.nearest([held[0].home])[0]]] if held else means


def _filled(held: HeldRates, means: Floats, grid: Candidates) -> Floats:
    """The complete surface: it follows the measurements as far as they are certain, and the mean far from them."""
    places, gains, noises = _gains(held, grid)
    common = SPREAD_LOG2**2 * grid.likeness(REACH_LOG2)[:, places]
    pull = np.linalg.solve(common[places] + np.diag(noises**2), common.T).T
    whole: Floats = np.clip(means + (gains - means[:, places]) @ pull.T, -MOST_LOG2, held.most_log2)
    return whole - whole[:, [grid.nearest([held.home])[0]]]


def _gains(held: HeldRates, grid: Candidates) -> tuple[NDArray[np.int64], Floats, Floats]:
    """The measured gains over the default, one row per direction, and their noise."""
    places = np.array([grid.nearest([setting])[0] for setting in held.levels])
    rates = [
        [max(getattr(m.mean, way), held.least_rate) for m in held.levels.values()] for way in KINDS[held.kind]
    ]
    logs = np.log2(np.array(rates))
    home = list(held.levels).index(held.home)
    noises = np.array([max(level.error, LEAST_NOISE) for level in held.levels.values()])
    return places, np.clip(logs - logs[:, [home]], -MOST_LOG2, held.most_log2), noises
