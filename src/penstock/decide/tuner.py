"""The pure heart: the windows of one interval in, decisions out, replayable from a log.

Stage 1 asks each busy target's policy for its RPC knobs, every interval. Stage 2 shares the node's cache anew
at the first busy window after an inactive stage, for policies that tune it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from penstock.decide.activity import Activity
from penstock.decide.budget import CacheBudget
from penstock.decide.cache import LINGERS_S, Demand, DemandHistory, allocate, as_printed, fitted, sparing
from penstock.decide.groups import Group, groups, mount_of
from penstock.decide.memory import WorkMemory, like
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.work import KEPT_WORKS, Work, WorkBook, WorkTracker, dominant
from penstock.decision import Decision, Outlook, changes, unit_name
from penstock.errors import KnobError
from penstock.knobs import KnobSpace, Role, Setting
from penstock.ports import Predictor
from penstock.ratios import cache_utilisation
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Void, Window

PolicyFactory = Callable[[KnobSpace, Random], Policy]
SpaceOf = Callable[[Target], KnobSpace]


@dataclass(slots=True)
class _Memory:
    """What the tuner keeps of one target."""

    policy: Policy
    recent: deque[Window]
    tracker: WorkTracker = field(default_factory=WorkTracker)
    original: Setting | None = None
    activity: Activity = field(default_factory=Activity)
    demand: Demand = field(default_factory=Demand)
    demands: DemandHistory = field(default_factory=DemandHistory)
    #: What a tuning group does.
    work: Work | None = None

    @property
    def window(self) -> Window:
        """The newest one."""
        return self.recent[-1]


@dataclass(frozen=True, slots=True)
class _Unit:
    """What is decided about as one: a tuning group, or a single target."""

    memory: _Memory
    name: str
    work: str
    members: tuple[Window, ...]
    #: A group moves the knobs that are searched and leaves each member the others.
    grouped: bool


class Tuner:
    """Runs one policy per target and turns what it proposes into decisions with ids and reasons."""

    def __init__(
        self,
        make_policy: PolicyFactory,
        seed: int = 0,
        predictor: Predictor | None = None,
        cache: CacheBudget | None = None,
    ) -> None:
        self._make_policy = make_policy
        self._seed = seed
        self._predictor = predictor
        self._cache = cache
        self._memories: dict[Target, _Memory] = {}
        self._books: dict[str, WorkBook] = {}
        self._recalled: tuple[WorkMemory, ...] = ()
        self._count = 0

    def step(self, windows: Sequence[Window | Void], space_of: SpaceOf, now_s: float) -> tuple[Decision, ...]:
        """Decide about every target that was busy; idle and void windows teach nothing and decide nothing."""
        busy, resumed = self._take(windows, space_of)
        units = self._units(busy, space_of)
        decisions: dict[Target, Decision] = {}
        for unit, outlook in zip(units, self._outlooks([unit.memory for unit in units]), strict=True):
            for decision in self._decide(unit, outlook, space_of, now_s):
                decisions[decision.target] = decision
        if resumed:
            self._share_cache(decisions, windows, space_of, now_s)
        for target in resumed:
            self._memories[target].demand = Demand()
        return tuple(decisions.values())

    def recall(self, memories: Iterable[WorkMemory]) -> None:
        """What was `remembered` before a restart; each is handed to the first group that does such work."""
        self._recalled = tuple(memories)

    def remembered(self) -> list[WorkMemory]:
        """What the policies of tuning groups would have kept across a restart."""
        return [
            WorkMemory(target.fs, memory.work, settings)
            for target, memory in self._memories.items()
            if memory.work is not None and (settings := memory.policy.remembered())
        ]

    def forget(self, target: Target) -> None:
        """Drop what was learned of a target that is gone or was taken over by somebody else."""
        self._memories.pop(target, None)

    def is_active(self, target: Target) -> bool:
        """Whether a target is in an active stage now."""
        memory = self._memories.get(target)
        return memory is not None and memory.activity.active

    def _take(
        self, windows: Sequence[Window | Void], space_of: SpaceOf
    ) -> tuple[list[_Memory], list[Target]]:
        """What is kept of the targets that were busy, and who of them had not been before."""
        busy, resumed = [], []
        for window in windows:
            moving = isinstance(window, Window) and window.bytes_per_s > 0
            if not moving and window.target not in self._memories:
                continue
            memory = self._memory(window.target, space_of)
            if isinstance(window, Void):
                memory.recent.clear()
                continue
            memory.recent.append(window)
            memory.original = memory.policy.home = memory.original or window.setting
            if memory.policy.tunes_cache:
                memory.demand.take(window)
            begins = memory.activity.update(window)
            if memory.policy.tunes_cache:
                memory.demands.take(window, cache_utilisation(window, memory.policy.space), resumed=begins)
            if begins:
                memory.policy.resumed()
                resumed.append(window.target)
            if moving:
                busy.append(memory)
        return busy, resumed

    def _outlooks(self, busy: Sequence[_Memory]) -> list[Outlook | None]:
        """Ask the model once per direction and candidate set, for all targets together."""
        found: list[Outlook | None] = [None] * len(busy)
        if self._predictor is None:
            return found
        groups: dict[tuple[str, KnobSpace], list[int]] = {}
        for place, memory in enumerate(busy):
            if memory.policy.uses_model:
                groups.setdefault((dominant(memory.window), memory.policy.space), []).append(place)
        for (direction, space), places in groups.items():
            histories = [tuple(busy[place].recent) for place in places]
            answers = self._predictor.outlooks(direction, histories, space.candidates())
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def _work(self, memory: _Memory) -> Work:
        """The work of a target, named as its mount's other targets name theirs."""
        window = memory.window
        key = mount_of(window.target) if memory.policy.in_groups else window.target.name
        book = self._books.get(key)
        if book is None:
            # Work that is remembered keeps its name.
            known = [one.work for one in self._recalled if one.fs == window.target.fs]
            book = self._books[key] = WorkBook(known[-KEPT_WORKS:])
        return memory.tracker.take(window, book)

    def _units(self, busy: Sequence[_Memory], space_of: SpaceOf) -> list[_Unit]:
        """The busy targets: each by itself, or in the tuning groups of their mounts where policies want that."""
        units: list[_Unit] = []
        grouped: list[tuple[Window, Work]] = []
        for memory in busy:
            work, window = self._work(memory), memory.window
            if not memory.policy.in_groups:
                units.append(_Unit(memory, unit_name(window.target), str(work), (window,), grouped=False))
            elif not memory.tracker.odd:
                # A window in which the work seems to change belongs to no group: it would blur what is known of both.
                grouped.append((window, work))
        for group in groups(grouped):
            first = group.members[0].target
            space = space_of(first)
            memory = self._memory(group.target, lambda _, space=space: space)  # type: ignore[misc]
            if memory.work is None:
                self._introduce(memory, group)
            memory.recent.append(group.window(space.searched))
            memory.policy.home = self._memories[first].original
            units.append(_Unit(memory, group.target.name, str(group.work), group.members, grouped=True))
        return units

    def _introduce(self, memory: _Memory, group: Group) -> None:
        """Tell a new group's policy what is remembered of such work."""
        memory.work = group.work
        for known in like(self._recalled, group.target.fs, group.work)[-1:]:
            memory.policy.recall(known.settings)

    def _decide(
        self, unit: _Unit, outlook: Outlook | None, space_of: SpaceOf, now_s: float
    ) -> Iterator[Decision]:
        """One proposal a unit, for all its members.

        Members that are elsewhere may be better off there: they stay until the policy has made up its mind.
        """
        policy, window = unit.memory.policy, unit.memory.window
        if outlook is not None and not outlook.in_range and policy.vetoes:
            sentence = "this target does something the model was not trained on"
            proposal = Proposal(window.setting, "out-of-range", sentence)
        else:
            proposal = policy.propose(window, outlook)
        goal = proposal.setting
        if unit.grouped:
            goal = goal.only(*policy.space.searched) if proposal.decided else Setting()
        for member in unit.members:
            wished = replace(proposal, setting=member.setting.replace(goal))
            made = self._decision(member, wished, space_of(member.target), now_s)
            yield replace(
                made,
                model=outlook.model if outlook is not None else None,
                history=tuple(unit.memory.recent),
                outlook=made.outlook or outlook,
                unit=unit.name,
                work=unit.work,
            )

    def _decision(self, window: Window, proposal: Proposal, space: KnobSpace, now_s: float) -> Decision:
        """A proposal with an id; a decision to keep where the target's space forbids it."""
        try:
            if moved := changes(window.setting, proposal.setting):
                space.check({change.knob_id: change.new for change in moved})
        except KnobError as error:
            sentence = f"the policy's wish cannot be granted: {error}"
            proposal = Proposal(window.setting, "out-of-bounds", sentence)
        self._count += 1
        text = f"{self._seed}/{window.target.name}/{now_s!r}/{self._count}"
        return Decision(
            id=hashlib.sha256(text.encode()).hexdigest()[:12],
            t_s=now_s,
            target=window.target,
            before=window.setting,
            wanted=proposal.setting,
            reason=proposal.reason,
            sentence=proposal.sentence,
            evidence=proposal.evidence,
            confidence=proposal.confidence,
            history=(window,),
            outlook=proposal.outlook,
            unit=unit_name(window.target),
        )

    def _share_cache(
        self,
        decisions: dict[Target, Decision],
        windows: Sequence[Window | Void],
        space_of: SpaceOf,
        now_s: float,
    ) -> None:
        """Add the cache's new limits to this interval's decisions."""
        known = {w.target: w for w in windows if isinstance(w, Window) and self._tunes_cache(w.target)}
        if self._cache is None or not known:
            return
        if all(self._memories[target].policy.spares_busy for target in known):
            held = {t: space_of(t).cache_bytes(w.setting) / MIB for t, w in known.items()}
            active = {t: self._memories[t].demand for t in known if self._memories[t].activity.active}
            worked = [t for t in known if t not in active and self._memories[t].activity.last_busy_s > 0]
            shares = sparing(allocate(active, worked, self._cache), held, active, self._cache)
        else:
            known = {w.target: w for w in windows if isinstance(w, Window)}
            shares = self._algorithm_2(known, now_s)
        for target, share_mib in shares.items():
            knob = space_of(target).of_role(Role.CACHE_LIMIT)
            if knob is None:
                continue
            limit = {knob.id: min(max(share_mib * MIB // knob.unit_bytes, knob.floor), knob.ceiling)}
            if target in decisions:
                wanted = decisions[target].wanted.replace(limit)
                decisions[target] = replace(decisions[target], wanted=wanted)
            elif known[target].setting[knob.id] != limit[knob.id]:
                sentence = f"the node's cache was shared anew; this target gets {limit[knob.id]} {knob.unit}"
                proposal = Proposal(known[target].setting.replace(limit), "cache", sentence)
                decisions[target] = self._decision(known[target], proposal, space_of(target), now_s)

    def _algorithm_2(self, known: Iterable[Target], now_s: float) -> dict[Target, int]:
        """Shares for all targets, those that never worked among the inactive ones."""
        assert self._cache is not None
        printed = any(self._memories[t].policy.cache_as_printed for t in known if t in self._memories)
        lingers_s = 0.0 if printed else LINGERS_S
        active = {
            t: self._memories[t].demands.demand
            for t in known
            if self.is_active(t)
            or (t in self._memories and now_s - self._memories[t].activity.last_busy_s < lingers_s)
        }
        idle = [t for t in known if t not in active]
        return (as_printed if printed else fitted)(active, idle, self._cache)

    def _tunes_cache(self, target: Target) -> bool:
        return target in self._memories and self._memories[target].policy.tunes_cache

    def _memory(self, target: Target, space_of: SpaceOf) -> _Memory:
        space, memory = space_of(target), self._memories.get(target)
        if memory is None:
            # Chance depends on the target's name alone: targets coming and going leave the others be.
            policy = self._make_policy(space, Random(f"{self._seed}/{target.name}"))
            depth = 1 + (self._predictor.history if self._predictor is not None else 0)
            memory = self._memories[target] = _Memory(policy, deque(maxlen=depth))
        # Bounds change while a target lives: it refuses values, reconnects, or somebody takes a knob.
        memory.policy.space = space
        return memory
