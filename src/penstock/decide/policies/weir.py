"""The shipped policy: measures what settings bring, tries the most promising other one, keeps the best measured.

A weir is built into a stream to measure it and, by the same means, to regulate it. The policy works on a tuning
group, that is, on one kind of work of one mount (`penstock.decide.groups`). It knows what every setting tried
here brought and what a model forecasts for the others (`penstock.decide.belief`), tries the setting with the
largest expected improvement if that is worth a trial, leaves it early when it falls behind, and rests at the best
one measured.

One window is one event. The state says what the window is for:

    settling   the interval shows more than one setting: not used
    measuring  the setting in force is measured until its mean is known well enough
    resting    nothing promises enough; the setting is held and watched for a change of the world
    asking     a change was asked for and not made yet
"""

from __future__ import annotations

import math
from random import Random

from penstock.decide.belief import Knowledge, Measured
from penstock.decide.habits import HABITS, Habits
from penstock.decide.level import Level
from penstock.decide.memory import Memories, Recollection, forget_outside, remember
from penstock.decide.objective import Rates, drains, fills, gain_log2, rates_of
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.prospect import (
    Motive,
    Prospect,
    Stay,
    bet_on,
    outlook_of,
    promise,
    reached,
    waits,
    weigh,
)
from penstock.decide.reopening import Reopening
from penstock.decide.starving import Relief, call_bytes, relief, starves
from penstock.decide.steadiness import Drift, RequestCount, Rounds
from penstock.decide.weir_state import State
from penstock.decide.work import CacheShare, LargestRequest, dominant, echo_windows, hiding_windows
from penstock.decision import Cases, Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import Candidates, KnobSpace, Setting
from penstock.predict.drawn import drawn_cases
from penstock.window import Window


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

    def __init__(self, space: KnobSpace, rng: Random, habits: Habits = HABITS) -> None:
        super().__init__(space, rng)
        self._habits = habits
        self._state, self._left, self._now = State.SETTLING, 1, 0
        #: The original, as the window at hand states it.
        self._home: Setting | None = None
        self._place: Setting | None = None
        #: The knobs and bounds that everything kept here lies within.
        self._bounds = space
        #: Windows since the setting in force was set.
        self._stayed = 0
        self._known = Knowledge()
        self._recollection = Recollection()
        self._cases: Cases
        self._visit = Level()
        self._drift = Drift(habits)
        self._drawn_for: Candidates | None = None
        self._model = "none"
        self._cache_share = CacheShare()
        self._request = LargestRequest()
        #: At the setting that is gone back to in doubt.
        self._requests = RequestCount(habits)
        self._relief = Relief(habits.relief_windows)
        self._rounds = Rounds(habits)
        self._lost = 0.0
        #: The size of calls in the direction that moves less.
        self._call_bytes = 0.0
        self._wish: Setting | None = None
        #: What the setting asked for last brings at the very least, as far as is known, over the original.
        self._least_log2 = 0.0
        self._seen_s = -math.inf
        #: Windows until what was queued before the last change has left.
        self._draining = 0
        #: Whether a knob that acts on new opens is felt already.
        self._opens = Reopening()

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Take in a window; when enough is known, decide where to go next."""
        self._now += 1
        place, rates = window.setting.only(*self.space.searched), rates_of(window)
        self._home = self.space.clipped(window.home.only(*self.space.searched))
        if self._bounds is not self.space:
            self._bounds = self.space
            forget_outside(self.space, self._known, self._recollection)
        self._hear(outlook)
        self._stayed += 1
        if place != self._place:
            self._arrive(place, window, rates)
        elif window.t0_s - self._seen_s > self._habits.gap_s:
            # What was measured before a pause is not mixed with what comes after.
            self._enter(State.SETTLING, 1)
        self._seen_s = window.t1_s
        self._charge(place, rates)
        self._draining = max(0, self._draining - 1)
        if self._is_foreign(place):
            return self._return(window, self._prospect(self._home))
        if self._state is State.SETTLING and not self._collapsed(place, rates):
            return self._settle(window, rates)
        overdue = self._default_overdue(place)
        if drains(window) and not overdue:
            return waits(window, Reason.DRAINING, "what was written before is still on its way")
        self._learn(place, rates)
        if place == self._default:
            for look in self._known.looks.values():
                look.take(window)
        if self._drift.left(self._known.measured[place].level):
            self._start_anew(place)
        self._call_bytes = call_bytes(window) or self._call_bytes
        if place == self._base():
            # Elsewhere more of it may be just what a setting gains.
            self._cache_share.take(window)
            self._request.take(window)
            self._requests.take(window)
        if self._is_sparse(place) or self._cache_share.large:
            return self._leave_alone(window, place)
        if fills(window) and not overdue:
            return waits(window, Reason.FILLING, "what is written piles up in memory for now")
        due = self._due(place) or overdue
        return (
            self._decide(window, place)
            if due
            else waits(window, str(self._state), f"{self._state} at {place}")
        )

    def remembered(self) -> Memories:
        """What was measured here; what was recalled and is still to be checked, as it was."""
        return self._recollection.aside or remember(self._known)

    def recall(self, memories: Memories) -> None:
        """Keep this until the original was measured anew."""
        self._recollection.aside = memories

    @property
    def _default(self) -> Setting:
        """The file system's default; a knob that somebody else took over has their value."""
        return self.space.default.only(*self.space.searched)

    # -- events -------------------------------------------------------------------------------------------------

    def _enter(self, state: State, windows: int) -> None:
        self._state, self._left = state, windows
        if state is State.SETTLING:
            self._visit = Level()
            self._drift.latest.clear()

    def _hear(self, outlook: Outlook | None) -> None:
        """Take the cases of a survey; without any, of random surfaces over these candidates."""
        candidates = self.space.candidates()
        if outlook is not None and outlook.cases is not None:
            self._cases, self._model = outlook.cases, outlook.model
        elif self._drawn_for is not candidates:
            self._cases, self._drawn_for = drawn_cases(candidates), candidates

    def _arrive(self, place: Setting, window: Window, rates: Rates) -> None:
        """Another setting is in force. What is dirty was queued under the one before: writes take longer to show.

        A knob that acts on new opens shows only once applications open their files anew.
        """
        self._stayed = 0
        before = self._place or place
        known = self._known.measured.get(before, Measured()).level
        unfelt = self._opens.begin(self.space, (before, place), window.seconds, known)
        self._draining = hiding_windows(self.space, before, place, window)
        self._place = place
        echo = echo_windows(window) + rates.counts[1]
        self._enter(State.SETTLING, 1 + max(echo, unfelt, self._draining))

    def _charge(self, place: Setting, rates: Rates) -> None:
        """Keep account of what trials lose, in windows of the original's work. What they lack of more is no loss."""
        fading = 1.0 - 1.0 / self._habits.horizon_windows
        original = self._known.measured.get(self._home) if self._home is not None else None
        lost = 0.0
        # While the queue of before drains, what is seen is not this setting's doing.
        if original is not None and place != self._home and not self._draining:
            lost = 1.0 - 2.0 ** gain_log2(rates, original.level.mean, self._habits.objective)
        self._lost = fading * self._lost + max(lost, 0.0)

    def _collapsed(self, place: Setting, rates: Rates) -> bool:
        """Whether the first interval of a trial already shows that it is hopeless."""
        best = self._known.best_elsewhere(place)
        if best is None or self._wish != place or self._draining or self._opens.awaited:
            return False
        lost = gain_log2(rates, best.mean, self._habits.objective) < math.log2(self._habits.hopeless_at_once)
        return lost and self._credible(rates)

    def _credible(self, rates: Rates) -> bool:
        """Whether a single bad window may be the setting's doing: not if nobody could have expected it."""
        original = self._known.measured[self._known.best_anchor(self._home or self._default)].level.mean
        return gain_log2(rates, original, self._habits.objective) > self._least_log2

    def _leave_alone(self, window: Window, place: Setting) -> Proposal:
        """Try nothing new; stay away from the original only for what is beyond doubt better."""
        if not self._cache_share.large:
            self._enter(State.RESTING, self._habits.refused_windows)
            return Proposal(
                window.setting, Reason.SPARSE, "too few requests to tell what a setting brings: left alone"
            )
        if place == self._default != self._home and not self._knows(place):
            return waits(window, Reason.MEASURING, f"measuring at {place}")
        found = self._prospect(place)
        if self._owes_default(place, found):
            return self._try_default(window, found)
        proven = found.over > self._habits.doubtless_log2
        wish = found.belief.candidates[found.best] if proven else self._base()
        if wish != place:
            sentence = f"the page cache does much of this work: back to {wish}"
            at = found.belief.candidates.places[wish]
            return self._ask(window, found, at, Motive(Reason.CACHED, sentence, 1.0))
        self._enter(State.RESTING, self._habits.refused_windows)
        return Proposal(window.setting, Reason.CACHED, "the page cache does much of this work: left alone")

    def _settle(self, window: Window, rates: Rates) -> Proposal:
        self._left -= 1
        if self._opens.felt(rates) or self._left <= 0:
            self._enter(State.MEASURING, 0)
        return waits(window, Reason.SETTLING, "the interval of a change itself is not judged")

    def _learn(self, place: Setting, rates: Rates) -> None:
        self._visit.take(rates)
        self._drift.latest.append(rates)
        self._recollection.arrive(place, self._known)
        self._known.measured.setdefault(place, Measured()).take(rates, self._now)

    def _start_anew(self, place: Setting) -> None:
        """The world is another one: only what was seen last is known of it."""
        self._recollection.drop(self._known)
        self._known = Knowledge({place: Measured(self._drift.level(), self._now)}, self._known.looks)
        self._enter(State.RESTING, self._rounds.start_anew())

    def _due(self, place: Setting) -> bool:
        """Whether to decide now."""
        if self._state is State.RESTING or self._state is State.ASKING:
            self._left -= 1
            return self._left <= 0 or self._state is State.ASKING
        return self._visit.count >= self._windows_needed() or self._falls_behind(place)

    def _windows_needed(self) -> int:
        """The unsteadier the work, the longer a setting is measured."""
        habits = self._habits
        wanted = round((self._known.noise() / habits.aim) ** 2)
        return min(max(wanted, habits.least_windows), habits.most_windows)

    def _falls_behind(self, place: Setting) -> bool:
        """Whether this setting clearly brings less than another one did."""
        best = self._known.best_elsewhere(place)
        if best is None or self._must_be_borne(place):
            return False
        again = self._visit.count >= 2
        least = self._habits.hopeless if again else self._habits.hopeless_at_once
        behind = gain_log2(self._visit.mean, best.mean, self._habits.objective) < math.log2(least)
        return behind and (again or self._credible(self._visit.mean))

    def _is_foreign(self, place: Setting) -> bool:
        """Whether other work of the same targets left this setting behind: never asked for or measured here."""
        own = place in (self._home, self._wish) or place in self._known.measured
        return not own and self._home is not None and self._knows(self._home)

    def _must_be_borne(self, place: Setting) -> bool:
        """Whether a bad look is waited out: coming back later would take files that are opened anew once more."""
        late = self._home is not None and self.space.acts_late(place, self._home)
        return late and self._visit.count < self._windows_needed()

    def _base(self) -> Setting:
        """What is gone back to in doubt: the original, or the file system's default if that brought clearly more."""
        known = self._known.measured
        home = self._known.best_anchor(self._home or self._default)
        if not self._knows(self._default):
            return home
        gain = gain_log2(known[self._default].level.mean, known[home].level.mean, self._habits.objective)
        return self._default if gain > self._habits.doubtless_log2 else home

    def _knows(self, setting: Setting) -> bool:
        return self._known.knows(setting, self._habits.least_windows)

    # -- decisions ----------------------------------------------------------------------------------------------

    def _decide(self, window: Window, place: Setting) -> Proposal:
        self._consult_memory(place)
        found = self._prospect(place)
        first = self._first_of_all(window, place, found)
        if first is not None:
            return first
        if self._falls_behind(place) or self._remembers_better(found):
            return self._return(window, found)
        if (
            found.hope > self._worth_log2()
            and self._lost < self._habits.most_lost
            and not self._relieved(found)
        ):
            return self._ask(window, found, found.bet, promise(found))
        if found.behind > self._telling_log2(place, found) or self._unproven(place, found):
            return self._return(window, found)
        self._enter(State.RESTING, self._rounds.end(found.over))
        return Proposal(
            window.setting, Reason.RESTING, f"nothing promises enough over {place}", found.evidence
        )

    def _is_sparse(self, place: Setting) -> bool:
        """Whether so few requests are made at the setting in doubt that chance decides what a window shows."""
        return self._requests.few and place == self._base() and self._drawn_for is None

    def _worth_log2(self) -> float:
        """What the next trial must promise."""
        home = self._known.best_anchor(self._home or self._default)
        writes = self._known.measured[home].level.mean.counts[1]
        return self._rounds.worth_log2(dear=writes or self._drawn_for is not None)

    def _consult_memory(self, place: Setting) -> None:
        """What was remembered counts once the original is measured, and until a measurement contradicts it."""
        memory = self._recollection
        if memory.aside and place == self._home:
            near = (place, self._default, self._request.as_used(self.space, place))
            kept = reached(self.space.candidates().and_beside([place]), near, self._habits)
            memory.aside = {at: one for at, one in memory.aside.items() if at in kept}
            memory.consult(place, self._known, self.space.candidates(), self._now)
        if memory.contradicted(self._known, self._habits.objective):
            memory.drop(self._known)

    def _remembers_better(self, found: Prospect) -> bool:
        """Whether the best setting known is one that was measured before a restart only."""
        return found.belief.candidates[found.best] in self._recollection.counted

    def _owes_default(self, place: Setting, found: Prospect) -> bool:
        """Whether somebody set other values than the file system's own, and those were never tried."""
        default = self._default
        return (
            default in found.belief.candidates.places
            and default != place
            and not self._knows(default)
            and self._home == place
        )

    def _default_overdue(self, place: Setting) -> bool:
        """Whether the default was not tried for so long that it is, whatever the cache does meanwhile."""
        untried = place == self._home != self._default and not self._knows(self._default)
        waits = self._state in (State.MEASURING, State.ASKING)
        return untried and waits and self._stayed >= self._habits.overdue_windows

    def _try_default(self, window: Window, found: Prospect) -> Proposal:
        sentence = f"{self._default}, the default of the file system, was never tried here"
        return self._ask(window, found, *bet_on(found, self._default, Reason.DEFAULT, sentence))

    def _first_of_all(self, window: Window, place: Setting, found: Prospect) -> Proposal | None:
        """What is tried before any bet: the file system's default, and the relief of who starves."""
        if self._owes_default(place, found):
            return self._try_default(window, found)
        wish = self._relief_at(place)
        return None if wish is None else self._relieve(window, found, wish)

    def _relief_at(self, place: Setting) -> Setting | None:
        """The setting to try first where one direction starves; None where none does or it was tried."""
        if (
            self._relief.waits(self._now)
            or place != self._home
            or not starves(self._known.measured[place].level.mean)
        ):
            return None
        wish = relief(self.space.candidates(), self._call_bytes)
        return wish if wish != place and wish not in self._known.measured else None

    def _relieve(self, window: Window, found: Prospect, wish: Setting) -> Proposal:
        if self._state is not State.ASKING:
            self._relief.begin(self._now)
        sentence = f"one direction starves beside the other: {wish} leaves a call one request to wait for"
        return self._ask(window, found, *bet_on(found, wish, Reason.STARVING, sentence))

    def _relieved(self, found: Prospect) -> bool:
        """Whether nobody starves any more. Then what a further trial may add is not worth its long queues."""
        original = self._known.measured[self._known.best_anchor(self._home or self._default)].level.mean
        return starves(original) and found.over > self._habits.doubtless_log2

    def _telling_log2(self, place: Setting, found: Prospect) -> float:
        """How much better another setting must be to be returned to: more than both means may be off."""
        if self._base() != self._home:
            return self._habits.return_log2
        noise, known = self._known.noise(), self._known.measured
        best = known.get(found.belief.candidates[found.best], known[place])
        unsure = math.hypot(known[place].noise_log2(noise, self._now), best.noise_log2(noise, self._now))
        return max(self._habits.return_log2, unsure)

    def _return(self, window: Window, found: Prospect) -> Proposal:
        if self._remembers_better(found):
            sentence = f"{found.belief.candidates[found.best]} brought the most here before the restart"
            chance = float(found.belief.chance(0.0)[found.best])
            return self._ask(window, found, found.best, Motive(Reason.REMEMBERED, sentence, chance))
        sentence = f"{found.belief.candidates[found.best]} brought the most of what was measured here"
        return self._ask(window, found, found.best, Motive(Reason.BEST_MEASURED, sentence, 1.0))

    def _unproven(self, place: Setting, found: Prospect) -> bool:
        """Whether what is gone back to in doubt is as good as what is in force here."""
        base = self._base()
        return base != place and found.best == found.belief.candidates.places[base]

    def _prospect(self, place: Setting) -> Prospect:
        """Weigh all candidates: the best one measured, and the best bet among the others."""
        assert self._home is not None
        known = self._known
        belief = known.believe(
            self._cases, self.space.candidates(), self._home, self._now, self._habits.objective
        )
        used = self._request.as_used(self.space, self._home)
        here = (place, known.best_anchor(self._home), self._base(), used)
        stay = Stay(*here, self._windows_needed(), self._opens.windows, surveyed=self._drawn_for is None)
        return weigh(known.measured, belief, self.space, stay, self._habits)

    def _ask(self, window: Window, found: Prospect, at: int, reason: Motive) -> Proposal:
        """Ask for a change; one that is not made for a few windows is left for a while."""
        wish, habits = found.belief.candidates[at], self._habits
        if wish != self._wish or self._state is not State.ASKING:
            self._wish = wish
            self._least_log2 = float(found.belief.mean[at] - 2.0 * found.belief.deviation[at])
            self._rounds.trials += reason.is_trial
            self._enter(State.ASKING, habits.patience)
        if self._left <= 0:
            self._enter(State.RESTING, habits.refused_windows)
            return Proposal(window.setting, Reason.REFUSED, f"{wish} was not granted")
        evidence = found.evidence | {
            "gain_log2": float(found.belief.mean[at]) - found.over,
            "deviation_log2": float(found.belief.deviation[at]),
        }
        wanted = window.setting.replace(wish)
        outlook = outlook_of(dominant(window), found.belief, self._model)
        return Proposal(wanted, reason.code, reason.sentence, evidence, reason.chance, outlook=outlook)


POLICY = WeirPolicy
