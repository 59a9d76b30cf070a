"""Methods against each other on real runs: chosen on one half of the repetitions, scored on the other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.collective_study.blackbox import BlackBox, Run, fractional_design

from penstock.plan.collective.access import Access
from penstock.plan.collective.advise import advise, contenders, settle
from penstock.plan.collective.confirm import HintTrial, gain, surely_faster
from penstock.plan.collective.surrogates import Surrogates

METHODS = ("hybrid", "advice", "ml", "random", "rule", "optimal")
TOP = 3


@dataclass(frozen=True, slots=True)
class Instance:
    """One access with real runs of all its candidates."""

    access: Access
    trials: tuple[HintTrial, ...]

    def half(self, which: int) -> tuple[HintTrial, ...]:
        """Every other repetition, so that both halves see the same weather."""
        return tuple(HintTrial(trial.candidate, trial.seconds[which::2]) for trial in self.trials)


@dataclass(frozen=True, slots=True)
class Score:
    """One method's choice for one instance: its name and its speedup over no hints on the scoring half.

    `worse` tells whether the choice is measurably slower than no hints there.
    """

    method: str
    choice: str
    speedup: float
    worse: bool = False


def score_all(surrogates: Surrogates, instances: Sequence[Instance]) -> list[dict[str, Score]]:
    """Every method on every instance. Random's speedup is the geometric mean over all candidates."""
    learned = BlackBox(_training(instances))
    return [_score(surrogates, learned, instance) for instance in instances]


def _training(instances: Sequence[Instance]) -> list[Run]:
    runs = []
    for number, instance in enumerate(instances):
        chosen = fractional_design([trial.candidate for trial in instance.trials], number)
        medians = {trial.candidate.name: trial.median_s for trial in instance.half(0)}
        runs += [Run(instance.access, option, medians[option.name]) for option in chosen]
    return runs


def _score(surrogates: Surrogates, learned: BlackBox, instance: Instance) -> dict[str, Score]:
    choosing, scoring = instance.half(0), instance.half(1)
    options = [trial.candidate for trial in instance.trials]
    advice = advise(surrogates, instance.access, options)
    names = {one.candidate.name for one in contenders(advice, TOP)}
    settled = settle(advice, [trial for trial in choosing if trial.candidate.name in names])
    guesses = learned.seconds(instance.access, options)
    by_name = {trial.candidate.name: trial for trial in scoring}
    none = by_name["none"]
    choices = {
        "hybrid": advice.chosen.candidate.name if advice.chosen else "none",
        "advice": settled.chosen.candidate.name if settled.chosen else "none",
        "ml": options[int(guesses.argmin())].name,
        "rule": "rule",
        "optimal": min(scoring, key=lambda trial: trial.median_s).candidate.name,
    }
    scores = {
        method: Score(method, name, gain(by_name[name], none), surely_faster(none, by_name[name]))
        for method, name in choices.items()
    }
    everyone = geomean([gain(trial, none) for trial in scoring])
    scores["random"] = Score("random", "any", everyone)
    return {method: scores[method] for method in METHODS}


def geomean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(statistics.fmean(math.log(value) for value in values))
