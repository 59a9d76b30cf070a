"""Finds the best static setting by successive halving: all settings briefly, the best longer, the last in full.

The setting is chosen on one seed and must be measured on another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.simulated import legal_grid
from penstock.evaluate.trial import WARMUP_S, Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.spaces import LUSTRE

CHOICE_SEED = 1_000_003
DEFAULT = LUSTRE.default.only("pages", "flight")

# The value of each setting from the measurements in every world of a race. The highest wins.
Judge = Callable[[Mapping[Setting, Sequence[Measured]], float], Mapping[Setting, float]]


@dataclass(frozen=True, slots=True)
class Round:
    """A number of settings, each measured for some time after some warm-up."""

    settings: int
    warmup_s: float
    seconds: float


ROUNDS = (Round(99, 3.0, 3.0), Round(24, 4.0, 10.0), Round(8, WARMUP_S, 25.0), Round(3, WARMUP_S, 60.0))


def total(found: Mapping[Setting, Sequence[Measured]], seconds: float) -> dict[Setting, float]:
    """The value that counts the throughput of all applications in all worlds together."""
    return {setting: sum(one.app_mbps for one in measured) for setting, measured in found.items()}


@dataclass(frozen=True, slots=True)
class Race:
    """Worlds that need one common setting, the duration of the search, and the value to maximise."""

    plans: Sequence[Plan]
    rounds: Sequence[Round] = ROUNDS
    judge: Judge = total


@dataclass(frozen=True, slots=True)
class StaticChoice:
    """The settings of the last round, best first, and the values of all settings from the first round."""

    ranking: tuple[Setting, ...]
    surface: tuple[float, ...]

    @property
    def setting(self) -> Setting:
        return self.ranking[0]


def choose(
    lab: Lab, groups: Mapping[str, Sequence[Plan]], seconds: float, rounds: Sequence[Round] = ROUNDS
) -> dict[str, StaticChoice]:
    """For each named group of worlds the setting under which their throughputs sum to most."""
    return race(lab, {name: Race(plans, rounds) for name, plans in groups.items()}, seconds)


def race(lab: Lab, races: Mapping[str, Race], seconds: float) -> dict[str, StaticChoice]:
    """The best settings of each race. All races have the same number of rounds, and no run exceeds `seconds`.

    All races go through a round together, which keeps every worker busy. The default always stays in the race, so the
    best static setting is not worse than it, except by chance.
    """
    racing = {name: list(legal_grid(one.plans[0].cluster)) for name, one in races.items()}
    surfaces: dict[str, tuple[float, ...]] = {}
    count = max((len(one.rounds) for one in races.values()), default=0)
    for number in range(count):
        rounds = {name: _capped(one.rounds[number], seconds) for name, one in races.items()}
        found = _measure(lab, f"search, round {number + 1}", races, rounds, racing)
        scores = {name: one.judge(found[name], rounds[name].seconds) for name, one in races.items()}
        if number == 0:
            surfaces = {name: tuple(each.values()) for name, each in scores.items()}
        following = min(number + 1, count - 1)
        racing = {name: _best(scores[name], one.rounds[following].settings) for name, one in races.items()}
    return {name: StaticChoice(tuple(racing[name]), surfaces[name]) for name in races}


def _capped(this: Round, seconds: float) -> Round:
    return replace(this, seconds=min(this.seconds, max(seconds, 1.0)))


def _measure(
    lab: Lab,
    stage: str,
    races: Mapping[str, Race],
    rounds: Mapping[str, Round],
    racing: Mapping[str, Sequence[Setting]],
) -> dict[str, dict[Setting, list[Measured]]]:
    wanted = [
        (name, setting, Trial(_elsewhere(plan), Course(rounds[name].seconds, rounds[name].warmup_s, setting)))
        for name, one in races.items()
        for setting in racing[name]
        for plan in one.plans
    ]
    found: dict[str, dict[Setting, list[Measured]]] = {name: {} for name in races}
    measured = lab.measure(stage, [trial for _, _, trial in wanted])
    for (name, setting, _), result in zip(wanted, measured, strict=True):
        found[name].setdefault(setting, []).append(result)
    return found


def _best(scores: Mapping[Setting, float], count: int) -> list[Setting]:
    ranked = sorted(scores, key=lambda setting: scores[setting], reverse=True)[:count]
    if DEFAULT not in ranked:
        ranked[-1] = DEFAULT
    return ranked


def _elsewhere(plan: Plan) -> Plan:
    """The same world with other random numbers."""
    return replace(plan, seed=plan.seed + CHOICE_SEED)
