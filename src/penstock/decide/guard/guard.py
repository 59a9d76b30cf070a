"""One interval: take in what every unit did, offer policies what they may choose, and answer their wishes.

The guard works on units: single targets, or tuning groups whose members move together. Whatever a policy does, three
things hold. Nothing changes before the original was measured for the work at hand. A stay away from the original ends
as soon as it has lost what a visit may lose. And while another setting is in force the original is measured again and
again in short looks (switchbacks), so that a loss that came with a change is told from one that came with the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.decide.belief import MeasuredSetting
from penstock.decide.guard.account import Account
from penstock.decide.guard.charges import acts_late, allowance_s, charge_aftermath, charged_s, hear
from penstock.decide.guard.leaving import leave_anyway, take_carried
from penstock.decide.guard.limits import (
    GAINED_TWICE,
    LEFTOVERS,
    MOST_FILLING,
    PROVEN_WINDOWS,
    REFUGE_WINDOWS,
    REPORT_WINDOWS,
    SURGE_WINDOWS,
    GuardLimits,
)
from penstock.decide.guard.offer import Offer
from penstock.decide.guard.prices import fullness, price_of
from penstock.decide.guard.record import (
    Accused,
    Aftermath,
    Ban,
    MountTrial,
    Proof,
    Switchback,
    UnitRecord,
    Visit,
    gain_of,
)
from penstock.decide.guard.reports import (
    BoundUse,
    Effect,
    NodeView,
    UnitHeldBack,
    bound_use,
    effects_of,
    held_back_of,
)
from penstock.decide.guard.slow_drain import ending, send_now
from penstock.decide.guard.turn import Order, Turn, Unit, back_from, switchback_after_s, unit_of
from penstock.decide.guard.unit_states import Leave, LookBegins, LookEnds, Return, Settle, transition
from penstock.decide.guard.wishes import ask, note, obey, within_budget
from penstock.decide.holding_back import holding_back
from penstock.decide.level import Level
from penstock.decide.objective import drains, felt, fills, rates_of, sent_at_least
from penstock.decide.work import echo_windows, hiding_windows
from penstock.decision import UNIT_SEPARATOR, Decision, unit_name
from penstock.decision_reasons import Reason
from penstock.gains import measured
from penstock.knobs import KnobSpace, Setting
from penstock.ports import SpaceOf
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Void, Window


class Guard:
    """Reviews the decisions of one interval. Pure: windows, decisions and times in, decisions out.

    A refused change comes back as a decision to keep, its reason `guard.RULE`; what the guard does by itself has the
    reasons `guard.revert`, `guard.switchback`, `guard.return` and `guard.unpaid`. One that does not `enforce` only
    keeps the records that policies choose by.
    """

    def __init__(self, limits: GuardLimits | None = None, seed: int = 0, *, enforces: bool = True) -> None:
        self.limits = limits or GuardLimits()
        self.enforces = enforces
        self._seed = seed
        self._records: dict[str, UnitRecord] = {}
        self._accounts: dict[Target, Account] = {}
        self._mounts: dict[str, MountTrial] = {}
        self._unit_of: dict[Target, str] = {}
        self._effects: list[Effect] = []
        #: The units that were taken in during this interval, and what the guard orders them.
        self._turns: dict[str, tuple[Turn, Order | None]] = {}

    def effects(self) -> tuple[Effect, ...]:
        """What changes turned out to do since this was last asked."""
        found, self._effects = tuple(self._effects), []
        return found

    def offer(
        self, unit: str, work: str, members: Sequence[Window], window: Window, space: KnobSpace
    ) -> Offer:
        """Take in what a unit did in an interval, once, and say what may be chosen for it now."""
        turn, order = self._turn(unit_of(unit, work, members, space), window)
        busy = "" if order is None else order.sentence
        return Offer(turn, self.limits, self.enforces, busy)

    def _turn(self, unit: Unit, window: Window) -> tuple[Turn, Order | None]:
        found = self._turns.get(unit.name)
        if found is None or found[0].now_s != window.t1_s:
            record = self._record(unit)
            for member in unit.members.values():
                self._unit_of[member.target] = unit.name
            turn = self._arrive(unit, window, record)
            self._measure(turn)
            order = self._order(turn) if self.enforces else None
            found = self._turns[unit.name] = turn, order
        return found

    def review(
        self,
        seen: Sequence[Window | Void],
        decisions: Sequence[Decision],
        space_of: SpaceOf,
        node: NodeView,
    ) -> tuple[Decision, ...]:
        """The decisions that may be carried out, one for each that was given, in the same order."""
        windows = {window.target: window for window in seen if isinstance(window, Window)}
        for window in seen:
            if isinstance(window, Void):
                self._interrupt(window)
        units: dict[str, list[Decision]] = {}
        for decision in decisions:
            units.setdefault(decision.unit or unit_name(decision.target), []).append(decision)
        verdicts: dict[Target, Decision] = {}
        for name, members in units.items():
            first = members[0]
            shown = first.history[-1] if first.history else windows[first.target]
            unit = unit_of(name, first.work, [windows[m.target] for m in members], space_of(first.target))
            turn, order = self._turn(unit, shown)
            for verdict in self._answer(turn, order, members):
                verdicts[verdict.target] = verdict
        held_mib = {target: space_of(target).cache_bytes(w.setting) / MIB for target, w in windows.items()}
        final = tuple(
            within_budget(verdicts[decision.target], held_mib, space_of(decision.target), node, self.limits)
            for decision in decisions
        )
        self._count_held_back(final)
        self._turns.clear()
        return final

    def _count_held_back(self, decisions: Sequence[Decision]) -> None:
        """Count every unit whose best candidate was kept from being tried, once."""
        units = {decision.unit or unit_name(decision.target): decision for decision in reversed(decisions)}
        for name, decision in units.items():
            if (found := holding_back(decision)) is not None:
                self._turns[name][0].work.hold_back(found.rule, found.sentence)

    def held_back(self, target: Target) -> UnitHeldBack | None:
        """What keeps the best candidates of a target's unit from being tried; may be asked from any thread."""
        unit = self._unit_of.get(target)
        record = self._records.get(unit) if unit is not None else None
        return None if unit is None or record is None else held_back_of(unit, record)

    def bounds(self, now_s: float) -> tuple[BoundUse, ...]:
        """How much of what changes may cost each mount's dearest target has used; may be asked from any thread."""
        found: dict[str, Account] = {}
        for target, account in dict(self._accounts).items():
            mount = target.mount or target.fs
            if mount not in found or account.lost_s() > found[mount].lost_s():
                found[mount] = account
        return tuple(bound_use(mount, account, self.limits) for mount, account in found.items())

    def forget(self, target: Target) -> None:
        """Drop everything remembered of a target that is gone."""
        self._accounts.pop(target, None)
        unit = self._unit_of.pop(target, unit_name(target))
        if unit == unit_name(target):
            self._records.pop(unit, None)

    def _interrupt(self, window: Void) -> None:
        """A reconnect or worse: a look is given up, and the first interval after it is not judged."""
        record = self._records.get(self._unit_of.get(window.target, unit_name(window.target)))
        if record is not None:
            transition(record, LookEnds(), Settle(max(record.settle, 1)))
            record.quiet_until_s = max(record.quiet_until_s, window.t1_s + self.limits.dwell_s)

    # -- one unit -----------------------------------------------------------------------------------------------

    def _answer(self, turn: Turn, order: Order | None, members: Sequence[Decision]) -> list[Decision]:
        if not self.enforces:
            note(turn, members, self.limits)
            return list(members)
        if order is not None:
            return [obey(member, order, turn) for member in members]
        return ask(turn, members, self.limits)

    def _arrive(self, unit: Unit, window: Window, record: UnitRecord) -> Turn:
        """Where the unit is now, and whether the interval shows that setting and nothing else."""
        now_s, work, members = window.t1_s, unit.work, unit.members
        record.windows += 1
        for account in record.accounts:
            account.work(window.seconds)
        resumed = now_s - record.last_busy_s > self.limits.pause_s
        if resumed:
            record.quiet_until_s = max(record.quiet_until_s, now_s + self._jitter_s(unit.name, record))
        record.last_busy_s = now_s
        if resumed or work != record.work:
            record.work = work
            transition(record, Settle(max(record.settle, 1)))
            record.leftover_until_s = now_s + LEFTOVERS * self.limits.unsent_s
        at_home = 2 * sum(
            record.place_of(members[n].setting) == home for n, home in unit.homes.items()
        ) > len(members)
        place = record.place_of(window.setting)
        if place != record.place:
            if record.place is not None:
                visit = record.visit
                was = visit.level if visit is not None else record.of(work).reference.level
                unfelt = record.opens.begin(record.known_space, (record.place, place), window.seconds, was)
                hidden = hiding_windows(record.known_space, record.place, place, window)
                transition(record, Settle(1 + max(echo_windows(window), unfelt, hidden)))
            record.place = place
            self._move(record, place, None if at_home else unit.home, now_s)
            record.of(work).begin_elsewhere()
        settled = record.settle == 0
        opened = not settled and record.opens.awaited and record.opens.felt(rates_of(window))
        if not settled:
            transition(record, Settle(0 if opened else record.settle - 1))
        record.filling = record.filling + 1 if fills(window) else 0
        draining = drains(window)
        if not draining:
            record.leftover_until_s = float("-inf")
        hindered = now_s <= record.leftover_until_s
        idle = draining or 0 < record.filling <= MOST_FILLING
        return Turn(unit, window, record, record.of(work), at_home, settled, settled and not idle, hindered)

    def _move(self, record: UnitRecord, place: Setting, home: Setting | None, now_s: float) -> None:
        """The setting in force is another one; `home` is the original it is away from, none if it is back there."""
        # Only the decision that was let through last can have brought this move; a later one was somebody else's.
        decisions, record.let_through = record.let_through, {}
        if home is None:
            if record.switchback is None:
                transition(record, Return())
            return
        space, original = record.known_space, record.of(record.work).reference.level.mean
        price = price_of(space, place, home, fullness(original, home, space), self.limits)
        price += record.of(record.work).in_vain.price(place)
        if record.visit is None:
            transition(record, Leave(Visit(place, now_s, decisions, seen_original_s=now_s, price=price)))
        elif record.visit.place != place:
            record.visit.move(place, decisions, price)

    def _measure(self, turn: Turn) -> None:
        """Take the window in: as one of the original, or as one of the visit."""
        rates, work, record = rates_of(turn.window), turn.work, turn.record
        if turn.hindered:
            return
        if turn.at_home:
            charge_aftermath(turn, felt(rates, turn.window), self.limits)
            if turn.judged:
                work.reference.take(rates)
                if record.known_space.late:
                    work.reference.keep(rates)
                work.rewriting.take(turn.window, turn.limit_bytes)
                work.in_vain.original.take(turn.window)
                work.request.take(turn.window)
                hear(turn, self.limits)
                work.known.measured[turn.unit.home] = MeasuredSetting(work.reference.level, record.windows)
            return
        visit = record.visit
        if visit is None or work.reference.level.count == 0:
            return
        seen = felt(rates, turn.window)
        shown = seen if turn.settled else sent_at_least(seen, turn.window)
        record.charge(charged_s(turn, visit, shown, self.limits))
        if not turn.judged:
            return
        work.unsent.take(turn.window, turn.limit_bytes)
        take_carried(turn, visit)
        visit.take(rates)
        work.known.measured.setdefault(visit.place, MeasuredSetting()).take(rates, record.windows)
        if visit.level.count >= REFUGE_WINDOWS:
            work.proofs[visit.place] = Proof(visit.level, visit.price, turn.now_s)
        self._report(turn, visit)
        if visit.level.count == PROVEN_WINDOWS and gain_of(visit, work, self.limits) >= visit.price:
            work.proven.add(visit.place)

    def _order(self, turn: Turn) -> Order | None:
        """What the guard itself does with the unit, if anything."""
        visit, what = turn.record.visit, ending(turn)
        if what is not None:
            turn.work.ended(turn.now_s)
            if visit is not None and not turn.at_home and (order := send_now(turn, visit, what)) is not None:
                return order
        return self._switchback(turn) or self._judge(turn)

    # -- looks at the original ----------------------------------------------------------------------------------

    def _switchback(self, turn: Turn) -> Order | None:
        """Go on with a look at the original, or begin one that is due."""
        record, visit = turn.record, turn.record.visit
        if record.switchback is not None:
            return self._go_on(turn, record.switchback)
        if turn.at_home or visit is None:
            return None
        if turn.work.reference.level.count < min(
            self.limits.reference_windows, self.limits.switchback_windows
        ):
            return self._begin_switchback(
                turn, visit, self.limits.reference_windows, "is not known for this work"
            )
        if acts_late(turn, visit):
            # Files opened during a look would stay at the original for as long as they are open, and files opened
            # before it would not show it. What was measured before the change stands.
            return None
        why = self._due_switchback(turn, visit)
        return (
            None if why is None else self._begin_switchback(turn, visit, self.limits.switchback_windows, why)
        )

    def _due_switchback(self, turn: Turn, visit: Visit) -> str | None:
        """Why the original is looked at now; None where it is not time yet."""
        if visit.surge.count >= SURGE_WINDOWS:
            # What the original brought before says nothing about this.
            visit.level, visit.surge = visit.surge, Level()
            if visit.gained < GAINED_TWICE:
                return "is not known since the work grew"
        waited = switchback_after_s(turn, visit, self.limits)
        # A setting that is still being measured is not left for a look, unless it takes too long.
        away_s, known = turn.now_s - visit.seen_original_s, visit.level.count > self.limits.switchback_windows
        due = turn.settled and away_s >= (waited if known else 2.0 * waited)
        return f"was not seen for {waited:.0f} s" if due else None

    def _begin_switchback(self, turn: Turn, visit: Visit, windows: int, why: str) -> Order:
        back_to = {name: turn.record.place_of(member.setting) for name, member in turn.unit.members.items()}
        transition(turn.record, LookBegins(Switchback(back_to, visit.place, windows)))
        turn.work.reference.begin_anew()
        return Order(
            turn.unit.homes,
            Reason.GUARD_SWITCHBACK,
            f"what the original setting brings {why}: a short look",
            {},
        )

    def _go_on(self, turn: Turn, switchback: Switchback) -> Order | None:
        record, visit = turn.record, turn.record.visit
        if not turn.at_home or visit is None:
            # The original could not be set, or somebody else set something: nothing can be compared.
            transition(record, LookEnds())
            turn.work.reference.end_anew()
            return None
        switchback.taken += turn.judged
        if switchback.taken < switchback.windows:
            return Order({}, Reason.GUARD_SWITCHBACK, "measuring the original setting", {})
        transition(record, LookEnds())
        fresh = turn.work.reference.fresh
        if turn.work.reference.end_anew():
            # The world is another one. What other settings brought in the one before says nothing about it.
            for place in [one for one in turn.work.known.measured if one != visit.place]:
                del turn.work.known.measured[place]
        level = turn.work.reference.level
        turn.work.known.measured[turn.unit.home] = MeasuredSetting(level, record.windows)
        ratio = 2.0 ** gain_of(visit, turn.work, self.limits) if visit.level.count else 1.0
        error = (visit.level.error**2 + (fresh.error if fresh else level.error) ** 2) ** 0.5
        away_s = turn.now_s - visit.seen_original_s
        visit.seen_original_s, visit.switchbacks = turn.now_s, visit.switchbacks + 1
        paid = ratio / 2.0**visit.price
        visit.lost_s += max(0.0, 1.0 - paid - error) * away_s
        visit.gained = 1.0 - 1.0 / max(ratio, 1.0)
        self._effects += effects_of(turn, visit, ratio, error, switchback=True)
        if visit.lost_s > allowance_s(turn.work.reference, self.limits):
            return self._take_back(turn, visit)
        if paid < 1.0 + self.limits.least_gain and visit.level.count >= self.limits.switchback_windows:
            return self._give_up(turn, visit, ratio, error)
        times = measured(ratio, error).words
        sentence = f"the original brings {turn.unit.says(level.mean.total)}, {switchback.place} {times} that"
        return Order(switchback.back_to, Reason.GUARD_RETURN, sentence, {"gain_ratio": ratio, "error": error})

    def _give_up(self, turn: Turn, visit: Visit, ratio: float, error: float) -> Order:
        """Stay at the original after a look that did not show the other setting to be better; no harm was done."""
        turn.work.banned[visit.place] = Ban(turn.now_s + self.limits.blacklist_s, 0)
        turn.work.proven.discard(visit.place)
        transition(turn.record, Return())
        before = turn.work.reference.level.mean.total
        times = measured(ratio, error).words
        sentence = f"the original brings {turn.unit.says(before)}, {visit.place} {times} that: given up"
        places, where_to = back_from(turn, visit, self.limits)
        return Order(places, Reason.GUARD_UNPAID, sentence + where_to, {"gain_ratio": ratio, "error": error})

    # -- verdicts -----------------------------------------------------------------------------------------------

    def _judge(self, turn: Turn) -> Order | None:
        """End a visit that lost what a visit may lose, or that the bound no longer pays for."""
        visit, record = turn.record.visit, turn.record
        if turn.at_home or visit is None:
            return None
        if (order := leave_anyway(turn, visit, self.limits)) is not None:
            return order
        over = record.room_s(self.limits) < 0 < visit.lost_s and visit.place not in turn.work.proven
        if not over and visit.lost_s <= allowance_s(turn.work.reference, self.limits):
            return None
        order = self._take_back(turn, visit)
        if visit.level.count and not visit.price and order.places is turn.unit.homes:
            turn.work.accused = Accused(visit.place, visit.level)
            turn.work.reference.begin_anew()
        return order

    def _take_back(self, turn: Turn, visit: Visit) -> Order:
        record, work, now_s = turn.record, turn.work, turn.now_s
        ban = work.banned.get(visit.place, Ban(now_s, 0))
        work.banned[visit.place] = ban.again(now_s, self.limits.blacklist_s)
        work.proven.discard(visit.place)
        work.aftermath = Aftermath(work.reference.level.mean, now_s + self.limits.aftermath_s)
        transition(record, Return())
        before, after = work.reference.level.mean.total, visit.level.mean.total or rates_of(turn.window).total
        if visit.level.count:
            self._effects += effects_of(
                turn, visit, 2.0 ** gain_of(visit, work, self.limits), visit.level.error
            )
        dear = ", too little for what it has in flight" if visit.price else ""
        sentence = (
            f"taken back: {visit.place} brought {turn.unit.says(after)}{dear} where the original brings "
            f"{turn.unit.says(before)}; the trial cost as much as {visit.lost_s:.1f} s of the original's work"
        )
        evidence = {"before_bytes_per_s": before, "after_bytes_per_s": after, "lost_s": visit.lost_s}
        places, where_to = back_from(turn, visit, self.limits)
        return Order(places, Reason.GUARD_REVERT, sentence + where_to, evidence)

    def _report(self, turn: Turn, visit: Visit) -> None:
        if visit.level.count < REPORT_WINDOWS or visit.reported:
            return
        visit.reported = True
        level = turn.work.reference.level
        error = (visit.level.error**2 + level.error**2) ** 0.5
        self._effects += effects_of(turn, visit, 2.0 ** gain_of(visit, turn.work, self.limits), error)

    # -- records ------------------------------------------------------------------------------------------------

    def _record(self, unit: Unit) -> UnitRecord:
        """The unit's record, begun anew if a member's original is another one: all it holds is relative to that."""
        record = self._records.get(unit.name)
        if record is None or any(record.homes.get(name, home) != home for name, home in unit.homes.items()):
            mount = unit.name.partition(UNIT_SEPARATOR)[0]
            record = self._records[unit.name] = UnitRecord(self._mounts.setdefault(mount, MountTrial()))
        members = (member.target for member in unit.members.values())
        record.accounts = tuple(self._accounts.setdefault(target, Account()) for target in members)
        record.homes.update(unit.homes)
        record.space = unit.space
        return record

    def _jitter_s(self, unit: str, record: UnitRecord) -> float:
        """A wait of the unit's own; a generator each would be most of what is kept of a thousand targets."""
        record.pauses += 1
        rng = Random(f"{self._seed}/{unit}/guard/{record.pauses}")
        return rng.uniform(0.0, self.limits.jitter_s)
