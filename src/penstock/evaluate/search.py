"""The best static setting by successive halving: all 99 briefly, the best of them longer, the last in full.

Chosen on one seed; whoever measures the choice does so on another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.simulated import grid
from penstock.evaluate.trial import WARMUP_S, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.spaces import LUSTRE

CHOICE_SEED = 1_000_003
DEFAULT = LUSTRE.default.only("pages", "flight")


@dataclass(frozen=True, slots=True)
class Round:
    """So many settings, each measured for some time after some warm-up."""

    settings: int
    warmup_s: float
    seconds: float


ROUNDS = (Round(99, 3.0, 3.0), Round(24, 4.0, 10.0), Round(8, WARMUP_S, 25.0), Round(3, WARMUP_S, 60.0))


@dataclass(frozen=True, slots=True)
class Choice:
    """The last round's settings, the best first, and the first round's map of all, in the order of the grid."""

    ranking: tuple[Setting, ...]
    surface: tuple[float, ...]

    @property
    def setting(self) -> Setting:
        """The one chosen."""
        return self.ranking[0]


def choose(
    lab: Lab, groups: Mapping[str, Sequence[Plan]], seconds: float, rounds: Sequence[Round] = ROUNDS
) -> dict[str, Choice]:
    """For each named group of worlds the setting under which their throughputs sum to most.

    All groups go through a round together, which keeps every worker busy. The default always stays in the
    race: the best static setting is never worse than it, but for chance.
    """
    racing = {name: list(grid()) for name in groups}
    surfaces: dict[str, tuple[float, ...]] = {}
    for number, this in enumerate(rounds, 1):
        shorter = replace(this, seconds=min(this.seconds, max(seconds, 1.0)))
        scores = _score(lab, f"search, round {number}", groups, racing, shorter)
        if number == 1:
            surfaces = {name: tuple(found.values()) for name, found in scores.items()}
        following = rounds[number].settings if number < len(rounds) else this.settings
        racing = {name: _best(found, following) for name, found in scores.items()}
    return {name: Choice(tuple(racing[name]), surfaces[name]) for name in groups}


def _score(
    lab: Lab,
    stage: str,
    groups: Mapping[str, Sequence[Plan]],
    racing: Mapping[str, Sequence[Setting]],
    this: Round,
) -> dict[str, dict[Setting, float]]:
    wanted = [
        (name, setting, Trial(_elsewhere(plan), Course(this.seconds, this.warmup_s, setting)))
        for name, plans in groups.items()
        for setting in racing[name]
        for plan in plans
    ]
    scores: dict[str, dict[Setting, float]] = {name: {} for name in groups}
    measured = lab.measure(stage, [trial for _, _, trial in wanted])
    for (name, setting, _), one in zip(wanted, measured, strict=True):
        scores[name][setting] = scores[name].get(setting, 0.0) + one.app_mbps
    return scores


def _best(scores: Mapping[Setting, float], count: int) -> list[Setting]:
    ranked = sorted(scores, key=lambda setting: scores[setting], reverse=True)[:count]
    if DEFAULT not in ranked:
        ranked[-1] = DEFAULT
    return ranked


def _elsewhere(plan: Plan) -> Plan:
    """The same world with other random numbers."""
    return replace(plan, seed=plan.seed + CHOICE_SEED)
