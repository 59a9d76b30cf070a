"""The pure heart: the windows of one interval in, decisions out, replayable from a log.

Stage 1 asks each busy target's policy for its RPC knobs, every interval. Stage 2 shares the node's cache anew
at the first busy window after an inactive stage, for policies that tune it.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from penstock.decide.activity import Activity
from penstock.decide.cache import CacheBudget, Demand, allocate
from penstock.decide.crew import Crew, crews
from penstock.decide.policies._base import RPC_KNOBS, Policy, Proposal
from penstock.decide.work import dominant
from penstock.decision import Decision, Outlook, changes
from penstock.errors import KnobError
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Predictor
from penstock.snapshot import Target
from penstock.window import Void, Window

PolicyFactory = Callable[[KnobSpace, Random], Policy]
SpaceOf = Callable[[Target], KnobSpace]


@dataclass(slots=True)
class _Memory:
    """What the tuner keeps of one target."""

    policy: Policy
    recent: deque[Window]
    activity: Activity = field(default_factory=Activity)
    demand: Demand = field(default_factory=Demand)

    @property
    def window(self) -> Window:
        """The newest one."""
        return self.recent[-1]


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
        self._count = 0

    def step(self, windows: Sequence[Window | Void], space_of: SpaceOf, now_s: float) -> tuple[Decision, ...]:
        """Decide about every target that was busy; idle and void windows teach nothing and decide nothing."""
        busy, resumed = self._take(windows, space_of)
        gathered = crews([memory.window for memory in busy if memory.policy.in_crews])
        crewed = {member.target for crew in gathered for member in crew.members}
        alone = [memory for memory in busy if memory.window.target not in crewed] if crewed else busy
        decisions = {
            memory.window.target: self._decide(memory, outlook, space_of, now_s)
            for memory, outlook in zip(alone, self._outlooks(alone), strict=True)
        }
        for crew in gathered:
            decisions.update(self._decide_together(crew, space_of, now_s))
        if resumed:
            self._share_cache(decisions, windows, space_of, now_s)
        for target in resumed:
            self._memories[target].demand = Demand()
        return tuple(decisions.values())

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
            if memory.policy.tunes_cache:
                memory.demand.take(window)
            if memory.activity.update(window):
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
            answers = self._predictor.outlooks(direction, histories, space.grid(*RPC_KNOBS))
            for place, answer in zip(places, answers, strict=True):
                found[place] = answer
        return found

    def _decide_together(self, crew: Crew, space_of: SpaceOf, now_s: float) -> dict[Target, Decision]:
        """One proposal for all members.

        Who is elsewhere may be better off there: it is left alone until the policy has made up its mind.
        """
        space = space_of(crew.members[0].target)
        memory = self._memory(crew.target, lambda _: space)
        window = crew.window()
        memory.recent.append(window)
        outlook = self._outlooks([memory])[0]
        proposal = _propose(memory, outlook)
        goal = proposal.setting.only(*RPC_KNOBS) if proposal.decided else Setting()
        return {
            member.target: self._decision(
                member,
                self._allowed(member, replace(proposal, setting=member.setting.replace(goal)), space_of),
                now_s,
                outlook,
            )
            for member in crew.members
        }

    def _decide(self, memory: _Memory, outlook: Outlook | None, space_of: SpaceOf, now_s: float) -> Decision:
        proposal = self._allowed(memory.window, _propose(memory, outlook), space_of)
        return self._decision(memory.window, proposal, now_s, outlook)

    def _allowed(self, window: Window, proposal: Proposal, space_of: SpaceOf) -> Proposal:
        """The proposal, unless the target's space forbids it."""
        try:
            if moved := changes(window.setting, proposal.setting):
                space_of(window.target).check({change.knob_id: change.new for change in moved})
        except KnobError as error:
            sentence = f"the policy's wish cannot be granted: {error}"
            return Proposal(window.setting, "out-of-bounds", sentence)
        return proposal

    def _decision(
        self, window: Window, proposal: Proposal, now_s: float, outlook: Outlook | None = None
    ) -> Decision:
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
            model=outlook.model if outlook is not None else None,
            history=tuple(self._memories[window.target].recent),
            outlook=outlook,
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
        active = {t: self._memories[t].demand for t in known if self._memories[t].activity.active}
        worked = [t for t in known if t not in active and self._memories[t].activity.last_busy_s > 0]
        for target, share_mib in allocate(active, worked, self._cache).items():
            dirty = space_of(target)["dirty"]
            limit_mib = min(max(share_mib, dirty.floor), dirty.ceiling)
            if target in decisions:
                wanted = decisions[target].wanted.replace(dirty=limit_mib)
                decisions[target] = replace(decisions[target], wanted=wanted)
            elif known[target].setting["dirty"] != limit_mib:
                sentence = f"the node's cache was shared anew; this target gets {limit_mib} MiB"
                proposal = Proposal(known[target].setting.replace(dirty=limit_mib), "cache", sentence)
                decisions[target] = self._decision(known[target], proposal, now_s)

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


def _propose(memory: _Memory, outlook: Outlook | None) -> Proposal:
    if outlook is not None and not outlook.in_range:
        sentence = "this target does something the model was not trained on"
        return Proposal(memory.window.setting, "out-of-range", sentence)
    return memory.policy.propose(memory.window, outlook)
