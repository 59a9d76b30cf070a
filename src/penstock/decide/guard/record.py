"""The guard's records of a unit (a target or a tuning group) and of each kind of work that the unit does."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.decide.belief import Knowledge
from penstock.decide.guard.account import Account
from penstock.decide.guard.carried import Carried, InVain
from penstock.decide.guard.limits import (
    CERTAIN,
    ENDED_S,
    LONG_S,
    MOST_ENDINGS,
    OFTEN_S,
    PATH_STEPS,
    SURGE,
    SURGE_WINDOWS,
    GuardLimits,
)
from penstock.decide.guard.reference import Reference
from penstock.decide.guard.rewriting import Rewriting
from penstock.decide.habits import KEPT_WORKS
from penstock.decide.level import Level
from penstock.decide.objective import Rates, gain_log2
from penstock.decide.reopening import Reopening
from penstock.decide.work import LargestRequest
from penstock.knobs import KnobSpace, Setting


@dataclass(frozen=True, slots=True)
class Ban:
    """A setting that did harm: until when it may not be tried again, and how often it did harm."""

    until_s: float
    strikes: int

    def again(self, now_s: float, length_s: float) -> Ban:
        """Another strike: twice as long as the last; ten lengths of good conduct forgive one."""
        forgiven = int(max(0.0, now_s - self.until_s) / (10 * length_s))
        strikes = max(0, self.strikes - forgiven) + 1
        return Ban(now_s + length_s * 2.0 ** (strikes - 1), strikes)


@dataclass(slots=True)
class Visit:
    """A stay away from the original, at one or several settings, from leaving it until coming back.

    `lost_s` is the running loss: seconds of the original's work; below zero, what the visit has earned. `level` holds
    the windows at the setting in force now.
    """

    place: Setting
    began_s: float
    #: The decisions that brought the members to the setting in force now, by target.
    decisions: Mapping[str, str] = field(default_factory=dict)
    lost_s: float = 0.0
    level: Level = field(default_factory=Level)
    #: What is charged but not judged: intervals in which a change itself happened.
    seen_original_s: float = 0.0
    switchbacks: int = 0
    reported: bool = False
    #: The share of what it brings that the original would not.
    gained: float = 0.0
    #: What the setting in force must bring for its bytes in flight, in doublings.
    price: float = 0.0
    #: What a few windows of the original itself lack of its mean, as a share; None until it is asked for.
    dip: float | None = None
    #: The latest windows of any setting, where work may come in bursts.
    latest: list[Rates] = field(default_factory=list)
    #: The latest windows, if they brought far more than those before them at the same setting.
    surge: Level = field(default_factory=Level)

    def take(self, rates: Rates) -> None:
        """Add a settled window at the setting in force."""
        usual = 1.0 + 2.0 * self.level.noise
        if self.level.count >= SURGE_WINDOWS and rates.total > SURGE * usual * self.level.mean.total:
            self.surge.take(rates)
            return
        self.surge = Level()
        self.level.take(rates)

    def move(self, place: Setting, decisions: Mapping[str, str], price: float) -> None:
        """Another setting, which is judged by itself; what was lost so far is on the account."""
        self.place, self.decisions, self.level, self.reported = place, decisions, Level(), False
        self.lost_s = 0.0
        self.surge, self.price = Level(), price


@dataclass(slots=True)
class Switchback:
    """A switchback: the original is in force for a few windows, then the setting before it again."""

    back_to: dict[str, Setting]
    place: Setting
    windows: int
    taken: int = 0


@dataclass(frozen=True, slots=True)
class Proof:
    """What a setting brought in its last visit of at least `REFUGE_WINDOWS`, and when that was.

    `price` is what it had to bring for its bytes in flight.
    """

    level: Level
    price: float
    t_s: float

    def gain(self, original: Level, limits: GuardLimits) -> float:
        """What it gains over the original, beyond its price, as a base-2 logarithm."""
        return gain_log2(self.level.mean, original.mean, limits.objective) - self.price

    def is_certain(self, original: Level, limits: GuardLimits) -> bool:
        """Whether it brings more than the original for sure, and enough for its bytes in flight."""
        if original.count == 0:
            return False
        off = CERTAIN * math.hypot(self.level.error, original.error) / math.log(2)
        gain = self.gain(original, limits)
        return gain >= math.log2(1.0 + limits.least_gain) and gain + self.price > off


@dataclass(slots=True)
class Pauses:
    """Intervals in a row in which nothing was written, and the most of them after which writing went on."""

    now: int = 0
    longest: int = 0

    def take(self, *, writes: bool) -> None:
        """Add an interval."""
        if writes:
            self.longest = max(self.longest, self.now)
        self.now = 0 if writes else self.now + 1

    def is_long(self, most: int) -> bool:
        """Whether this is no mere stall, which takes `most` intervals at most."""
        return self.now > min(self.longest, most)


@dataclass(slots=True)
class WorkRecord:
    """One kind of work of a unit: what settings brought, which proved themselves, which did harm."""

    reference: Reference = field(default_factory=Reference)
    #: What every setting brought, the original among them, and what the work looks like.
    known: Knowledge = field(default_factory=Knowledge)
    proven: set[Setting] = field(default_factory=set)
    banned: dict[Setting, Ban] = field(default_factory=dict)
    #: What every visited setting brought.
    proofs: dict[Setting, Proof] = field(default_factory=dict)
    #: How much of it is written over in memory, at the original and in the visit.
    rewriting: Rewriting = field(default_factory=Rewriting)
    unsent: Rewriting = field(default_factory=Rewriting)
    #: How much of what comes over the wire nobody reads.
    in_vain: InVain = field(default_factory=InVain)
    #: Settings with no more bytes in flight than this left too much unsent, and are not tried until then.
    slow_drain_bytes: int = 0
    slow_until_s: float = float("-inf")
    #: When the program last ended its writing: called fsync, closed its file or stopped.
    endings: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_ENDINGS))
    pauses: Pauses = field(default_factory=Pauses)
    #: What its requests carry there.
    request: LargestRequest = field(default_factory=LargestRequest)
    #: What the last visit that was taken back had brought; judged once more against a fresh look at the original.
    accused: Accused | None = None
    #: What the original brought before the last visit that was taken back, while that may still do harm.
    aftermath: Aftermath | None = None
    #: Which rules kept the best candidate from being tried.
    held_back: dict[str, HeldBackWindows] = field(default_factory=dict)

    def begin_elsewhere(self) -> None:
        """Another setting is in force: what the one before left unsent or carried says nothing about it."""
        self.unsent, self.in_vain.visited = Rewriting(), Carried()

    def ended(self, now_s: float) -> None:
        """The program ended its writing. What follows at once belongs to the same end."""
        if not self.endings or now_s - self.endings[-1] > ENDED_S:
            self.endings.append(now_s)
        else:
            self.endings[-1] = now_s

    def ended_for_s(self, now_s: float) -> float:
        """For how long no setting that sends slowly may be tried: a while after an end of writing, and longer where
        writing ends again and again.
        """
        if not self.endings:
            return 0.0
        often = len(self.endings) == MOST_ENDINGS
        again_s = self.endings[0] + OFTEN_S - now_s if often else 0.0
        return max(self.endings[-1] + ENDED_S - now_s, again_s, 0.0)

    def hold_back(self, rule: str, sentence: str) -> None:
        """Count one more window for a rule."""
        before = self.held_back.get(rule, HeldBackWindows())
        self.held_back[rule] = HeldBackWindows(before.windows + 1, sentence)

    def brought_more(self, place: Setting, price: float, limits: GuardLimits, *, surely: bool) -> bool:
        """Whether a setting was measured to bring more than the original, and enough for its bytes in flight."""
        original = self.reference.level
        if not self.known.knows(place, 2) or original.count == 0:
            return False
        brought = self.known.measured[place].level
        gain = gain_log2(brought.mean, original.mean, limits.objective)
        off = CERTAIN * math.hypot(brought.error, original.error) / math.log(2) if surely else 0.0
        return gain - price >= math.log2(1.0 + limits.least_gain) and gain > off

    def refuge(self, leaving: Setting, now_s: float, limits: GuardLimits, *, lost: bool) -> Setting | None:
        """The best other setting that is known for sure to bring more than the original; None if there is none.

        None too if the one being left was certain and `lost` all the same: that shows that the world is another one,
        so the original must be measured first.
        """
        original = self.reference.level
        certain = {
            place: proof.gain(original, limits)
            for place, proof in self.proofs.items()
            if now_s - proof.t_s <= LONG_S and proof.is_certain(original, limits)
        }
        if lost and leaving in certain:
            return None
        certain.pop(leaving, None)
        free = [place for place in certain if place not in self.banned or now_s >= self.banned[place].until_s]
        return max(free, key=lambda place: certain[place], default=None)


@dataclass(frozen=True, slots=True)
class HeldBackWindows:
    """In how many windows a rule kept the best candidate from being tried, and what it said last."""

    windows: int = 0
    sentence: str = ""


@dataclass(slots=True)
class Accused:
    """A setting that was taken back. It is cleared if the original, measured again, brings no more than it did."""

    place: Setting
    level: Level
    windows: int = 0


@dataclass(slots=True)
class Aftermath:
    """Harm may outlast a visit: queues and caches fill and empty slowly. For a while, what the original lacks of what
    it brought before is charged to the visit, net of what it brings more.
    """

    original: Rates
    until_s: float
    lacks_s: float = 0.0

    def take(self, lost_s: float) -> float:
        """Add an interval; answers how much more, or less, is charged now."""
        before, self.lacks_s = max(self.lacks_s, 0.0), max(self.lacks_s + lost_s, -1.0)
        return max(self.lacks_s, 0.0) - before


@dataclass(slots=True)
class MountTrial:
    """What the units of one mount share: which of them was last let go to a setting that was not proven, and when."""

    trying: tuple[str, float] = ("", float("-inf"))


@dataclass(slots=True)
class UnitRecord:
    """What is known of a unit: where it is, and for each kind of work what settings brought there and what they lost.

    The guard judges by it, and policies choose by it.
    """

    mount: MountTrial
    #: What changes cost its members, all kinds of work together.
    accounts: tuple[Account, ...] = ()
    #: The originals that everything here was measured against, by target. They are compared, never returned to.
    homes: dict[str, Setting] = field(default_factory=dict)
    works: dict[str, WorkRecord] = field(default_factory=dict)
    work: str = ""
    space: KnobSpace | None = None
    place: Setting | None = None
    #: Windows until the interval shows the setting in force and nothing else.
    settle: int = 0
    #: Windows so far, and those in a row that only filled the cache.
    windows: int = 0
    filling: int = 0
    #: Until then what other work left unsent may still be in the way of work that came (back).
    leftover_until_s: float = float("-inf")
    #: Whether a knob that acts on new opens is felt already.
    opens: Reopening = field(default_factory=Reopening)
    visit: Visit | None = None
    switchback: Switchback | None = None
    path: deque[Setting] = field(default_factory=lambda: deque(maxlen=PATH_STEPS))
    changed_s: deque[float] = field(default_factory=deque)
    #: The last decisions that the rules let through, by target: a change shows in the next window.
    let_through: Mapping[str, str] = field(default_factory=dict)
    broken_until_s: float = float("-inf")
    quiet_until_s: float = float("-inf")
    last_busy_s: float = float("-inf")
    pauses: int = 0

    def room_s(self, limits: GuardLimits) -> float:
        """What the next change may cost, in seconds of the original's work."""
        return min((account.room_s(limits) for account in self.accounts), default=0.0)

    def charge(self, lost_s: float) -> None:
        """Changes cost every member so much, or brought so much back."""
        for account in self.accounts:
            account.charge(lost_s)

    def place_of(self, setting: Setting) -> Setting:
        """The part of a setting that policies turn."""
        return setting.only(*self.known_space.searched)

    @property
    def known_space(self) -> KnobSpace:
        """The knobs of its members; known from its first interval on."""
        assert self.space is not None
        return self.space

    def of(self, work: str) -> WorkRecord:
        """What is known of one kind of work; the one not met for longest is forgotten when there are too many."""
        found = self.works.pop(work, None) or WorkRecord()
        self.works[work] = found
        while len(self.works) > KEPT_WORKS:
            del self.works[next(iter(self.works))]
        return found


def gain_of(visit: Visit, work: WorkRecord, limits: GuardLimits) -> float:
    """What the setting in force gains over the original, as a base-2 logarithm."""
    return gain_log2(visit.level.mean, work.reference.level.mean, limits.objective)
