"""Does what `weir` says with a chance come true as often as it says?

usage: ./run bench reliability [--noise .1] [--seed 1]

Every surveyed case is once the world and the others are the survey. The world is played from its default: a setting
is measured for three windows, the best bet is tried if it is worth a trial, and so on until nothing is. For every bet
this compares the chance that was said with whether the setting then brought more than the best one before it. The
share of the possible gain that was found comes beside it, for worlds where the best setting brings 1.2 times the
default or more.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from penstock.decide.belief import Knowledge, MeasuredSetting
from penstock.decide.guard import GuardLimits
from penstock.decide.guard.prices import fullness, prices
from penstock.decide.look import Look
from penstock.decide.objective import Rates, gain_log2
from penstock.decide.value import Stay, sober, weigh
from penstock.decision import Cases
from penstock.predict.shipped import default_survey
from penstock.predict.surfaces import KINDS, Case, SurveyPredictor
from penstock.spaces import LUSTRE

Floats = NDArray[np.float64]
WINDOWS, WINDOW_S = 3, 0.5
#: More trials than this do not fit into two minutes.
MOST_TRIALS = 12
BYTES_PER_S = 1e8
BINS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.01)
CANDIDATES = LUSTRE.candidates()
HOME = LUSTRE.default.only(*LUSTRE.searched)
AT_HOME = CANDIDATES.places[HOME]


@dataclass
class Played:
    """Worlds of one kind of work: the bets, and how much of the possible gain was found."""

    bets: list[tuple[float, bool]] = field(default_factory=list)
    captured: list[float] = field(default_factory=list)


class World:
    """One surveyed case as the truth: what each setting brings, with noise."""

    def __init__(self, case: Case, noise: float, rng: np.random.Generator) -> None:
        self.look = case.look
        self._gains, self._kind = case.gains - case.gains[:, [AT_HOME]], case.kind
        self._noise, self._rng = noise, rng
        self._flight = 2.0 ** case.look[0] if case.look else float(HOME["flight"])

    def window(self, at: int) -> Rates:
        """One window at a setting."""
        noise = 1.0 + self._noise * self._rng.standard_normal(len(self._gains))
        rates = BYTES_PER_S * 2.0 ** self._gains[:, at] * np.maximum(noise, 0.1)
        sides = {"read": (rates[0], 0.0), "write": (0.0, rates[0]), "both": (rates[0], rates[-1])}
        read, write = sides[self._kind]
        return Rates(float(read), float(write), self._flight * (read > 0), self._flight * (write > 0))

    def total(self, at: int) -> float:
        """What a setting truly brings, in defaults."""
        return float(np.mean(2.0 ** self._gains[:, at]))

    def best(self) -> float:
        """The best total of a setting that leaves each direction four fifths."""
        fair = (2.0**self._gains >= 0.8).all(axis=0)
        return max(1.0, float(np.mean(2.0**self._gains, axis=0)[fair].max(initial=1.0)))


def play(world: World, cases: Cases, played: Played) -> float:
    """Try what promises enough until nothing does; answers what the setting that is kept brings, in defaults."""
    known, now, place, over, said = Knowledge(), 0, HOME, 0.0, None
    if world.look:
        known = Knowledge(looks={"read": Look("read", 1, world.look)})
    for _trial in range(MOST_TRIALS + 1):
        measured = known.measured.setdefault(place, MeasuredSetting())
        for _ in range(WINDOWS):
            now += 1
            measured.take(world.window(CANDIDATES.places[place]), now)
        if said is not None:
            gain = gain_log2(measured.level.mean, known.measured[HOME].level.mean, "fair")
            played.bets.append((said, gain > over))
        belief = known.believe(cases, CANDIDATES, HOME, now, "fair")
        stay = Stay(place, HOME, now * WINDOW_S, surveyed=True, now=now)
        full = fullness(known.measured[HOME].level.mean, HOME, LUSTRE)
        found = weigh(known, belief, prices(belief.candidates, HOME, full, GuardLimits()), stay)
        if not found.bets:
            break
        bet = found.bets[0]
        over, said, place = found.over, sober(float(belief.chance(found.over)[bet])), CANDIDATES[bet]
    if world.best() >= 1.2:
        played.captured.append((world.total(found.best) - 1.0) / (world.best() - 1.0))
    return world.total(found.best)


def played_all(noise: float, seed: int) -> Iterator[tuple[Case, float, Played]]:
    """Every surveyed case as the world, with the others as the survey: what was kept brings, and the bets."""
    rng, survey = np.random.default_rng(seed), default_survey()
    for kind in KINDS:
        for case in survey.of(kind):
            others = replace(survey, cases=tuple(other for other in survey.of(kind) if other is not case))
            seen = SurveyPredictor(others).outlooks("read", [()], CANDIDATES)[0].cases
            assert seen is not None
            played = Played()
            yield case, play(World(case, noise, rng), seen, played), played


def main() -> None:
    """Print a table a kind of work."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for kind, all_of_it in itertools.groupby(
        played_all(asked.noise, asked.seed), key=lambda one: one[0].kind
    ):
        worlds = [played for _, _, played in all_of_it]
        captured = [share for played in worlds for share in played.captured]
        said_and_came = [bet for played in worlds for bet in played.bets]
        share = float(np.mean(captured)) if captured else float("nan")
        print(f"{kind}: {len(worlds)} worlds, {len(said_and_came)} bets, {share:.2f} of the possible gain")
        for low, high in itertools.pairwise(BINS):
            bets = [bet for bet in said_and_came if low <= bet[0] < high]
            if bets:
                said, came = (float(np.mean(column)) for column in zip(*bets, strict=True))
                print(f"  said {said:.2f}, came true {came:.2f} ({len(bets)} bets)")


if __name__ == "__main__":
    main()
