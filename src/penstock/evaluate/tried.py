"""What a run tried: how many settings, how soon it had its best one, and how much work trying lost.

A run is compared with the run at the default of the same world and seed, interval by interval, so that a job that
starts, rests or ends counts in both. What is compared is a client's work (`Measured.work`). The ratio of some
intervals is the sum of the work in them over the sum of the default's work in the same intervals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from penstock.evaluate.figures import HEADROOM
from penstock.evaluate.search import DEFAULT
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.trial import Measured
from penstock.knobs import Setting

#: A setting is held if it was in force for so many intervals: 10 s.
HELD_INTERVALS = 20
#: The first held setting that brings this much of the best held one ends the search for it.
NEAR_BEST = 0.95
#: A target reached the best static setting if it held one that brings this much of it, among its first trials.
REACHED, FIRST_TRIALS = 0.9, 5

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Tried:
    """The trials of one run.

    `cost` is the share of the run's work that was lost. `trials` and `to_best` are means over the targets that were
    moved; `to_best` is None if no target held anything but its original.
    """

    cost: float
    trials: float
    to_best: float | None


@dataclass(frozen=True, slots=True)
class _Trial:
    """The `number`-th setting that a target tried; `ratio` is what it brought, None if it was not held."""

    number: int
    ratio: float | None


def tried(run: Measured, default: Measured) -> Tried:
    """The trials of a run, judged by the run at the default."""
    settings = _settings(run, len(default.series))
    found = {place: _trials(each, _pairs(run, default, place[0])) for place, each in settings.items()}
    to_best = [number for trials in found.values() if (number := _to_best(trials)) is not None]
    return Tried(
        _cost(run, default, settings),
        sum(map(len, found.values())) / len(found) if found else 0.0,
        sum(to_best) / len(to_best) if to_best else None,
    )


def reached_best(run: Measured, default: Measured, best: Measured) -> float | None:
    """The share of targets that within five trials came to a setting, and held it, with .9 of the best static one's
    ratio.

    Only clients count to which the best static setting brings 1.2 times the default; None if there is none.
    """
    settings = _settings(run, len(default.series))
    found = []
    for client, ost in run.targets:
        room = _ratio(_pairs(best, default, client))
        if room < HEADROOM:
            continue
        trials = _trials(settings.get((client, ost), ()), _pairs(run, default, client))
        ratios = [each.ratio for each in trials[:FIRST_TRIALS] if each.ratio is not None]
        found.append(max(ratios, default=0.0) >= REACHED * room)
    return sum(found) / len(found) if found else None


def _settings(run: Measured, intervals: int) -> dict[Place, list[Setting]]:
    """The setting of every target that was moved, interval by interval."""
    found: dict[Place, list[Setting]] = {}
    for decided in run.decided:
        after = decided.before.replace(decided.wanted).only(*DEFAULT)
        before = decided.before.only(*DEFAULT)
        if after == before:
            continue
        series = found.setdefault((decided.client, decided.ost), [before] * intervals)
        first = round(decided.t_s / INTERVAL_S)
        series[first:] = [after] * len(series[first:])
    return found


def _pairs(run: Measured, default: Measured, client: int) -> list[tuple[float, float]]:
    return list(zip(run.work[client], default.work[client], strict=True))


def _ratio(pairs: Sequence[tuple[float, float]]) -> float:
    """What was done of what the default did. Where nothing was to be done nothing is lost or gained."""
    base = sum(at_default for _, at_default in pairs)
    return sum(done for done, _ in pairs) / base if base > 0.0 else 1.0


def _trials(settings: Sequence[Setting], pairs: Sequence[tuple[float, float]]) -> list[_Trial]:
    """Every setting but the first, which is the original, in the order of first use.

    The interval in which a change takes effect is not counted to the new setting.
    """
    original = settings[0] if settings else None
    steady: dict[Setting, list[tuple[float, float]]] = {}
    for number, setting in enumerate(settings):
        if setting != original:
            here = steady.setdefault(setting, [])
            if settings[number - 1] == setting:
                here.append(pairs[number])
    return [
        _Trial(number, _ratio(each) if len(each) >= HELD_INTERVALS else None)
        for number, each in enumerate(steady.values(), 1)
    ]


def _to_best(trials: Sequence[_Trial]) -> int | None:
    """How many trials it took to the first held setting that brings about as much as the best held one."""
    held = [(each.number, each.ratio) for each in trials if each.ratio is not None]
    best = max((ratio for _, ratio in held), default=0.0)
    return next((number for number, ratio in held if ratio >= NEAR_BEST * best), None)


def _cost(run: Measured, default: Measured, settings: Mapping[Place, Sequence[Setting]]) -> float:
    lost = sum(
        _lost(
            _pairs(run, default, client),
            _stays([each for place, each in settings.items() if place[0] == client]),
        )
        for client in {client for client, _ in settings}
    )
    done = sum(map(sum, run.work))
    return lost / (done + lost) if lost > 0.0 else 0.0


def _stays(targets: Sequence[Sequence[Setting]]) -> Iterator[tuple[slice, bool]]:
    """The times between two changes of one client, and whether all its targets had their originals then."""
    together = list(zip(*targets, strict=True))
    first = 0
    for place, each in groupby(together):
        past = first + len(list(each))
        yield slice(first, past), place == together[0]
        first = past


def _lost(pairs: Sequence[tuple[float, float]], stays: Iterator[tuple[slice, bool]]) -> float:
    """What a client's stays lost, in the unit of its work.

    A stay away from the original loses what it lacks of the default. A brief one, a trial or a look at the original,
    also loses what it lacks of the setting held before. No stay makes up for another.
    """
    lost, held = 0.0, _Held()
    for stay, home in stays:
        part = pairs[stay]
        brief = len(part) < HELD_INTERVALS
        done, base = (sum(column) for column in zip(*part, strict=True))
        expected = max(held.expected(base, len(part)) if brief else 0.0, 0.0 if home else base)
        lost += max(expected - done, 0.0)
        if not brief:
            held = _Held() if home else _Held(_ratio(part), done / len(part))
    return lost


@dataclass(frozen=True, slots=True)
class _Held:
    """What the setting held last brought: as a ratio to the default, and in an interval. Of the original, nothing."""

    ratio: float = 0.0
    rate: float = 0.0

    def expected(self, base: float, intervals: int) -> float:
        """What it would have brought where the default did `base`: the less of both, because the default's work may
        come in bursts, and the work may have changed.
        """
        return min(self.ratio * base, self.rate * intervals)
