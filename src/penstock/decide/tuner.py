"""The tuner turns the windows of one interval into decisions. It does no I/O, so a log can be replayed through it.

Stage 1 runs in every interval: it asks the policy of each busy target, or of each tuning group, for a setting. Stage
2 runs when a target becomes active again: it divides the node's cache anew, for policies that tune the cache.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from penstock.decide.activity import Activity
from penstock.decide.answers import as_allowed
from penstock.decide.budget import CacheBudget
from penstock.decide.cache_shares import Demand, DemandHistory, allocate, sparing
from penstock.decide.fleet_advice import FleetAdvice, WorkFindings, findings_of, work_kind
from penstock.decide.groups import Group, beside, groups, mount_of
from penstock.decide.guard import Guard, NodeView
from penstock.decide.guard.offer import Offer
from penstock.decide.habits import KEPT_WORKS
from penstock.decide.memory import WorkMemory, like, targets_of
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.work import Work, WorkBook, WorkTracker, dominant
from penstock.decision import Decision, Outlook, changes, unit_name
from penstock.decision_reasons import Reason
from penstock.errors import KnobError
from penstock.knobs import KnobSpace, Role, Setting
from penstock.ports import Predictor, SpaceOf
from penstock.ratios import cache_utilisation
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Void, Window

PolicyFactory = Callable[[KnobSpace, Random], Policy]


@dataclass(slots=True)
class _History:
    """What the tuner keeps about one target or tuning group."""

    policy: Policy
    recent: deque[Window]
    tracker: WorkTracker = field(default_factory=WorkTracker)
    activity: Activity = field(default_factory=Activity)
    demand: Demand = field(default_factory=Demand)
    demands: DemandHistory = field(default_factory=DemandHistory)
    #: The work of a tuning group; None for a single target.
    work: Work | None = None
    #: What the guard offered last.
    offer: Offer | None = None

    @property
    def window(self) -> Window:
        """The newest window."""
        return self.recent[-1]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A tuning group or a single target. One proposal is made for all its members."""

    history: _History
    name: str
    work: str
    members: tuple[Window, ...]
    #: Whether this is a group. For a group only the searched knobs are set; each member keeps its other knobs.
    grouped: bool


