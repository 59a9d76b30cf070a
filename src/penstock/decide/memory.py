"""What a policy keeps across a restart: the rates that each setting brought for each kind of work.

The load differs from day to day, so only rates of the same memory may be compared with each other. After a restart
the policy measures the original setting again and scales all other remembered rates by the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.decide.belief import Knowledge, MeasuredSetting, kind_of
from penstock.decide.habits import CONTRADICTED_LOG2, MEAN_WINDOWS, MOST_LOG2, MOST_RECALLED
from penstock.decide.level import Level
from penstock.decide.objective import Objective, Rates, gain_log2
from penstock.decide.work import Work
from penstock.knobs import Candidates, KnobSpace, Setting, TargetKind
from penstock.knobs.target_kind import DATA


@dataclass(frozen=True, slots=True)
class Remembered:
    """The rates at one setting, the number of windows measured, and the relative deviation of single windows."""

    rates: Rates
    windows: int
    noise: float

    def level(self, windows: int, rates: Rates) -> Level:
        """A `Level` as it would be after `windows` windows with these mean rates."""
        variance = (self.noise * rates.total) ** 2
        return Level(windows, rates, variance)


Memories = Mapping[Setting, Remembered]


@dataclass(frozen=True, slots=True)
class WorkMemory:
    """The memory of one kind of work on one file system.

    Mounts and targets are left out, because their names change at every mount.
    """

    fs: str
    work: Work
    settings: Memories
    #: What the targets are, where they are no data paths.
    targets: str = ""


def targets_of(kind: TargetKind) -> str:
    """What a memory calls targets of a kind."""
    return "" if kind.section == DATA else kind.name


def like(memories: Iterable[WorkMemory], fs: str, work: Work, targets: str = "") -> list[WorkMemory]:
    """The memories of the same file system and kind of targets, and of work that may be the same."""
    mine = (memory for memory in memories if memory.fs == fs and memory.targets == targets)
    return [memory for memory in mine if memory.work.like(work)]


def remember(known: Knowledge) -> Memories:
    """The memory of what was measured. It is empty if only one setting was measured."""
    found = {
        setting: Remembered(m.level.mean, min(m.level.count, MEAN_WINDOWS), m.level.noise)
        for setting, m in known.measured.items()
        if m.level.mean.total > 0
    }
    return sane(found) if len(found) > 1 else {}


def sane(memories: Memories) -> Memories:
    """The same memories, or none if any figure is not finite: they must be readable from the file later."""
    whole = all(
        math.isfinite(r.read + r.write + r.read_flight + r.write_flight + one.windows + one.noise)
        for one in memories.values()
        for r in (one.rates,)
    )
    return memories if whole else {}


class Recollection:
    """The memories that a policy was given after a restart, and what became of each.

    Memories are first set aside. They count as measurements once the original setting was measured again. The first
    new measurement of a setting replaces its memory. If a new measurement clearly contradicts its memory, all
    memories are dropped.
    """

    def __init__(self) -> None:
        #: Memories that do not count yet.
        self.aside: Memories = {}
        #: Memories that count as measurements and were not measured again so far.
        self.counted: dict[Setting, MeasuredSetting] = {}
        #: What was remembered of settings that have been measured again.
        self._claimed: dict[Setting, Rates] = {}

    def arrive(self, setting: Setting, known: Knowledge) -> None:
        """Replace the memory of a setting, because a window of it is about to be added."""
        if setting in self.counted:
            self._claimed[setting] = self.counted.pop(setting).level.mean
            del known.measured[setting]

    def consult(self, home: Setting, known: Knowledge, candidates: Candidates, now: int) -> None:
        """Count the memories as measurements, as far as this machine has those settings.

        Call it once the original is measured.
        """
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
                self.counted[setting] = known.measured[setting] = MeasuredSetting(level, now)

    def contradicted(self, known: Knowledge, objective: Objective) -> bool:
        """Whether a new measurement differs clearly from what was remembered."""
        return any(
            abs(gain_log2(known.measured[setting].level.mean, rates, objective)) > CONTRADICTED_LOG2
            for setting, rates in self._claimed.items()
            if setting in known.measured
        )

    def drop(self, known: Knowledge) -> None:
        """Drop every memory that was not measured again."""
        for setting in self.counted:
            known.measured.pop(setting, None)
        self.counted, self._claimed = {}, {}


def forget_outside(space: KnobSpace, known: Knowledge, memory: Recollection) -> None:
    """Forget settings outside the bounds, which change when an administrator takes a knob or gives it back."""
    for setting in [one for one in known.measured if not space.allows(one)]:
        del known.measured[setting]
        memory.counted.pop(setting, None)


def _scaled(rates: Rates, then: Rates, today: Rates) -> Rates:
    """The expected rates of a setting today, if its ratio to the original is what it was."""
    return Rates(
        today.read * _ratio(rates.read, then.read),
        today.write * _ratio(rates.write, then.write),
        rates.read_flight,
        rates.write_flight,
    )


def _ratio(now: float, then: float) -> float:
    return min(max(now / then, 2.0**-MOST_LOG2), 2.0**MOST_LOG2) if then > 0 else 1.0
