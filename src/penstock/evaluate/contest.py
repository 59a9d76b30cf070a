"""Policies compared on the same work: every policy on every seed, and the mean of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.evaluate.figures import Mean, geomean, headroom_captured, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import Ratios
from penstock.evaluate.search import StaticChoice
from penstock.evaluate.trial import Measured
from penstock.simulate.assembly import Plan

PlanOf = Callable[[Request, str, int], Plan]


@dataclass(frozen=True, slots=True)
class Contest:
    """What was measured, by name, policy and seed, and each policy's mean rate on each name."""

    found: Mapping[tuple[str, str, int], Measured]
    rates: Mapping[tuple[str, str], Mean]

    def summary(self, names: Sequence[str], policy: str) -> Ratios:
        """A policy over all names, in the four figures that goals are set in."""
        default, best, mine = (
            [self.rates[name, each].value for name in names] for each in ("default", BEST_STATIC, policy)
        )
        return {
            "geomean_vs_default": geomean(m / d for m, d in zip(mine, default, strict=True)),
            "geomean_vs_best_static": geomean(m / b for m, b in zip(mine, best, strict=True)),
            "worst_vs_default": min(m / d for m, d in zip(mine, default, strict=True)),
            "headroom_captured": headroom_captured(zip(default, best, mine, strict=True)),
        }


def contest(
    lab: Lab, request: Request, stage: str, plan_of: PlanOf, best: Mapping[str, StaticChoice]
) -> Contest:
    """Default, best static setting and every policy asked for, on everything a best setting was chosen for."""
    policies = competitors(request)
    trials = {
        (name, policy, seed): request.trial(plan_of(request, name, seed), policy, choice.setting)
        for name, choice in best.items()
        for policy in policies
        for seed in request.all_seeds
    }
    found = dict(zip(trials, lab.measure(stage, list(trials.values())), strict=True))
    rates = {
        (name, policy): mean([found[name, policy, seed].app_mbps for seed in request.all_seeds])
        for name in best
        for policy in policies
    }
    return Contest(found, rates)


def competitors(request: Request) -> tuple[str, ...]:
    """Everybody who takes part, each once."""
    return tuple(dict.fromkeys(("default", BEST_STATIC, *request.policies)))
