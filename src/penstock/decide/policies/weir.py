"""The shipped policy: measures what settings bring, tries the one whose trial is worth most, keeps the best measured.

A weir is built into a stream to measure it and, by the same means, to regulate it. The policy works on a tuning
group, that is, on one kind of work of one mount (`penstock.decide.groups`). What was measured is in the record that
the guard keeps; a survey of other worlds says what to expect of the other settings (`penstock.decide.belief`).
A trial is worth what it may improve for as long as the work is likely to go on, less what it costs
(`penstock.decide.value`). What the guard does not offer is not asked for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from penstock.decide.belief import Knowledge
from penstock.decide.following import Following
from penstock.decide.habits import (
    AIM,
    HOPELESS,
    LEAST_NOISE,
    LEAST_WINDOWS,
    MOST_WINDOWS,
    REFUSED_WINDOWS,
    RETURN_LOG2,
    WAVES,
)
from penstock.decide.memory import Memories, Recollection, forget_outside, remember
from penstock.decide.objective import Objective, gain_log2
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.rewritten_cases import with_rewritten
from penstock.decide.starving import Relief, call_bytes, relief, starves
from penstock.decide.steadiness import RequestCount, Rounds
from penstock.decide.value import Prospect, Stay, outlook_of, sober, weigh
from penstock.decide.work import dominant
from penstock.decision import Cases, HeldBack, Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import Candidates, KnobSpace, Setting
from penstock.predict.drawn import drawn_cases
from penstock.window import Window

if TYPE_CHECKING:
    from penstock.decide.fleet_advice import WorkAdvice
    from penstock.decide.guard.offer import Offer

_LN2 = math.log(2)


class WeirPolicy(Policy):
    """Tunes one tuning group as the module's docstring says."""

    name = "weir"
    uses_model = True
    model_kind = "survey"
    learns = True
    guarded = True
    in_groups = True
    tunes_cache = True
    spares_busy = True
    reads_offers = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._offer: Offer | None = None
        #: The knobs and bounds that everything kept here lies within.
        self._bounds = space
        self._known = Knowledge()
        self._recollection = Recollection()
        self._cases: Cases
        self._drawn_for: Candidates | None = None
        self._model = "none"
        #: When this work was first seen.
        self._began_s: float | None = None
        #: The setting that is being tried; None at rest.
        self._trying: Setting | None = None
        self._resting = 0
        #: What kept the best candidate from being tried when candidates were last weighed.
        self._held_back: HeldBack | None = None
        self._rounds = Rounds()
        self._requests = RequestCount()
        self._relief = Relief()
        self._following = Following()
        #: The size of calls in the direction that moves less.
        self._call_bytes = 0.0

    def offered(self, offer: Offer) -> None:
        """What may be chosen in this interval."""
        self._offer = offer

    def advised(self, advice: WorkAdvice | None) -> None:
        """What other nodes say about this work."""
        self._following.advice = advice

    def following(self) -> Following | None:
        """What it tells other nodes."""
        return self._following

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Take in a window; when enough is known, decide where to go next."""
        offer = self._offer
        assert offer is not None
        place, home = window.setting.only(*self.space.searched), offer.turn.unit.home
        self._take_over(offer.work.known)
        self._hear(outlook)
        if self._began_s is None:
            self._began_s = window.t0_s
        if not offer.judged:
            return self._wait(
                window, Reason.SETTLING, offer.busy or "this interval tells nothing about a setting"
            )
        self._look_at(window, place, offer)
        if place == home and not offer.knows_original:
            return self._wait(window, Reason.MEASURING, "measuring what the original brings")
        if home not in self._known.measured or place not in self._known.measured:
            return self._wait(window, Reason.MEASURING, "measuring")
        if self._trying == place and not self._is_known_enough(place, offer):
            return self._wait(window, Reason.MEASURING, f"measuring {place}")
        return self._decide(window, place, offer)

    def remembered(self) -> Memories:
        """What was measured here; what was recalled and is still to be checked, as it was."""
        return self._recollection.aside or remember(self._known)

    def recall(self, memories: Memories) -> None:
        """Keep this until the original was measured anew."""
        self._recollection.aside = memories

    # -- what is known ------------------------------------------------------------------------------------------

    def _take_over(self, known: Knowledge) -> None:
        """The record is begun anew when the original changes; settings out of bounds are forgotten."""
        if known is not self._known:
            self._known, self._trying, self._resting, self._held_back = known, None, 0, None
            self._following = Following(self._following.advice)
        if self._bounds is not self.space:
            self._bounds = self.space
            forget_outside(self.space, known, self._recollection)

    def _hear(self, outlook: Outlook | None) -> None:
        """Take the cases of a survey; without any, of random surfaces over these candidates."""
        candidates = self.space.candidates()
        if outlook is not None and outlook.cases is not None:
            self._cases, self._model = outlook.cases, outlook.model
        elif self._drawn_for is not candidates:
            self._cases, self._drawn_for = drawn_cases(candidates), candidates

    def _look_at(self, window: Window, place: Setting, offer: Offer) -> None:
        """What the work looks like where nothing was tuned."""
        self._recollection.arrive(place, self._known)
        self._call_bytes = call_bytes(window) or self._call_bytes
        if place == offer.turn.unit.home:
            self._requests.take(window, len(offer.turn.unit.members))
        if place == self._default:
            for look in self._known.looks.values():
                look.take(window)

    @property
    def _default(self) -> Setting:
        """The file system's default; a knob that somebody else took over has their value."""
        return self.space.default.only(*self.space.searched)

    def _is_known_enough(self, place: Setting, offer: Offer) -> bool:
        """Whether the trial may end: it is hopeless, clearly worse than another one, or measured well enough."""
        visit, objective = offer.record.visit, offer.limits.objective
        if visit is None:
            return True
        seen, home = visit.level.count, offer.turn.unit.home
        noise = max(self._known.noise(), LEAST_NOISE)
        needed = min(max(round((noise / AIM) ** 2), LEAST_WINDOWS), MOST_WINDOWS)
        if seen >= needed or self.space.acts_late(place, home):
            return seen >= needed
        gain = gain_log2(visit.level.mean, self._known.measured[home].level.mean, objective)
        if gain < math.log2(HOPELESS):
            return True
        off = WAVES * noise / _LN2 / math.sqrt(max(seen, 1))
        return seen >= 2 and gain + off < self._best_elsewhere(place, home, objective)

    def _best_elsewhere(self, place: Setting, home: Setting, objective: Objective) -> float:
        """What the best of the other settings gains over the original."""
        original = self._known.measured[home].level.mean
        others = [m for s, m in self._known.measured.items() if s != place and m.level.count >= 2]
        gains = (gain_log2(m.level.mean, original, objective) for m in others)
        return max(gains, default=0.0)

    # -- decisions ----------------------------------------------------------------------------------------------

    def _decide(self, window: Window, place: Setting, offer: Offer) -> Proposal:
        self._consult_memory(place, offer)
        found = self._prospect(window, place, offer)
        best = found.belief.candidates[found.best]
        # Other work of the same targets may have left another setting in force.
        left_behind = place not in (offer.turn.unit.home, self._trying)
        if self._trying == place:
            self._trying, self._resting = None, 0
        first = self._first_of_all(place, offer)
        if first is not None:
            return self._ask(window, found, found.belief.candidates.places[first[0]], *first[1:])
        if best in self._recollection.counted:
            return self._ask(
                window,
                found,
                found.best,
                Reason.REMEMBERED,
                f"{best} brought the most here before the restart",
            )
        told = self._following.next(offer, found)
        if told is not None:
            at = found.belief.candidates.places[told.setting]
            return self._ask(window, found, at, Reason.FOLLOWED, f"{told.setting} was {told.sentence}")
        left_behind = left_behind and found.behind > RETURN_LOG2
        if self._resting <= 0 and not left_behind and not self._is_sparse():
            explores = self._following.may_explore
            bet = self._bet(found, offer) if explores else next(iter(found.bets), None)
            self._following.wants = bet is not None
            if bet is not None and not explores:
                sentence = f"{found.belief.candidates[bet]}: other nodes explore this work"
                self._held_back = HeldBack(str(Reason.SCOUTED), sentence)
            elif bet is not None:
                return replace(self._try(window, found, bet), held_back=self._held_back)
        if best != place and (found.behind > RETURN_LOG2 or found.over <= 0.0):
            return self._ask(
                window,
                found,
                found.best,
                Reason.BEST_MEASURED,
                f"{best} brought the most of what was measured here",
            )
        return self._rest(window, found, place)

    def _bet(self, found: Prospect, offer: Offer) -> int | None:
        """The candidate worth most among those that may be tried; None if there is none. The rule that keeps the one
        worth most of all from being tried is noted.
        """
        self._held_back = None
        for at in found.bets:
            place = found.belief.candidates[at]
            refusal = offer.refusal(place)
            if refusal is None:
                return at
            if self._held_back is None:
                self._held_back = HeldBack(str(refusal.rule), f"{place}: {refusal.sentence}")
        return None

    def _is_sparse(self) -> bool:
        return self._requests.few and self._drawn_for is None

    def _try(self, window: Window, found: Prospect, bet: int) -> Proposal:
        wish = found.belief.candidates[bet]
        self._trying = wish
        self._rounds.trials += 1
        more = 2 ** float(found.improvement[bet]) - 1
        sentence = (
            f"{wish} is expected to bring {2 ** found.net(bet):.2f} times the original's throughput; "
            f"the best measured so far brings {2**found.over:.2f} times; "
            f"a trial adds {more:.0%} on average, because a worse setting is left at once"
        )
        return self._ask(window, found, bet, Reason.PROMISING, sentence)

    def _rest(self, window: Window, found: Prospect, place: Setting) -> Proposal:
        """Hold the best setting; after rounds that found nothing for ever longer."""
        self._resting -= 1
        if self._resting < 0:
            waits = bool((found.worth > 0.0).any())
            self._following.explored |= not waits and self._following.may_explore
            self._resting = REFUSED_WINDOWS if waits else self._rounds.end(found.over)
        if self._is_sparse():
            sentence = "too few requests to tell what a setting brings"
            return Proposal(window.setting, Reason.SPARSE, sentence, found.evidence)
        held = self._held_back
        sentence = f"nothing promises enough over {place}" if held is None else f"may not try {held.sentence}"
        return Proposal(window.setting, Reason.RESTING, sentence, found.evidence, held_back=held)

    def _first_of_all(self, place: Setting, offer: Offer) -> tuple[Setting, Reason, str] | None:
        """What is tried before any bet: the file system's default, and the relief of who starves."""
        home, default = offer.turn.unit.home, self._default
        if place != home or not self._following.may_explore:
            return None
        untried = default != home and not self._known.knows(default, 2)
        if untried and default in self.space.candidates() and offer.refusal(default) is None:
            sentence = f"{default}, the default of the file system, was never tried here"
            return default, Reason.DEFAULT, sentence
        if self._relief.waits(offer.record.windows) or not starves(self._known.measured[home].level.mean):
            return None
        wish = relief(self.space.candidates(), self._call_bytes)
        if wish is None or wish == place or wish in self._known.measured or offer.refusal(wish) is not None:
            return None
        self._relief.begin(offer.record.windows)
        return (
            wish,
            Reason.STARVING,
            f"one direction starves beside the other: {wish} leaves a call one request to wait for",
        )

    def _consult_memory(self, place: Setting, offer: Offer) -> None:
        """What was remembered counts once the original is measured, and until a measurement contradicts it."""
        memory = self._recollection
        if memory.aside and place == offer.turn.unit.home:
            candidates = self.space.candidates()
            memory.aside = {
                at: one
                for at, one in memory.aside.items()
                if at == place or (at in candidates and offer.is_near(at))
            }
            memory.consult(place, self._known, candidates, offer.record.windows)
        if memory.contradicted(self._known, offer.limits.objective):
            memory.drop(self._known)

    def _prospect(self, window: Window, place: Setting, offer: Offer) -> Prospect:
        """Weigh all candidates: the best one measured, and what trials of the others are worth."""
        home, now, objective = offer.turn.unit.home, offer.record.windows, offer.limits.objective
        cases, seen = self._cases, offer.work.rewriting
        if seen.large and self._drawn_for is None:
            cases = with_rewritten(cases, seen, self.space.candidates(), offer.limits.least_drain)
        belief = self._known.believe(cases, self.space.candidates(), home, now, objective)
        lasted_s = window.t1_s - (self._began_s or 0.0)
        barred = [one for one in self._known.measured if one != place and offer.is_barred(one)]
        stay = Stay(place, home, lasted_s, self._drawn_for is None, now, barred, objective)
        return weigh(self._known, belief, offer.prices(belief.candidates), stay)

    def _ask(self, window: Window, found: Prospect, at: int, reason: Reason, sentence: str) -> Proposal:
        wish = found.belief.candidates[at]
        if reason in (Reason.DEFAULT, Reason.STARVING, Reason.REMEMBERED, Reason.FOLLOWED):
            self._trying = wish
        chance = sober(float(found.belief.chance(found.over)[at]))
        evidence = found.evidence | {
            "gain_log2": found.net(at) - found.over,
            "deviation_log2": float(found.belief.deviation[at]),
        }
        outlook = outlook_of(dominant(window), found.belief, self._model)
        return Proposal(window.setting.replace(wish), reason, sentence, evidence, chance, outlook=outlook)

    def _wait(self, window: Window, reason: Reason, sentence: str) -> Proposal:
        return Proposal(window.setting, reason, sentence, decided=False)


POLICY = WeirPolicy
