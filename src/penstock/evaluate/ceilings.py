"""Ceilings: the best settings that a search finds when every client, target or phase may hold its own.

A coordinate search over pages, flight and dirty, in two rounds: values far apart first, then the neighbours of what
was chosen. It begins at the best of several given starts. The choice is made on one seed and must be measured on
another. A policy may still pass a ceiling by chance, or by changing settings within a phase.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.evaluate.drivers import Course, Switch
from penstock.evaluate.lab import Lab
from penstock.evaluate.search import CHOICE_SEED
from penstock.evaluate.trial import WARMUP_S, Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.simulation import client_space

#: The values of the first round; the second tries half and double of what the first chose.
FAR = {"pages": (1, 4, 16, 64, 256, 1024), "flight": (1, 4, 16, 64, 256), "dirty": (32, 128, 512, 2000)}
KNOBS = tuple(FAR)
ROUNDS = 2
#: Where a search begins: the default, and settings far from it and from each other.
STARTS = (
    Setting(pages=1024, flight=8), Setting(pages=256, flight=16), Setting(pages=16, flight=64),
    Setting(pages=64, flight=1), Setting(pages=1, flight=1), Setting(pages=1024, flight=256),
)  # fmt: skip
#: Less than this is no reason to prefer another setting.
LEAST_GAIN = 1.002

Chosen = tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Targets that hold one setting: all, those of a client, or one. Where none writes, dirty limits stay."""

    client: int | None = None
    ost: int | None = None
    writes: bool = True


@dataclass(frozen=True, slots=True)
class Climb:
    """One search: the world, the places that hold settings of their own, where to begin, and for how long to run.

    A start has one setting for each place. `value` is what a run is worth.
    """

    plan: Plan
    places: tuple[Place, ...]
    starts: tuple[Chosen, ...]
    course: Course
    value: Callable[[Measured], float] = lambda run: run.app_mbps

    def trial(self, chosen: Chosen) -> Trial:
        """A run at these settings, on a seed that nobody is judged on."""
        plan = replace(self.plan, seed=self.plan.seed + CHOICE_SEED)
        return Trial(plan, replace(self.course, switches=switches(self.places, chosen)))

    def candidates(self, chosen: Chosen, at: int, knob: str, near: bool) -> list[Chosen]:
        """The settings to try: one knob of one place is changed."""
        if at >= len(self.places) or (knob == "dirty" and not self.places[at].writes):
            return []
        space, now = client_space(self.plan.cluster), chosen[at]
        wanted = (now[knob] // 2, min(now[knob] * 2, space[knob].ceiling)) if near else FAR[knob]
        least, most = max(1, space[knob].floor), space[knob].ceiling
        legal = [value for value in wanted if least <= value <= most and value != now[knob]]
        return [(*chosen[:at], now.replace(**{knob: value}), *chosen[at + 1 :]) for value in legal]


def course_of(seconds: float) -> Course:
    """A run of so many seconds after the usual warm-up."""
    return Course(seconds, WARMUP_S)


def switches(places: Sequence[Place], chosen: Chosen, from_s: float = 0.0) -> tuple[Switch, ...]:
    """What the places hold from a time on."""
    return tuple(
        Switch(setting, from_s, place.client, place.ost)
        for place, setting in zip(places, chosen, strict=True)
    )


def starts(cluster: Cluster, places: int, more: Sequence[Setting] = ()) -> tuple[Chosen, ...]:
    """One setting for all places, each of several; with the dirty limit that goes with it."""
    space = client_space(cluster)
    legal = [each for each in STARTS if each["pages"] in space["pages"].values]
    return tuple((space.settle(space.default, each),) * places for each in (*legal, *more))


def climb(lab: Lab, searches: Mapping[str, Climb]) -> dict[str, Chosen]:
    """The best settings of every search. All searches go through a step together, which keeps the workers busy."""
    best: dict[str, Chosen] = {}
    values: dict[str, float] = {}
    _try(
        lab, searches, {name: list(dict.fromkeys(one.starts)) for name, one in searches.items()}, best, values
    )
    most = max((len(one.places) for one in searches.values()), default=0)
    for number in range(ROUNDS):
        for at in range(most):
            for knob in KNOBS:
                tries = {
                    name: one.candidates(best[name], at, knob, number > 0) for name, one in searches.items()
                }
                _try(lab, searches, tries, best, values)
    return best


def _try(
    lab: Lab,
    searches: Mapping[str, Climb],
    tries: Mapping[str, Sequence[Chosen]],
    best: dict[str, Chosen],
    values: dict[str, float],
) -> None:
    """Measure candidates, and keep for each search what is better than what it has."""
    wanted = [(name, chosen) for name, some in tries.items() for chosen in some]
    found = lab.measure("search, ceilings", [searches[name].trial(chosen) for name, chosen in wanted])
    for (name, chosen), run in zip(wanted, found, strict=True):
        value = searches[name].value(run)
        if name not in best or value > LEAST_GAIN * values[name]:
            best[name], values[name] = chosen, value
