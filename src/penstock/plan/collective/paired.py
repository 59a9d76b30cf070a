"""Compares a command with and without hints in interleaved pairs of runs.

The two runs of a pair follow each other, so a slow machine affects both. Their order is random. The verdict makes no
assumption about the noise. It asks how often ratios at least as one-sided as these would occur if hints made no
difference, that is, if each ratio could as well have been its inverse.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# With more pairs than this, counting all sign patterns takes too long, and the sign test is used.
MOST_COUNTED = 12
LEAST_GAIN = 1.02
CONFIDENCE = 0.95
# Fewer pairs than this cannot reach that confidence, however much they agree.
FEWEST_PAIRS = 5
# Start-up and whatever else the machine does decide how long shorter runs take.
SHORT_S = 1.0


@dataclass(frozen=True, slots=True)
class RunPair:
    """One pair: seconds without and with hints, and whether the hinted run came first."""

    plain_s: float
    hinted_s: float
    hinted_first: bool

    @property
    def ratio(self) -> float:
        """How many times faster the hints made it."""
        return self.plain_s / self.hinted_s


@dataclass(frozen=True, slots=True)
class PairedVerdict:
    """The conclusion from the pairs: `faster`, `slower`, or `unclear`.

    `gain` is the median of the ratios; above 1 hints were faster. `certainty` is the probability that the direction
    is not due to chance.
    """

    verdict: str
    gain: float
    certainty: float
    pairs: tuple[RunPair, ...]

    @property
    def short(self) -> bool:
        """Whether the runs are too short to rely on."""
        return statistics.median(pair.plain_s for pair in self.pairs) < SHORT_S

    def doubt(self, verified: bool | None) -> str | None:
        """Why nothing is to be learnt from this; None if the hints were seen at work in enough runs of a second."""
        if not verified:
            return "the hints did not take effect" if verified is False else "the hints could not be verified"
        if self.short:
            return "the runs are shorter than a second"
        if len(self.pairs) < FEWEST_PAIRS:
            return f"fewer than {FEWEST_PAIRS} pairs prove nothing"
        return None

    def text(self) -> str:
        """The verdict as one sentence."""
        low, high = min(pair.ratio for pair in self.pairs), max(pair.ratio for pair in self.pairs)
        figures = f"{self.gain:.2f} times as fast in the middle of {len(self.pairs)} pairs ({low:.2f} to {high:.2f})"
        found = "no measurable difference" if self.verdict == "unclear" else f"hints make it {self.verdict}"
        doubt = (
            "; runs of less than a second measure start-up and chance, do not rely on this"
            if self.short
            else ""
        )
        return f"{found}: {figures}, certainty {self.certainty:.0%}{doubt}"


def run_pairs(count: int, seed: int, run: Callable[[bool], float]) -> list[RunPair]:
    """`count` pairs of `run`, which is told whether to use hints and returns seconds."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        first = rng.random() < 0.5
        seconds = {hinted: run(hinted) for hinted in (first, not first)}
        found.append(RunPair(seconds[False], seconds[True], first))
    return found


def judge_pairs(pairs: Sequence[RunPair]) -> PairedVerdict:
    """The verdict on some pairs; fewer than five prove nothing at 95 %."""
    logs = [math.log(pair.ratio) for pair in pairs]
    gain = math.exp(statistics.median(logs))
    up, down = chance(logs), chance([-value for value in logs])
    certainty = 1 - min(up, down)
    worth = max(gain, 1 / gain) > LEAST_GAIN
    clear = worth and certainty >= CONFIDENCE and (up < down) == (gain > 1)
    verdict = ("faster" if gain > 1 else "slower") if clear else "unclear"
    return PairedVerdict(verdict, gain, certainty, tuple(pairs))


def chance(logs: Sequence[float]) -> float:
    """How often signs drawn at random would make the sum of these logarithms at least as large.

    >>> chance([0.1, 0.2, 0.3, 0.2, 0.1])
    0.03125
    """
    if len(logs) > MOST_COUNTED:
        wins = sum(value > 0 for value in logs)
        above = sum(math.comb(len(logs), more) for more in range(wins, len(logs) + 1))
        return above / float(2 ** len(logs))
    total = sum(logs) - 1e-12
    sizes = [abs(value) for value in logs]
    signs = itertools.product((1, -1), repeat=len(logs))
    reached = sum(
        sum(sign * size for sign, size in zip(drawn, sizes, strict=True)) >= total for drawn in signs
    )
    return reached / float(2 ** len(logs))
