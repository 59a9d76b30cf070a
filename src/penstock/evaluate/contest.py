"""Compares policies on the same work: runs every policy on every seed and averages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.evaluate.figures import Mean, geomean, headroom_captured, mean
from penstock.evaluate.lab import Lab
from penstock.evaluate.request import BEST_STATIC, Request
from penstock.evaluate.rows import Ratios
from penstock.evaluate.search import StaticChoice
from penstock.evaluate.seed_ratios import ABSORBED, REWRITTEN, Ratio, over_seeds
from penstock.evaluate.trial import Measured
from penstock.simulate.assembly import Plan

PlanOf = Callable[[Request, str, int], Plan]


@dataclass(frozen=True, slots=True)
class Contest:
    """The results by name, policy and seed, and each policy's mean application rate and wire rate by name."""

    found: Mapping[tuple[str, str, int], Measured]
    rates: Mapping[tuple[str, str], Mean]
    wire: Mapping[tuple[str, str], Mean]

    def summary(self, names: Sequence[str], policy: str) -> Ratios:
        """The four figures of a policy over all names, in which goals are stated."""
        default, best, mine = (
            [self.rates[name, each].value for name in names] for each in ("default", BEST_STATIC, policy)
        )
        return {
            "geomean_vs_default": geomean(m / d for m, d in zip(mine, default, strict=True)),
            "geomean_vs_best_static": geomean(m / b for m, b in zip(mine, best, strict=True)),
            "worst_vs_default": min(m / d for m, d in zip(mine, default, strict=True)),
            "headroom_captured": headroom_captured(zip(default, best, mine, strict=True)),
        }

    def vs_default(self, name: str, policy: str, seeds: Sequence[int]) -> Ratio:
        """The ratio of a policy to the default. Each seed is compared with itself."""
        pairs = ((self.found[name, policy, seed], self.found[name, "default", seed]) for seed in seeds)
        return over_seeds([mine.app_mbps / base.app_mbps for mine, base in pairs])

    def rewrites(self, name: str, policies: Sequence[str]) -> bool:
        """Whether the cache does the work: applications write far more than is sent, or gain what does not show on
        the wire.
        """
        base_app, base_wire = (each[name, "default"].value for each in (self.rates, self.wire))
        writes = any(self.found[name, "default", seed].wire[1] > 0 for n, _, seed in self.found if n == name)
        if not writes or base_wire <= 0:
            return False
        gains = [
            self.rates[name, each].value / base_app / (self.wire[name, each].value / base_wire)
            for each in policies
            if self.wire[name, each].value > 0
        ]
        return base_app > ABSORBED * base_wire or max(gains, default=1.0) > REWRITTEN


def contest(
    lab: Lab, request: Request, stage: str, plan_of: PlanOf, best: Mapping[str, StaticChoice]
) -> Contest:
    """Run the default, the best static setting and every requested policy, on everything that has a best setting."""
    policies = competitors(request)
    trials = {
        (name, policy, seed): request.trial(plan_of(request, name, seed), policy, choice.setting)
        for name, choice in best.items()
        for policy in policies
        for seed in request.all_seeds
    }
    found = lab.answer(stage, trials)
    rates = {
        (name, policy): mean([found[name, policy, seed].app_mbps for seed in request.all_seeds])
        for name in best
        for policy in policies
    }
    wire = {
        (name, policy): mean([sum(found[name, policy, seed].wire) for seed in request.all_seeds])
        for name, policy in rates
    }
    return Contest(found, rates, wire)


def competitors(request: Request) -> tuple[str, ...]:
    """All participants, without duplicates."""
    return tuple(dict.fromkeys(("default", BEST_STATIC, *request.policies)))
