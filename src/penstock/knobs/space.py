"""The knobs of one kind of target together: writing order, couplings, roles, and which of them policies turn."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.errors import KnobError, did_you_mean
from penstock.knobs.candidates import Candidates
from penstock.knobs.knob import Acts, Knob, Role, Scope
from penstock.knobs.setting import Setting
from penstock.knobs.target_kind import DATA_PATH, TargetKind


@dataclass(frozen=True, slots=True)
class Coupling:
    """A side effect of the system itself: storing any of `when` recomputes `affects`.

    One that only `bounds` what it affects leaves it a knob of its own, within what the others allow.
    """

    when: frozenset[str]
    affects: str
    rule: Callable[[Setting], int]
    why: str
    bounds: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class KnobSpace:
    """The knobs of one kind of target, in the order in which they must be written.

    Node-wide knobs are left alone unless `opted_in` names them. Where only some combinations of values may be tried,
    `offered` lists them. `searched` are the knobs that policies turn, `late` those of them that act on new opens.
    `held` are the knobs that have only one value here: an administrator's, or one that the system does not let go of.
    Couplings are functions, so two spaces are equal only if they are the same object.
    """

    name: str
    knobs: tuple[Knob, ...]
    couplings: tuple[Coupling, ...] = ()
    opted_in: frozenset[str] = frozenset()
    offered: tuple[Setting, ...] = ()
    #: What its declaration was called with, so that another process can make the same couplings.
    declared_with: tuple[tuple[str, int], ...] = ()
    #: What its targets do, and what counts as moved.
    kind: TargetKind = DATA_PATH
    searched: tuple[str, ...] = field(init=False)
    late: tuple[str, ...] = field(init=False)
    held: Setting = field(init=False)
    _by_role: dict[Role, Knob] = field(init=False, repr=False)
    _candidates: dict[tuple[str, ...], Candidates] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        by_role = {knob.role: knob for knob in reversed(self.knobs) if knob.role is not None}
        shared = by_role.get(Role.CACHE_LIMIT)
        # What follows from other knobs is no choice of its own.
        made = {coupling.affects for coupling in self.couplings if not coupling.bounds}
        searched = (
            knob.id
            for knob in self.knobs
            if knob is not shared and knob.tried and knob.id not in made and self.may_set(knob.id)
        )
        object.__setattr__(self, "_by_role", by_role)
        object.__setattr__(self, "searched", tuple(searched))
        late = (knob_id for knob_id in self.searched if self[knob_id].acts is Acts.NEW_OPENS)
        object.__setattr__(self, "late", tuple(late))
        held = {knob.id: knob.floor for knob in self.knobs if knob.floor == knob.ceiling}
        object.__setattr__(self, "held", Setting(held))
        if self.offered:
            self._candidates[self.searched] = Candidates(self, self.offered)

    def __getitem__(self, knob_id: str) -> Knob:
        for knob in self.knobs:
            if knob.id == knob_id:
                return knob
        raise KnobError(f"{self.name} has no knob {knob_id!r}{did_you_mean(knob_id, self.ids)}")

    @property
    def ids(self) -> tuple[str, ...]:
        """The knob ids, in writing order."""
        return tuple(knob.id for knob in self.knobs)

    def covered_by(self, setting: Mapping[str, int]) -> bool:
        """Whether a setting has a value for every knob."""
        return all(knob.id in setting for knob in self.knobs)

    @property
    def default(self) -> Setting:
        """What the system ships with."""
        return Setting({knob.id: knob.default for knob in self.knobs})

    def of_role(self, role: Role) -> Knob | None:
        """The knob that plays a role; None where this kind of target has none."""
        return self._by_role.get(role)

    def may_set(self, knob_id: str) -> bool:
        """Whether a knob may be written while jobs run.

        What acts only at the next mount can merely be advised; a node-wide knob needs its administrator's consent.
        """
        knob = self[knob_id]
        return knob.acts is not Acts.NEXT_MOUNT and (knob.scope is not Scope.NODE or knob_id in self.opted_in)

    def acts_late(self, one: Mapping[str, int], other: Mapping[str, int]) -> bool:
        """Whether two settings differ in a knob that is felt only once applications open their files anew."""
        return any(one[knob_id] != other[knob_id] for knob_id in self.late)

    def in_flight_bytes(self, setting: Mapping[str, int]) -> int:
        """What a setting allows to be on its way at once: requests in flight times request size."""
        sizes = (self.of_role(role) for role in (Role.REQUEST_SIZE, Role.IN_FLIGHT))
        return math.prod(setting[knob.id] * knob.unit_bytes for knob in sizes if knob is not None)

    def cache_bytes(self, setting: Mapping[str, int]) -> int:
        """How much unwritten data a setting lets a target hold; 0 where no knob limits that."""
        knob = self.of_role(Role.CACHE_LIMIT)
        return setting[knob.id] * knob.unit_bytes if knob is not None else 0

    def candidates(self, *knob_ids: str) -> Candidates:
        """Every combination of the given knobs' values, the last knob varying fastest; by default of those searched.

        The same question gets the same object, so that what is worked out for it is worked out once.
        """
        ids = knob_ids or self.searched
        found = self._candidates.get(ids)
        if found is None:
            points = itertools.product(*(self[knob_id].values for knob_id in ids))
            settings = (Setting(dict(zip(ids, point, strict=True))) for point in points)
            found = self._candidates[ids] = Candidates(self, [one for one in settings if self.stays(one)])
        return found

    def bounded(self, setting: Setting, by: str) -> Setting:
        """The setting with the others brought within what one knob's value allows."""
        for coupling in self.couplings:
            if coupling.bounds and by in coupling.when:
                setting = setting.replace({coupling.affects: coupling.rule(setting)})
        return setting

    def stays(self, setting: Setting) -> bool:
        """Whether every value is one that the others allow."""
        return all(
            coupling.rule(setting) == setting[coupling.affects]
            for coupling in self.couplings
            if coupling.bounds and {coupling.affects, *coupling.when} <= setting.keys()
        ) and all(
            setting[knob.id] <= setting[knob.under]
            for knob in self.knobs
            if knob.under and {knob.id, knob.under} <= setting.keys()
        )

    def check(self, setting: Mapping[str, int]) -> None:
        """Raise `KnobError` unless every knob exists and every value lies within its bounds."""
        for knob_id, value in setting.items():
            knob = self[knob_id]
            if not knob.floor <= value <= knob.ceiling:
                raise KnobError(f"{knob_id}={value} is outside {knob.floor}..{knob.ceiling} {knob.unit}")

    def allows(self, setting: Mapping[str, int]) -> bool:
        """Whether every value lies within its knob's bounds."""
        return all(
            self[knob_id].floor <= value <= self[knob_id].ceiling for knob_id, value in setting.items()
        )

    def clipped(self, setting: Setting) -> Setting:
        """The setting with every value brought within its knob's bounds, which change while a target lives."""
        if self.allows(setting):
            return setting
        knobs = {knob_id: self[knob_id] for knob_id in setting}
        return Setting({one: min(max(setting[one], knob.floor), knob.ceiling) for one, knob in knobs.items()})

    def settle(self, before: Setting, wanted: Mapping[str, int]) -> Setting:
        """What is in force once `wanted` was written over `before` in order, side effects included."""
        self.check(wanted)
        now = before
        for knob_id in self.ids:
            if knob_id in wanted:
                now = self.store(now, knob_id, wanted[knob_id])
        return now

    def store(self, now: Setting, knob_id: str, value: int) -> Setting:
        """What one write leaves in force, rounding and side effects included, whatever the bounds say."""
        step = self[knob_id].step
        now = now.replace({knob_id: -(-value // step) * step})
        for coupling in self.couplings:
            if knob_id in coupling.when:
                now = now.replace({coupling.affects: coupling.rule(now)})
        return now

    def neighbours(self, setting: Setting, *knob_ids: str) -> tuple[Setting, ...]:
        """The settings one candidate up or down along each given knob, upward steps first."""
        found = []
        for step in (1, -1):
            for knob_id in knob_ids:
                values = self[knob_id].values
                index = self[knob_id].nearest(setting[knob_id]) + step
                if 0 <= index < len(values):
                    found.append(setting.replace({knob_id: values[index]}))
        return tuple(found)