class Tuner:
    """Runs the policies and turns their proposals into decisions with ids and reasons."""

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
        self._histories: dict[Target, _History] = {}
        self._books: dict[str, WorkBook] = {}
        self._recalled: tuple[WorkMemory, ...] = ()
        self._count = 0
        #: Keeps records where there is no guard.
        self._keeper = Guard(seed=seed, enforces=False)

    def step(
        self,
        windows: Sequence[Window | Void],
        space_of: SpaceOf,
        now_s: float,
        guard: Guard | None = None,
        advice: FleetAdvice | None = None,
    ) -> tuple[Decision, ...]:
        """Decide about every busy target. Idle and void windows lead to no decision.

        Policies that choose by a guard's offers get them from `guard`; without one everything is offered. `advice` is
        what other nodes say; None where this node decides alone.
        """
        keeper = guard or self._keeper
        busy, resumed = self._take(windows, space_of)
        units = self._units(busy, space_of)
        decisions: dict[Target, Decision] = {}
        for unit, outlook in zip(units, self._outlooks([unit.history for unit in units]), strict=True):
            policy = unit.history.policy
            if policy.reads_offers:
                shown = unit.history.window
                offer = keeper.offer(unit.name, unit.work, unit.members, shown, policy.space)
                policy.offered(offer)
                self._advise(unit.history, offer, advice)
            for decision in self._decide(unit, outlook, space_of, now_s):
                decisions[decision.target] = decision
        if resumed:
            self._share_cache(decisions, windows, space_of, now_s)
        for target in resumed:
            self._histories[target].demand = Demand()
        found = tuple(decisions.values())
        if keeper is self._keeper and any(unit.history.policy.reads_offers for unit in units):
            keeper.review(windows, found, space_of, NodeView())
        return found

    def recall(self, memories: Iterable[WorkMemory]) -> None:
        """Take over the memories of an earlier process. Each goes to the first group that does the same work."""
        self._recalled = tuple(memories)

    def remembered(self) -> list[WorkMemory]:
        """What the policies of the tuning groups want to keep across a restart."""
        return [
            WorkMemory(target.fs, history.work, settings, targets_of(target.kind))
            for target, history in self._histories.items()
            if history.work is not None and (settings := history.policy.remembered())
        ]

    def findings(self) -> list[WorkFindings]:
        """What the tuning groups can tell other nodes about their work."""
        return [
            findings_of(
                work_kind(target.fs, targets_of(target.kind), history.work, history.offer),
                history.offer,
                said,
            )
            for target, history in self._histories.items()
            if history.work is not None
            and history.offer is not None
            and (said := history.policy.following()) is not None
        ]

    def forget(self, target: Target) -> None:
        """Drop the history of a target that is gone, or that somebody else has taken over."""
        self._histories.pop(target, None)

    def is_active(self, target: Target) -> bool:
        history = self._histories.get(target)
        return history is not None and history.activity.active

    def _take(
        self, windows: Sequence[Window | Void], space_of: SpaceOf
    ) -> tuple[list[_History], list[Target]]:
        """Record the windows. Returns the busy targets' histories, and the targets that begin an active stage."""
        busy, resumed = [], []
        for window in windows:
            moving = isinstance(window, Window) and window.moved_per_s > 0
            if not moving and window.target not in self._histories:
                continue
            if isinstance(window, Void):
                # Its space is not asked for: the target may be gone.
                self._histories[window.target].recent.clear()
                continue
            history = self._history(window.target, space_of)
            history.recent.append(window)
            if history.policy.tunes_cache:
                history.demand.take(window)
            begins = history.activity.update(window)
            if history.policy.tunes_cache:
                history.demands.take(window, cache_utilisation(window, history.policy.space), resumed=begins)
            if begins:
                history.policy.resumed()
                resumed.append(window.target)
            if moving:
                busy.append(history)
        return busy, resumed

    def _advise(self, history: _History, offer: Offer, advice: FleetAdvice | None) -> None:
        """Hand a tuning group's policy what other nodes say about its work."""
        history.offer = offer
        if history.work is not None:
            target = history.window.target
            kind = work_kind(target.fs, targets_of(target.kind), history.work, offer)
            history.policy.advised(None if advice is None else advice.about(kind))

    def _outlooks(self, busy: Sequence[_History]) -> list[Outlook | None]:
        """The model's forecasts for all busy units, with one call per direction and candidate set."""
        found: list[Outlook | None] = [None] * len(busy)
        if self._predictor is None:
            return found
        groups: dict[tuple[str, KnobSpace], list[int]] = {}
        for place, history in enumerate(busy):
            if history.policy.uses_model:
                groups.setdefault((dominant(history.window), history.policy.space), []).append(place)
        for (direction, space), places in groups.items():
            histories = [tuple(busy[place].recent) for place in places]
            answers = self._predictor.outlooks(direction, histories, space.candidates())
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def _work(self, history: _History) -> Work:
        """The kind of work of a target. Targets of one mount share one list of known kinds, so their names agree."""
        window = history.window
        key = mount_of(window.target) if history.policy.in_groups else window.target.name
        book = self._books.get(key)
        if book is None:
            # Work known from before a restart keeps its name.
            known = [one.work for one in self._recalled if one.fs == window.target.fs]
            book = self._books[key] = WorkBook(known[-KEPT_WORKS:])
        return history.tracker.take(window, book)

    def _units(self, busy: Sequence[_History], space_of: SpaceOf) -> list[_Unit]:
        """The busy targets, grouped by mount and work if their policy works in groups."""
        units: list[_Unit] = []
        grouped: list[tuple[Window, Work, Setting]] = []
        for history in busy:
            work, window = self._work(history), history.window
            if not history.policy.in_groups:
                units.append(_Unit(history, unit_name(window.target), str(work), (window,), grouped=False))
            elif not history.tracker.odd:
                # Leave out a window in which the work seems to change: it would distort the history of both groups.
                grouped.append((window, work, history.policy.space.held))
        found = groups(grouped)
        for group, others in zip(found, beside(found), strict=True):
            space = space_of(group.members[0].target)
            history = self._history(group.target, lambda _, space=space: space)  # type: ignore[misc]
            if history.work is None:
                self._introduce(history, group)
            history.recent.append(group.window(space.searched, others))
            units.append(_Unit(history, group.target.name, str(group.work), group.members, grouped=True))
        return units

    def _introduce(self, history: _History, group: Group) -> None:
        """Give the policy of a new group what is remembered of the same work."""
        history.work = group.work
        target = group.target
        for known in like(self._recalled, target.fs, group.work, targets_of(target.kind))[-1:]:
            history.policy.recall(known.settings)

    def _decide(
        self, unit: _Unit, outlook: Outlook | None, space_of: SpaceOf, now_s: float
    ) -> Iterator[Decision]:
        """Ask the policy for one proposal and make a decision for every member.

        Members that hold another setting keep it until the policy has decided: theirs may be the better one.
        """
        policy, window = unit.history.policy, unit.history.window
        if outlook is not None and not outlook.in_range and policy.vetoes:
            sentence = "this target does something the model was not trained on"
            proposal = Proposal(window.setting, Reason.OUT_OF_RANGE, sentence)
        else:
            proposal = as_allowed(policy.propose(window, outlook), window, policy.space)
        goal = proposal.setting
        if unit.grouped:
            goal = goal.only(*policy.space.searched) if proposal.decided else Setting()
        for member in unit.members:
            wished = replace(proposal, setting=member.setting.replace(goal))
            made = self._decision(member, wished, space_of(member.target), now_s)
            yield replace(
                made,
                model=outlook.model if outlook is not None else None,
                history=tuple(unit.history.recent),
                outlook=made.outlook or outlook,
                unit=unit.name,
                work=unit.work,
            )

    def _decision(self, window: Window, proposal: Proposal, space: KnobSpace, now_s: float) -> Decision:
        """A decision from a proposal.

        A setting that the target's space does not allow becomes a decision to change nothing.
        """
        try:
            if moved := changes(window.setting, proposal.setting):
                space.check({change.knob_id: change.new for change in moved})
        except KnobError as error:
            sentence = f"the policy's wish cannot be granted: {error}"
            proposal = Proposal(window.setting, Reason.OUT_OF_BOUNDS, sentence)
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
            held_back=proposal.held_back,
        )

    def _share_cache(
        self,
        decisions: dict[Target, Decision],
        windows: Sequence[Window | Void],
        space_of: SpaceOf,
        now_s: float,
    ) -> None:
        """Divide the cache among targets and add the new limits to this interval's decisions."""
        known = {w.target: w for w in windows if isinstance(w, Window) and self._tunes_cache(w.target)}
        if self._cache is None or not known:
            return
        if all(self._histories[target].policy.spares_busy for target in known):
            held = {t: space_of(t).cache_bytes(w.setting) / MIB for t, w in known.items()}
            active = {t: self._histories[t].demand for t in known if self._histories[t].activity.active}
            worked = [t for t in known if t not in active and self._histories[t].activity.last_busy_s > 0]
            shares = sparing(allocate(active, worked, self._cache), held, active, self._cache)
        else:
            known = {w.target: w for w in windows if isinstance(w, Window)}
            shares = self._algorithm_2(known, now_s)
        for target, share_mib in shares.items():
            knob = space_of(target).of_role(Role.CACHE_LIMIT)
            if knob is None or knob.id in space_of(target).held:
                continue
            limit = {knob.id: min(max(share_mib * MIB // knob.unit_bytes, knob.floor), knob.ceiling)}
            if target in decisions:
                wanted = decisions[target].wanted.replace(limit)
                decisions[target] = replace(decisions[target], wanted=wanted)
            elif known[target].setting[knob.id] != limit[knob.id]:
                sentence = f"the node's cache was shared anew; this target gets {limit[knob.id]} {knob.unit}"
                proposal = Proposal(known[target].setting.replace(limit), Reason.CACHE, sentence)
                decisions[target] = self._decision(known[target], proposal, space_of(target), now_s)

    def _algorithm_2(self, known: Iterable[Target], now_s: float) -> dict[Target, int]:
        """The cache limits by Algorithm 2 for all targets. Targets that never did anything count as inactive."""
        assert self._cache is not None
        rule = next(self._histories[t].policy.cache_rule for t in known if t in self._histories)
        active = {
            t: self._histories[t].demands.demand
            for t in known
            if self.is_active(t)
            or (t in self._histories and now_s - self._histories[t].activity.last_busy_s < rule.lingers_s)
        }
        idle = [t for t in known if t not in active]
        return rule.shares(active, idle, self._cache)

    def _tunes_cache(self, target: Target) -> bool:
        return target in self._histories and self._histories[target].policy.tunes_cache

    def _history(self, target: Target, space_of: SpaceOf) -> _History:
        space, history = space_of(target), self._histories.get(target)
        if history is None:
            # Randomness depends on the seed and the target's name only, so other targets that come or go change
            # nothing.
            policy = self._make_policy(space, Random(f"{self._seed}/{target.name}"))
            depth = 1 + (self._predictor.history if self._predictor is not None else 0)
            history = self._histories[target] = _History(policy, deque(maxlen=depth))
        # The bounds of a target can change: it refuses a value, reconnects, or an administrator takes a knob over.
        history.policy.space = space
        return history
