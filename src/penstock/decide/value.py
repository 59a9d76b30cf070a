"""What a trial of every candidate is worth: what it may improve while the work goes on, less what it costs."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.decide.belief import Belief, Floats, Knowledge
from penstock.decide.habits import (
    KEEP_LOG2,
    LEAST_HORIZON_S,
    MOST_HORIZON_S,
    OPEN_S,
    SOBER_LEAST,
    SOBER_SHARE,
    SURE,
    TRIAL_S,
    WORTH_LOG2,
)
from penstock.decide.objective import Objective, Rates, gain_log2
from penstock.decision import Outlook
from penstock.knobs import Candidates, KnobSpace, Setting


@dataclass(frozen=True, slots=True)
class Stay:
    """Where a unit is: the setting in force and the original, and how long its work has gone on, in seconds.

    `surveyed` says whether anything is known of these knobs from elsewhere. `now` counts windows. What is `barred` is
    not gone back to.
    """

    place: Setting
    home: Setting
    lasted_s: float
    surveyed: bool
    now: int
    barred: Collection[Setting] = ()
    objective: Objective = "fair"


@dataclass(frozen=True, slots=True, eq=False)
class Prospect:
    """The belief about all candidates and their prices; the best one measured; what a trial of each is worth.

    `over` is what the best one measured gains over the original beyond its price, `behind` what the setting in force
    lacks of that. `worth` is in doublings times seconds; `improvement` is what a trial may improve, in doublings.
    """

    belief: Belief
    prices: Floats
    best: int
    over: float
    behind: float
    improvement: Floats
    worth: Floats

    @property
    def bets(self) -> list[int]:
        """The candidates whose trials are worth anything, those worth most first."""
        order = np.argsort(-self.worth, kind="stable")
        return [int(at) for at in order if self.worth[at] > 0.0]

    def net(self, at: int) -> float:
        """What a candidate is expected to gain beyond its price."""
        return float(self.belief.mean[at] - self.prices[at])

    @property
    def evidence(self) -> dict[str, float]:
        """The numbers behind a decision, for the log."""
        return {"best_log2": self.over}


def weigh(known: Knowledge, belief: Belief, prices: Floats, stay: Stay) -> Prospect:
    """The best setting measured, and what a trial of every other one is worth."""
    candidates = belief.candidates
    net = Belief(candidates, belief.gains - prices, belief.votes)
    measured = _measured(known, candidates, prices, stay)
    best = max(measured, key=lambda at: measured[at])
    over = measured[best]
    improvement = net.improvement(over)
    length_s = TRIAL_S + _late(candidates, stay) * OPEN_S
    worth = improvement * _horizon_s(stay) - net.shortfall(over) * length_s
    worth[improvement < WORTH_LOG2] = 0.0
    worth[[candidates.places[s] for s, m in known.measured.items() if m.level.count >= 2]] = 0.0
    idle = _idle(candidates, stay, known.measured[stay.home].level.mean)
    worth[idle] = 0.0
    if not stay.surveyed and any(candidates.space[knob_id].limits for knob_id in candidates.ids):
        # A declaration says only which way to go.
        worth[net.mean < over + KEEP_LOG2] = 0.0
    here = measured.get(candidates.places[stay.place], 0.0)
    behind = over - here - (_unsure(known, [stay.place, candidates[best]], stay.now) if here > 0.0 else 0.0)
    return Prospect(belief, prices, best, over, behind, improvement, worth)


def _unsure(known: Knowledge, settings: Sequence[Setting], now: int) -> float:
    """By how much what settings brought may be off, all together: less is no reason to go from one to another."""
    noise = known.noise()
    return math.hypot(
        *(known.measured[one].noise_log2(noise, now) for one in settings if one in known.measured)
    )


def _measured(known: Knowledge, candidates: Candidates, prices: Floats, stay: Stay) -> dict[int, float]:
    """What the settings that were measured well enough gain beyond their prices; nothing for the original."""
    original, noise = known.measured[stay.home].level.mean, known.noise()
    found = {candidates.places[stay.home]: 0.0}
    for setting, one in known.measured.items():
        if setting == stay.home or one.level.count < 2 or setting in stay.barred:
            continue
        at, gain = candidates.places[setting], gain_log2(one.level.mean, original, stay.objective)
        net = gain - float(prices[at])
        # What is in force stays as long as it brings more; to go there takes more certainty.
        held = setting == stay.place and net > 0.0
        sure = held or (net > KEEP_LOG2 and gain > SURE * one.noise_log2(noise, stay.now))
        found[at] = net if sure or net < 0.0 else 0.0
    return found


def sober(votes: float) -> float:
    """The chance that a bet comes true, from the share of votes for it.

    The best of many bets is partly luck, and cases know less than they say. The line was fitted to how often bets
    came true when each surveyed case was the world and the others were the survey (`./run bench reliability`).
    """
    return SOBER_LEAST + SOBER_SHARE * votes


def outlook_of(direction: str, belief: Belief, model: str) -> Outlook:
    """What is believed of every candidate, for whoever asks why."""
    chances, gains, spreads = belief.chance(0.0), belief.mean, belief.deviation
    return Outlook(
        direction, belief.candidates, chances.tolist(), True, model, gains.tolist(), spreads.tolist()
    )


def _horizon_s(stay: Stay) -> float:
    """How long the work is likely to go on: at least as long as it has lasted."""
    return min(max(stay.lasted_s, LEAST_HORIZON_S), MOST_HORIZON_S)


def _late(candidates: Candidates, stay: Stay) -> Floats:
    """1 for every candidate that is felt on new opens only, else 0."""
    space: KnobSpace = candidates.space
    if not space.late:
        return np.zeros(len(candidates))
    return np.array([float(space.acts_late(stay.place, candidate)) for candidate in candidates])


def _idle(candidates: Candidates, stay: Stay, original: Rates) -> NDArray[np.bool_]:
    """Which candidates change a knob of which nothing is expected: it limits only directions in which nothing moves,
    or neither its declaration nor a survey says what it does.
    """
    limits: Sequence[tuple[str, ...]] = [candidates.space[knob_id].limits for knob_id in candidates.ids]
    if not any(limits):
        return np.zeros(len(candidates), dtype=bool)
    names = candidates.space.kind.way_names
    busy = {way for way, counts in zip(names, original.counts, strict=True) if counts}
    idle = [busy.isdisjoint(ways) if ways else not stay.surveyed for ways in limits]
    here = candidates.values[candidates.places[stay.place]]
    found: NDArray[np.bool_] = (candidates.values != here)[:, idle].any(axis=1)
    return found
