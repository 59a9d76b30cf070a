"""What `penstock fleet worth` says of worlds that had no part in it, against what tuning then brought there."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.fleet_page import PAGE
from benchmarks.made_part import replace_part

from penstock.agent.fleet_worth import GAINED_LOG2
from penstock.gains import Gain, mean_gain
from penstock.predict.like_cases import LikeCases, like_cases
from penstock.predict.tuned_cases import SHIPPED, TunedCase, dump_cases
from penstock.report.learning import draw_reliability
from penstock.train.survey import BELIEVED_LOG2

PLOT = PAGE.parent / "images" / "fleet-worth.png"
#: Classes of the chance that was said.
CHANCES = (0.0, 0.2, 0.3, 0.4, 0.5, 1.01)
# So many kept worlds in a row are taken for one site, ...
SITE = 8
# ... whose gain is said from so many draws.
DRAWS, SEED = 2000, 49


@dataclass(frozen=True, slots=True, eq=False)
class Said:
    """One simulated client, what was said of it, and what one would say who knows its direction only."""

    case: TunedCase
    like: LikeCases
    plain_log2: float

    @property
    def chance(self) -> float:
        """The chance of 5 % that was said."""
        return self.like.chance(GAINED_LOG2)

    @property
    def gained(self) -> bool:
        """Whether it gained that."""
        return self.case.gain_log2 >= GAINED_LOG2

    @property
    def is_within(self) -> bool:
        """Whether the gain lies within what 95 % of like cases gained."""
        low, high = self.like.quantile_log2(0.025), self.like.quantile_log2(0.975)
        return low - 1e-9 <= self.case.gain_log2 <= high + 1e-9


def write(
    played: Sequence[TunedCase], scaling: Sequence[TunedCase], kept: Sequence[TunedCase], page: Path = PAGE
) -> str:
    """Make the shipped file from the played cases, and the page's part and plot from the kept ones."""
    scale = scale_of(played, scaling)
    cases = [replace(case, gain_log2=scale.ratio * case.gain_log2) for case in played]
    source = f"{len(cases)} cases of the shipped survey, played; gains scaled by {scale.ratio:.3f}"
    SHIPPED.write_bytes(dump_cases(cases, f"{source} (benchmarks.fleet_worth)"))
    said = list(compared(cases, kept))
    draw_reliability(PLOT, {"gains at least 5 %": list(_points(said))}, tau=None)
    lead = (
        f"The shipped cases are {len(cases)}. Their gains are scaled by {scale.ratio:.2f} [{scale.low:.2f}, "
        f"{scale.high:.2f}], which {len(scaling)} clients of {worlds_of(scaling)} simulated worlds set. Compared "
        f"with {len(kept)} clients of {worlds_of(kept)} other worlds:"
    )
    text = "\n\n".join([lead, chances_table(said), summary(said)])
    replace_part(page, "worth", text)
    return text


def scale_of(played: Sequence[TunedCase], scaling: Sequence[TunedCase]) -> Gain:
    """The mean gain of simulated clients over what is said of them, 0 to 1, with its 95 % interval over worlds.

    As in the survey, no simulated client is believed to gain more than twice.
    """
    sums: dict[str, tuple[float, float]] = {}
    for one in compared(played, scaling):
        came, said = sums.get(world := one.case.origin.split("/")[0], (0.0, 0.0))
        came += one.case.weight * min(one.case.gain_log2, BELIEVED_LOG2)
        sums[world] = came, said + one.case.weight * one.like.mean_log2
    both = np.array(list(sums.values()))
    drawn = both[np.random.default_rng(SEED).integers(0, len(both), (DRAWS, len(both)))].sum(axis=1)
    ratios = np.clip([one[0] / one[1] for one in (both.sum(axis=0), *drawn)], 0.0, 1.0)
    return Gain(float(ratios[0]), *(float(np.quantile(ratios[1:], part)) for part in (0.025, 0.975)))


def worlds_of(cases: Sequence[TunedCase]) -> int:
    """How many worlds these clients are of."""
    return len({case.origin.split("/")[0] for case in cases})


