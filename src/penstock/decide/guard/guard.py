"""One interval's review: measure the original, judge visits to other settings against it, ask the rules.

The guard works on units: single targets, or tuning groups whose members move together. Whatever a policy does, three
things hold. Nothing changes before the original was measured for the work at hand. A stay away from the original ends
as soon as it has lost what a visit may lose. And while another setting is in force the original is measured again and
again in short looks (switchbacks), so that a loss that came with a change is told from one that came with the world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import (
    PROVEN_WINDOWS,
    REFUGE_WINDOWS,
    SURGE_WINDOWS,
    Account,
    Accused,
    Aftermath,
    Ban,
    Look,
    Proof,
    UnitRecord,
    Visit,
    allowance_s,
    charge,
    charge_net,
    gain_of,
    price_of,
)
from penstock.decide.guard.refusals import kept, within_budget
from penstock.decide.guard.reports import BoundUse, Effect, NodeView, bound_use
from penstock.decide.guard.rules import RULES, Wish
from penstock.decide.guard.turn import Order, Turn, Unit, back_from, look_after_s, unit_of
from penstock.decide.level import Level
from penstock.decide.objective import WINDOW_SLACK_LOG2, Rates, gain_log2, rates_of, sent_at_least
from penstock.decide.tuner import SpaceOf
from penstock.decide.work import echo_windows, hiding_windows
from penstock.decision import UNIT_SEPARATOR, Decision, unit_name
from penstock.decision_reasons import Reason
from penstock.gains import measured
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.units import MIB
from penstock.window import Void, Window

REPORT_WINDOWS = 10
# A setting that was taken back is excused if it brought at least this much of what the original brings now.
EXCUSED_LOG2 = -0.03
# A setting that a look found to bring twice what the original does needs no extra look when the work grows: half of
# what it brings is not the original's.
GAINED_TWICE = 0.5


class Guard:
    """Reviews the decisions of one interval. Pure: windows, decisions and times in, decisions out.

    A refused change comes back as a decision to keep, its reason `guard.RULE`; what the guard does by itself has the
    reasons `guard.revert`, `guard.switchback`, `guard.return` and `guard.unpaid`.
    """

    def __init__(self, limits: GuardLimits | None = None, seed: int = 0) -> None:
        self.limits = limits or GuardLimits()
        self._seed = seed
        self._records: dict[str, UnitRecord] = {}
        self._accounts: dict[str, Account] = {}
        self._unit_of: dict[Target, str] = {}
        self._effects: list[Effect] = []

    def effects(self) -> tuple[Effect, ...]:
        """What changes turned out to do since this was last asked."""
        found, self._effects = tuple(self._effects), []
        return found

    def review(
        self,
        seen: Sequence[Window | Void],
        decisions: Sequence[Decision],
        space_of: SpaceOf,
        node: NodeView,
    ) -> tuple[Decision, ...]:
        """The decisions that may be carried out, one for each that was given, in the same order."""
        windows = {window.target: window for window in seen}
        for window in seen:
            if isinstance(window, Void):
                self._interrupt(window)
        units: dict[str, list[Decision]] = {}
        for decision in decisions:
            units.setdefault(decision.unit or unit_name(decision.target), []).append(decision)
        verdicts: dict[Target, Decision] = {}
        for unit, members in units.items():
            space = space_of(members[0].target)
            shown = members[0].history[-1] if members[0].history else windows[members[0].target]
            assert isinstance(shown, Window)
            for verdict in self._review_unit(unit_of(unit, members, windows, space), shown):
                verdicts[verdict.target] = verdict
        held_mib = {
            w.target: space_of(w.target).cache_bytes(w.setting) / MIB for w in seen if isinstance(w, Window)
        }
        return tuple(
            within_budget(verdicts[decision.target], held_mib, space_of(decision.target), node, self.limits)
            for decision in decisions
        )

    def bounds(self, now_s: float) -> tuple[BoundUse, ...]:
        """How much of what changes may cost each mount has used; may be asked from any thread."""
        found = dict(self._accounts).items()
        return tuple(bound_use(mount, account, self.limits, now_s) for mount, account in found)

    def forget(self, target: Target) -> None:
        """Drop everything remembered of a target that is gone."""
        unit = self._unit_of.pop(target, unit_name(target))
        if unit == unit_name(target):
            self._records.pop(unit, None)

    def _interrupt(self, window: Void) -> None:
        """A reconnect or worse: a look is given up, and the first interval after it is not judged."""
        record = self._records.get(self._unit_of.get(window.target, unit_name(window.target)))
        if record is not None:
            record.look, record.settle = None, max(record.settle, 1)
            record.quiet_until_s = max(record.quiet_until_s, window.t1_s + self.limits.dwell_s)

    # -- one unit -----------------------------------------------------------------------------------------------

    def _review_unit(self, unit: Unit, window: Window) -> list[Decision]:
        record = self._record(unit)
        for member in unit.members:
            self._unit_of[member.target] = unit.name
        turn = self._arrive(unit, window, record)
        self._measure(turn)
        order = self._look(turn) or self._judge(turn)
        if order is not None:
            return [self._obey(member, order, turn) for member in unit.members]
        return self._ask(turn)

    def _arrive(self, unit: Unit, window: Window, record: UnitRecord) -> Turn:
        """Where the unit is now, and whether the interval shows that setting and nothing else."""
        now_s, work, members = window.t1_s, unit.members[0].work, unit.members
        if now_s - record.last_busy_s > self.limits.pause_s:
            record.settle = max(record.settle, 1)
            record.quiet_until_s = max(record.quiet_until_s, now_s + self._jitter_s(unit.name, record))
        record.last_busy_s = now_s
        if work != record.work:
            record.work, record.settle = work, max(record.settle, 1)
        at_home = 2 * sum(record.place_of(m.before) == unit.home_of(m) for m in members) > len(members)
        place = record.place_of(window.setting)
        if place != record.place:
            if record.place is not None:
                visit = record.visit
                was = visit.level if visit is not None else record.of(work).reference.level
                unfelt = record.opens.begin(record.known_space, (record.place, place), window.seconds, was)
                hidden = hiding_windows(record.known_space, record.place, place, window)
                record.settle = 1 + max(echo_windows(window), unfelt, hidden)
            record.place = place
            self._move(record, place, None if at_home else unit.home, now_s)
        settled = record.settle == 0
        felt = not settled and record.opens.awaited and record.opens.felt(rates_of(window))
        record.settle = 0 if felt else max(0, record.settle - 1)
        return Turn(unit, window, record, record.of(work), at_home, settled)

    def _move(self, record: UnitRecord, place: Setting, home: Setting | None, now_s: float) -> None:
        """The setting in force is another one; `home` is the original it is away from, none if it is back there."""
        # Only the decision that was let through last can have brought this move; a later one was somebody else's.
        decisions, record.let_through = record.let_through, {}
        if home is None:
            if record.look is None:
                record.visit = None
            return
        price = price_of(record.known_space, place, home, self.limits)
        if record.visit is None:
            record.visit = Visit(place, now_s, decisions, looked_s=now_s, price=price)
        elif record.visit.place != place:
            record.visit.move(place, decisions, price)

    def _measure(self, turn: Turn) -> None:
        """Take the window in: as one of the original, or as one of the visit."""
        rates, reference = rates_of(turn.window), turn.work.reference
        if turn.at_home:
            self._charge_aftermath(turn, rates)
            if turn.settled:
                reference.take(rates)
                if turn.record.known_space.late:
                    reference.keep(rates)
                turn.work.cache.take(turn.window)
                turn.work.request.take(turn.window)
                self._hear(turn)
            return
        visit = turn.record.visit
        if visit is None or reference.level.count == 0:
            return
        if not turn.settled:
            rates = sent_at_least(rates, turn.window)
        lost_s = self._charge(turn, visit, rates)
        if lost_s != 0:
            turn.record.account.losses.append((turn.now_s, lost_s))
        if not turn.settled:
            return
        visit.take(rates)
        if visit.level.count >= REFUGE_WINDOWS:
            turn.work.proofs[visit.place] = Proof(visit.level, visit.price, turn.now_s)
        self._report(turn, visit)
        if visit.level.count == PROVEN_WINDOWS and gain_of(visit, turn.work, self.limits) >= visit.price:
            turn.work.proven.add(visit.place)

    def _charge(self, turn: Turn, visit: Visit, rates: Rates) -> float:
        """Charge the visit; returns what the mount's account is charged.

        Elsewhere a look at the original corrects a verdict that bursts brought about. Where knobs act on new opens
        there are no such looks, so the bursts themselves are taken off.
        """
        reference, seconds, kept_s = turn.work.reference, turn.window.seconds, visit.lost_s
        if self._acts_late(turn, visit):
            return charge_net(visit, rates, reference, seconds, self.limits)
        lost_s = charge(visit, rates, reference.level.mean, seconds, self.limits)
        if not turn.settled:
            visit.lost_s = max(kept_s, visit.lost_s) if lost_s > 0 else kept_s
        return lost_s

    def _acts_late(self, turn: Turn, visit: Visit) -> bool:
        """Whether the way between the original and the setting in force is felt on new opens only."""
        return turn.record.known_space.acts_late(visit.place, turn.unit.home)

    def _charge_aftermath(self, turn: Turn, rates: Rates) -> None:
        """What the original still lacks after a visit that did harm."""
        after = turn.work.aftermath
        if after is None or turn.record.look is not None:
            return
        if turn.now_s > after.until_s:
            turn.work.aftermath = None
            return
        missing = 1.0 - 2.0 ** gain_log2(rates, after.original, self.limits.objective, WINDOW_SLACK_LOG2)
        turn.record.account.losses.append((turn.now_s, after.take(missing * turn.window.seconds)))

    # -- looks at the original ----------------------------------------------------------------------------------

    def _look(self, turn: Turn) -> Order | None:
        """Go on with a look at the original, or begin one that is due."""
        record, visit = turn.record, turn.record.visit
        if record.look is not None:
            return self._go_on_looking(turn, record.look)
        if turn.at_home or visit is None:
            return None
        if turn.work.reference.level.count < min(
            self.limits.reference_windows, self.limits.switchback_windows
        ):
            return self._begin_look(turn, visit, self.limits.reference_windows, "is not known for this work")
        if self._acts_late(turn, visit):
            # Files opened during a look would stay at the original for as long as they are open, and files opened
            # before it would not show it. What was measured before the change stands.
            return None
        why = self._due_look(turn, visit)
        return None if why is None else self._begin_look(turn, visit, self.limits.switchback_windows, why)

    def _due_look(self, turn: Turn, visit: Visit) -> str | None:
        """Why the original is looked at now; None where it is not time yet."""
        if visit.surge.count >= SURGE_WINDOWS:
            # What the original brought before says nothing about this.
            visit.level, visit.surge = visit.surge, Level()
            if visit.gained < GAINED_TWICE:
                return "is not known since the work grew"
        waited = look_after_s(turn, visit, self.limits)
        # A setting that is still being measured is not left for a look, unless it takes too long.
        away_s, known = turn.now_s - visit.looked_s, visit.level.count > self.limits.switchback_windows
        due = turn.settled and away_s >= (waited if known else 2.0 * waited)
        return f"was not seen for {waited:.0f} s" if due else None

    def _begin_look(self, turn: Turn, visit: Visit, windows: int, why: str) -> Order:
        back_to = {member.target.name: turn.record.place_of(member.before) for member in turn.members}
        turn.record.look = Look(back_to, visit.place, windows)
        turn.work.reference.begin_look()
        return Order(
            turn.unit.homes,
            Reason.GUARD_SWITCHBACK,
            f"what the original setting brings {why}: a short look",
            {},
        )

    def _go_on_looking(self, turn: Turn, look: Look) -> Order | None:
        record, visit = turn.record, turn.record.visit
        if not turn.at_home or visit is None:
            # The original could not be set, or somebody else set something: nothing can be compared.
            record.look = None
            turn.work.reference.end_look()
            return None
        look.taken += turn.settled
        if look.taken < look.windows:
            return Order({}, Reason.GUARD_SWITCHBACK, "measuring the original setting", {})
        record.look, fresh = None, turn.work.reference.fresh
        turn.work.reference.end_look()
        level = turn.work.reference.level
        ratio = 2.0 ** gain_of(visit, turn.work, self.limits) if visit.level.count else 1.0
        error = (visit.level.error**2 + (fresh.error if fresh else level.error) ** 2) ** 0.5
        away_s = turn.now_s - visit.looked_s
        visit.looked_s, visit.looks = turn.now_s, visit.looks + 1
        paid = ratio / 2.0**visit.price
        visit.lost_s += max(0.0, 1.0 - paid - error) * away_s
        visit.gained = 1.0 - 1.0 / max(ratio, 1.0)
        self._tell(turn, visit, ratio, error, switchback=True)
        if visit.lost_s > allowance_s(turn.work.reference, self.limits):
            return self._take_back(turn, visit)
        if paid < 1.0 + self.limits.least_gain and visit.level.count >= self.limits.switchback_windows:
            return self._give_up(turn, visit, ratio, error)
        times = measured(ratio, error).words
        sentence = f"the original brings {level.mean.total / 1e6:.0f} MB/s, {look.place} {times} that"
        return Order(look.back_to, Reason.GUARD_RETURN, sentence, {"gain_ratio": ratio, "error": error})

    def _give_up(self, turn: Turn, visit: Visit, ratio: float, error: float) -> Order:
        """Stay at the original after a look that did not show the other setting to be better; no harm was done."""
        turn.work.banned[visit.place] = Ban(turn.now_s + self.limits.blacklist_s, 0)
        turn.work.proven.discard(visit.place)
        turn.record.visit = None
        before = turn.work.reference.level.mean.total
        times = measured(ratio, error).words
        sentence = f"the original brings {before / 1e6:.0f} MB/s, {visit.place} {times} that: given up"
        places, where_to = back_from(turn, visit, self.limits)
        return Order(places, Reason.GUARD_UNPAID, sentence + where_to, {"gain_ratio": ratio, "error": error})

    # -- verdicts -----------------------------------------------------------------------------------------------

    def _judge(self, turn: Turn) -> Order | None:
        """End a visit that lost what a visit may lose, or that the bound no longer pays for."""
        visit, record = turn.record.visit, turn.record
        if turn.at_home or visit is None:
            return None
        most_s = self.limits.loss_share * self.limits.loss_window_s
        over = record.account.lost_s(turn.now_s, self.limits) > most_s and visit.place not in turn.work.proven
        if not over and visit.lost_s <= allowance_s(turn.work.reference, self.limits):
            return None
        order = self._take_back(turn, visit)
        if visit.level.count and not visit.price and order.places is turn.unit.homes:
            turn.work.accused = Accused(visit.place, visit.level)
            turn.work.reference.begin_look()
        return order

    def _take_back(self, turn: Turn, visit: Visit) -> Order:
        record, work, now_s = turn.record, turn.work, turn.now_s
        ban = work.banned.get(visit.place, Ban(now_s, 0))
        work.banned[visit.place] = ban.again(now_s, self.limits.blacklist_s)
        work.proven.discard(visit.place)
        work.aftermath = Aftermath(work.reference.level.mean, now_s + self.limits.aftermath_s)
        record.account.harm(now_s, self.limits)
        record.visit = None
        before, after = work.reference.level.mean.total, visit.level.mean.total or rates_of(turn.window).total
        if visit.level.count:
            self._tell(turn, visit, 2.0 ** gain_of(visit, work, self.limits), visit.level.error)
        dear = ", too little for its bytes in flight" if visit.price else ""
        sentence = (
            f"the original brings {before / 1e6:.0f} MB/s here, {visit.place} {after / 1e6:.0f}{dear}: "
            f"{visit.lost_s:.1f} s of work lost, taken back"
        )
        evidence = {"before_bytes_per_s": before, "after_bytes_per_s": after, "lost_s": visit.lost_s}
        places, where_to = back_from(turn, visit, self.limits)
        return Order(places, Reason.GUARD_REVERT, sentence + where_to, evidence)

    def _hear(self, turn: Turn) -> None:
        """Excuse a setting that was taken back if the original, measured afterwards, is no better."""
        accused, work = turn.work.accused, turn.work
        if accused is None:
            return
        accused.windows += 1
        if accused.windows < self.limits.switchback_windows:
            return
        work.accused = None
        work.reference.end_look()
        gain = gain_log2(accused.level.mean, work.reference.level.mean, self.limits.objective)
        if gain >= EXCUSED_LOG2:
            work.banned.pop(accused.place, None)
            if work.aftermath is not None:
                turn.record.account.losses.append((turn.now_s, -max(work.aftermath.lacks_s, 0.0)))
                work.aftermath = None

    def _report(self, turn: Turn, visit: Visit) -> None:
        if visit.level.count < REPORT_WINDOWS or visit.reported:
            return
        visit.reported = True
        level = turn.work.reference.level
        error = (visit.level.error**2 + level.error**2) ** 0.5
        self._tell(turn, visit, 2.0 ** gain_of(visit, turn.work, self.limits), error)

    def _tell(
        self, turn: Turn, visit: Visit, ratio: float, error: float, *, switchback: bool = False
    ) -> None:
        """Say what the setting in force turned out to do."""
        before, after = turn.work.reference.level.mean.total, visit.level.mean.total
        self._effects += [
            Effect(decision_id, member.target, turn.now_s, before, after, ratio, error, switchback)
            for member in turn.members
            if (decision_id := visit.decisions.get(member.target.name)) is not None
        ]

    # -- what becomes of the policy's wishes --------------------------------------------------------------------

    def _obey(self, member: Decision, order: Order, turn: Turn) -> Decision:
        place = order.places.get(member.target.name)
        # Bounds may have changed since a place was noted.
        wanted = member.before if place is None else member.before.replace(turn.unit.space.clipped(place))
        if wanted != member.before:
            turn.record.changed_s.append(turn.now_s)
        return replace(
            member,
            wanted=wanted,
            reason=order.rule,
            sentence=order.sentence,
            evidence=order.evidence,
            confidence=None,
        )

    def _ask(self, turn: Turn) -> list[Decision]:
        """Every member's decision if the rules let the unit move, else decisions to keep."""
        moving = next((member for member in turn.members if member.changes), None)
        if moving is None:
            return list(turn.members)
        place_of = turn.record.place_of
        homeward = all(place_of(m.wanted) == turn.unit.home_of(m) for m in turn.members)
        if homeward or all(place_of(m.wanted) == place_of(m.before) for m in turn.members):
            refusal = None
        else:
            home, unit = turn.unit.home_of(moving), turn.unit.name
            wish = Wish(unit, moving, place_of(moving.wanted), home, turn.record, turn.work, turn.now_s)
            refusal = next((found for rule in RULES if (found := rule(wish, self.limits)) is not None), None)
        if refusal is not None:
            return [kept(member, refusal) if member.changes else member for member in turn.members]
        turn.record.changed_s.append(turn.now_s)
        turn.record.let_through = {member.target.name: member.id for member in turn.members if member.changes}
        turn.record.path.append(place_of(moving.wanted))
        turn.record.account.trying = (turn.unit.name, turn.now_s)
        return list(turn.members)

    def _record(self, unit: Unit) -> UnitRecord:
        """The unit's record, begun anew if a member's original is another one: all it holds is relative to that."""
        record = self._records.get(unit.name)
        if record is None or any(record.homes.get(name, home) != home for name, home in unit.homes.items()):
            payer = unit.name.partition(UNIT_SEPARATOR)[0]
            record = self._records[unit.name] = UnitRecord(self._accounts.setdefault(payer, Account()))
        record.homes.update(unit.homes)
        record.space = unit.space
        return record

    def _jitter_s(self, unit: str, record: UnitRecord) -> float:
        """A wait of the unit's own; a generator each would be most of what is kept of a thousand targets."""
        record.pauses += 1
        rng = Random(f"{self._seed}/{unit}/guard/{record.pauses}")
        return rng.uniform(0.0, self.limits.jitter_s)
