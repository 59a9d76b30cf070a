"""What is kept of a kind of work when the process that measured it ends: what each setting brought there.

Load differs from day to day, so the rates of one memory are compared with each other only. Whoever recalls one
measures the original setting anew and scales all others with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.decide.belief import Knowledge, Measured, kind_of
from penstock.decide.level import MEMORY, Level
from penstock.decide.objective import Objective, Rates, gain_log2
from penstock.decide.work import Work
from penstock.knobs import Candidates, Setting

# However often a setting was measured, remembered it counts as half of that and at most as so many windows: what is
# never measured again counts less with every restart.
MOST_RECALLED = 8
# No setting is remembered as more than this many times better or worse, as a base-2 logarithm.
MOST_LOG2 = 7.0
# A setting that brings so much more or less than was remembered of it, a fifth, shows another world.
CONTRADICTED_LOG2 = 0.26


@dataclass(frozen=True, slots=True)
class Remembered:
    """What one setting brought, over how many windows, and how much single windows differed, as a share."""

    rates: Rates
    windows: int
    noise: float

    def level(self, windows: int, rates: Rates) -> Level:
        """The same, as if those rates had been the mean of so many windows."""
        variance = (self.noise * rates.total) ** 2
        return Level(windows, rates, variance, variance, rates.total)


Memories = Mapping[Setting, Remembered]


@dataclass(frozen=True, slots=True)
class WorkMemory:
    """One kind of work on one file system. Mounts and targets are not named: their names change at every mount."""

    fs: str
    work: Work
    settings: Memories


def like(memories: Iterable[WorkMemory], fs: str, work: Work) -> list[WorkMemory]:
    """Those of the same file system and, as far as can be told, of the same work."""
    return [memory for memory in memories if memory.fs == fs and memory.work.like(work)]


def remember(known: Knowledge) -> Memories:
    """What is worth keeping; nothing where only one setting was measured."""
    found = {
        setting: Remembered(m.level.mean, min(m.level.count, MEMORY), m.level.noise)
        for setting, m in known.measured.items()
        if m.level.mean.total > 0
    }
    return sane(found) if len(found) > 1 else {}


def sane(memories: Memories) -> Memories:
    """The same; nothing where a figure in it is not one. What is kept must be readable later."""
    whole = all(
        math.isfinite(r.read + r.write + r.read_flight + r.write_flight + one.windows + one.noise)
        for one in memories.values()
        for r in (one.rates,)
    )
    return memories if whole else {}


class Recollection:
    """What a policy remembers from before a restart: first set aside, then counted as measured, then proved or
    dropped.

    It counts once the original setting was measured anew. The first measurement of a setting takes the place of what
    was remembered of it, and one that clearly contradicts it ends the whole recollection.
    """

    def __init__(self) -> None:
        #: What was handed over and does not count yet.
        self.aside: Memories = {}
        #: What counts as measured and was not measured again so far.
        self.counted: dict[Setting, Measured] = {}
        #: What was remembered of settings that were measured anew.
        self._claimed: dict[Setting, Rates] = {}

    def arrive(self, setting: Setting, known: Knowledge) -> None:
        """A window of this setting is about to be taken in."""
        if setting in self.counted:
            self._claimed[setting] = self.counted.pop(setting).level.mean
            del known.measured[setting]

    def consult(self, home: Setting, known: Knowledge, candidates: Candidates, now: int) -> None:
        """The original was measured: from now on what was set aside counts, as far as it can be set here."""
        memory, self.aside = self.aside, {}
        if home not in memory:
            return
        then, today = memory[home].rates, known.measured[home].level.mean
        if kind_of(then) != kind_of(today):
            return
        for setting, one in memory.items():
            if setting in candidates.places and setting not in known.measured:
                windows = min((one.windows + 1) // 2, MOST_RECALLED)
                level = one.level(windows, _scaled(one.rates, then, today))
                self.counted[setting] = known.measured[setting] = Measured(level, now)

    def contradicted(self, known: Knowledge, objective: Objective) -> bool:
        """Whether a measured setting is clearly not what was remembered of it."""
        return any(
            abs(gain_log2(known.measured[setting].level.mean, rates, objective)) > CONTRADICTED_LOG2
            for setting, rates in self._claimed.items()
            if setting in known.measured
        )

    def drop(self, known: Knowledge) -> None:
        """Nothing remembered counts any more."""
        for setting in self.counted:
            known.measured.pop(setting, None)
        self.counted, self._claimed = {}, {}


def _scaled(rates: Rates, then: Rates, today: Rates) -> Rates:
    """What a setting would bring today, if it gained over the original what it gained then."""
    return Rates(
        today.read * _ratio(rates.read, then.read),
        today.write * _ratio(rates.write, then.write),
        rates.read_flight,
        rates.write_flight,
    )


def _ratio(now: float, then: float) -> float:
    return min(max(now / then, 2.0**-MOST_LOG2), 2.0**MOST_LOG2) if then > 0 else 1.0
