"""A switchback experiment: tuning on and off in alternating blocks on the user's own node, with a statistical
verdict.

Blocks come in pairs, one on and one off, in random order, so that a drift of the workload favours neither side. Each
pair gives one log ratio. Student's t over the pairs gives the interval. Pairs with a block without I/O are left out.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from penstock.errors import UsageError
from penstock.gains import Gain, GainVerdict

# Two-sided 95 % quantiles of Student's t for 1..30 degrees of freedom. Beyond that the normal quantile is used.
_T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_NORMAL_95 = 1.960
FEWEST_PAIRS = 3
_WORDS = {
    GainVerdict.GAIN: "tuning helps",
    GainVerdict.LOSS: "tuning harms",
    GainVerdict.NO_DIFFERENCE: "no difference",
    GainVerdict.UNDECIDED: "undecided",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of time with tuning on or off, and the node's throughput in it."""

    tuned: bool
    bytes_per_s: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Throughput with tuning over without, and its 95 % interval; None if too few pairs did any I/O."""

    pairs: int
    gain: float | None
    low: float | None
    high: float | None

    @property
    def verdict(self) -> GainVerdict:
        """What the interval shows; undecided where too few pairs did any I/O."""
        return GainVerdict.UNDECIDED if self.gain is None else Gain(self.gain, self.low, self.high).verdict

    @property
    def sentence(self) -> str:
        """The result in words that claim no more than the interval supports."""
        if self.gain is None:
            pairs = "1 pair" if self.pairs == 1 else f"{self.pairs} pairs"
            return f"undecided: only {pairs} of blocks saw I/O, {FEWEST_PAIRS} are needed"
        interval = f"{self.gain:.3f} times as fast, 95 % between {self.low:.3f} and {self.high:.3f}"
        return f"{_WORDS[self.verdict]}: {interval}"


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """How long blocks last and how many pairs fit."""

    on_s: float
    off_s: float
    total_s: float

    @property
    def pairs(self) -> int:
        """The number of complete pairs."""
        return int(self.total_s // (self.on_s + self.off_s))


def check(plan: TrialPlan) -> None:
    """Refuse a plan that cannot reach a verdict, before it costs hours."""
    if min(plan.on_s, plan.off_s) <= 0:
        raise UsageError("blocks must last longer than 0 s")
    if plan.pairs < FEWEST_PAIRS:
        raise UsageError(
            f"{plan.total_s:g} s hold {plan.pairs} pairs of blocks; a verdict needs at least {FEWEST_PAIRS}"
        )


def run(
    plan: TrialPlan, switch: Callable[[bool], None], measure: Callable[[float], float], seed: int
) -> Iterator[Block]:
    """Carry out the plan, block by block.

    `switch` turns tuning on or off, `measure` waits and returns bytes per second.
    """
    check(plan)
    rng = Random(seed)
    for _ in range(plan.pairs):
        order = (True, False) if rng.random() < 0.5 else (False, True)
        for tuned in order:
            switch(tuned)
            yield Block(tuned, measure(plan.on_s if tuned else plan.off_s))


def judge(blocks: Sequence[Block]) -> Verdict:
    """The gain over all pairs with its interval."""
    ratios = []
    for first, second in zip(blocks[::2], blocks[1::2], strict=False):
        on, off = (first, second) if first.tuned else (second, first)
        if on.bytes_per_s > 0 and off.bytes_per_s > 0:
            ratios.append(math.log(on.bytes_per_s / off.bytes_per_s))
    return over_ratios(ratios)


def over_ratios(ratios: Sequence[float]) -> Verdict:
    """The mean of independent log ratios, with its interval by Student's t."""
    pairs = len(ratios)
    if pairs < FEWEST_PAIRS:
        return Verdict(pairs, None, None, None)
    mean = statistics.fmean(ratios)
    quantile = _T_95[pairs - 2] if pairs - 1 <= len(_T_95) else _NORMAL_95
    half = quantile * statistics.stdev(ratios) / math.sqrt(pairs)
    return Verdict(pairs, math.exp(mean), math.exp(mean - half), math.exp(mean + half))