def compared(cases: Sequence[TunedCase], simulated: Sequence[TunedCase]) -> Iterator[Said]:
    """What the cases say of each simulated client."""
    for one in simulated:
        like = like_cases(one.work, one.look, cases)
        if like is not None:
            same = [case for case in cases if case.work == one.work]
            weight = sum(case.weight for case in same)
            yield Said(one, like, sum(case.weight * case.gain_log2 for case in same) / weight)


def chances_table(said: Sequence[Said]) -> str:
    """What was said against what came true, by classes of chance."""
    lines = [
        "| chance of 5 % that was said | clients | said, mean | came true | gain, mean |",
        "|---|---|---|---|---|",
    ]
    for low, high, members in _classes(said):
        chance, came = (statistics.fmean(values) for values in _said_and_came(members))
        lines.append(
            f"| {low:.0%} to {min(high, 1.0):.0%} | {len(members)} | {chance:.0%} | {came:.0%} | {_mean(members)} |"
        )
    return "\n".join(lines)


def summary(said: Sequence[Said]) -> str:
    """How far off it was, beside a rule that knows the direction only; whether intervals hold."""
    within = statistics.fmean(one.is_within for one in said)
    expected = 2 ** statistics.fmean(one.like.mean_log2 for one in said)
    lines = [
        f"- All of them: said {expected:.2f} times, came {_mean(said)}.",
        f"- {within:.0%} of the clients gained what 95 % of like cases gained.",
        f"- Off by {_off(said, lambda one: one.like.mean_log2):.3f} doublings (root mean square); who says of each "
        f"client the mean of its direction is off by {_off(said, lambda one: one.plain_log2):.3f}.",
    ]
    sites = list(_sites(said))
    if sites:
        held = sum(low <= came <= high for low, _, high, came in sites)
        pairs = "; ".join(
            f"{middle:.2f} [{low:.2f}, {high:.2f}], {came:.2f}" for low, middle, high, came in sites
        )
        lines.append(
            f"- Of {len(sites)} sites of {SITE} worlds each, all equally busy, {held} got a total within the 95 % "
            f"interval. Said, and came: {pairs}."
        )
    return "\n".join(lines)


def _said_and_came(members: Sequence[Said]) -> tuple[list[float], list[float]]:
    return [one.chance for one in members], [float(one.gained) for one in members]


def _classes(said: Sequence[Said]) -> Iterator[tuple[float, float, list[Said]]]:
    for low, high in itertools.pairwise(CHANCES):
        members = [one for one in said if low <= one.chance < high]
        if members:
            yield low, high, members


def _points(said: Sequence[Said]) -> Iterator[tuple[float, float, int]]:
    """Each class: the chance that was said, the part that came true, of how many."""
    for _, _, members in _classes(said):
        chance, came = (statistics.fmean(values) for values in _said_and_came(members))
        yield chance, came, len(members)


def _sites(said: Sequence[Said]) -> Iterator[tuple[float, float, float, float]]:
    """For each site the interval that was said of its total, and what it was: busy time over what it would be."""
    rng = np.random.default_rng(SEED)
    first = {one.case.origin.split("/")[0]: one for one in reversed(said)}
    members = [first[name] for name in dict.fromkeys(one.case.origin.split("/")[0] for one in said)]
    for at in range(0, len(members) - SITE + 1, SITE):
        site = members[at : at + SITE]
        totals = 1.0 / np.mean([np.exp2(-one.like.draw(DRAWS, rng)) for one in site], axis=0)
        low, middle, high = (float(np.quantile(totals, part)) for part in (0.025, 0.5, 0.975))
        yield low, middle, high, 1.0 / statistics.fmean(2**-one.case.gain_log2 for one in site)


def _off(said: Sequence[Said], guess: Callable[[Said], float]) -> float:
    return math.sqrt(statistics.fmean((guess(one) - one.case.gain_log2) ** 2 for one in said))


def _mean(members: Sequence[Said]) -> str:
    """The mean gain with its interval, from the spread over clients: one run's gain has none of its own."""
    gains = [2**one.case.gain_log2 for one in members]
    mean = mean_gain([Gain(gain, gain, gain) for gain in gains])
    if mean is None or mean.low is None or mean.high is None or len(gains) < 2:
        return f"{gains[0]:.2f}"
    return f"{mean.ratio:.2f} [{mean.low:.2f}, {mean.high:.2f}]"
