"""The expected value of every candidate setting for the shipped policy, and the reason for a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.decide.belief import Belief, Floats, Measured
from penstock.decide.habits import Habits
from penstock.decide.objective import Rates
from penstock.decide.policies._base import Proposal
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import Candidates, KnobSpace, Role, Setting
from penstock.window import DIRECTIONS, Window

# Of the votes for a bet, so much counts; see `sober`.
SOBER_LEAST, SOBER_SHARE = 0.15, 0.65


@dataclass(frozen=True, slots=True, eq=False)
class Prospect:
    """The belief about all candidates, the best setting measured, and the most promising other one (the bet).

    `behind` is what the setting in force lacks of the best one, both less the price of what they ask for.
    """

    belief: Belief
    best: int
    bet: int
    hope: float
    behind: float

    @property
    def over(self) -> float:
        """What the best setting measured gains over the original."""
        return float(self.belief.mean[self.best])

    @property
    def evidence(self) -> dict[str, float]:
        """The numbers behind a decision, for the log."""
        return {"best_log2": self.over, "hope_log2": self.hope}


@dataclass(frozen=True, slots=True)
class Motive:
    """Why a change is asked for: a code for machines, a sentence for people, and how sure it is."""

    code: str
    sentence: str
    chance: float

    @property
    def is_trial(self) -> bool:
        """Whether it leads somewhere that was not measured enough."""
        return self.code in (Reason.PROMISING, Reason.DEFAULT, Reason.STARVING)


@dataclass(frozen=True, slots=True)
class Stay:
    """Where a group is: the setting in force, the original, and the one it returns to when in doubt.

    `used` is the original with the lowest limits that would do the same. A trial takes `windows`; a knob that acts on
    new opens is felt after `unfelt` more. `surveyed` says whether anything is known of these knobs from elsewhere.
    """

    place: Setting
    original: Setting
    base: Setting
    used: Setting
    windows: int
    unfelt: int
    surveyed: bool

    @property
    def bold(self) -> bool:
        """Whether the original was left for something clearly better: a trial that loses a part of that still brings
        more than the original, so it costs nobody what they had.
        """
        return self.base != self.original


def weigh(
    known: Mapping[Setting, Measured], belief: Belief, space: KnobSpace, stay: Stay, habits: Habits
) -> Prospect:
    """The best setting measured, and the best bet: what it may improve, less what its trial may lose."""
    candidates, original = belief.candidates, known[stay.original].level.mean
    fair_price, crowd_price = _prices(candidates, candidates.places[stay.original], space, habits)
    contended = _contended(original, stay.original, space, habits) if stay.surveyed else 0.0
    if stay.bold:
        fair_price, contended = np.zeros_like(fair_price), 0.0
    fair_price = fair_price + habits.contended_times * contended * crowd_price
    worth = Belief(candidates, belief.gains - fair_price, belief.votes)
    mean = worth.mean
    tried = [candidates.places[setting] for setting, m in known.items() if m.level.count >= 2]
    tried = tried or [candidates.places[stay.place]]
    kept, base = mean - crowd_price, candidates.places[stay.base]
    best = max(tried, key=lambda at: float(kept[at]))
    if not stay.bold and float(kept[best]) < float(kept[base]) + habits.keep_log2:
        best = base
    over = max(float(mean[at]) for at in tried)
    risk = 0.0 if stay.bold else _risk(original, stay, habits) * _lengths(candidates, space, stay)
    scores = worth.improvement(over) - risk * worth.shortfall(over)
    # Who has left a bad original may come back to a setting until it is known well.
    enough = habits.most_windows if stay.bold else habits.least_windows
    scores[[candidates.places[s] for s, m in known.items() if m.level.count >= enough]] = 0.0
    near = candidates.locate([stay.original, stay.base, stay.used, candidates[best]])
    scores[_beyond(candidates, near, habits)] = 0.0
    declared = any(candidates.space[knob_id].limits for knob_id in candidates.ids)
    if declared:
        scores[_idle(candidates, stay, original)] = 0.0
    if (original.counts[1] and not stay.bold) if stay.surveyed else declared:
        # No gambles on what is not expected to gain enough to be kept: a short look at a setting says little about
        # writes, and a declaration says only which way to go. Without that and a survey nothing ever is expected.
        scores[mean < over + habits.keep_log2] = 0.0
    if contended >= 0.5:
        # Others may be waiting for the same server: no gambles on what is expected to bring less.
        scores[mean < over] = 0.0
    bet = int(np.argmax(scores))
    behind = float(kept[best] - kept[candidates.places[stay.place]])
    return Prospect(belief, best, bet, float(scores[bet]), behind)


def promise(found: Prospect) -> Motive:
    """Why the best bet is worth a look."""
    gain = float(found.belief.mean[found.bet]) - found.over
    chance = sober(float(found.belief.chance(found.over)[found.bet]))
    wish = found.belief.candidates[found.bet]
    sentence = (
        f"{wish} is expected to bring {2**gain:.2f} times the best so far, more with a chance of {chance:.2f}; "
        f"a look may add {2**found.hope - 1:.0%}"
    )
    return Motive(Reason.PROMISING, sentence, chance)


def bet_on(found: Prospect, wish: Setting, code: str, sentence: str) -> tuple[int, Motive]:
    """The place of a setting that is tried for another reason than its promise, and that reason."""
    at = found.belief.candidates.places[wish]
    return at, Motive(code, sentence, float(found.belief.chance(found.over)[at]))


def waits(window: Window, reason: str, sentence: str) -> Proposal:
    """Leave it for now; the policy has not made up its mind."""
    return Proposal(window.setting, reason, sentence, decided=False)


def sober(votes: float) -> float:
    """The chance that a bet comes true, from the share of votes for it.

    The best of many bets is partly luck, and cases know less than they say. The line was fitted to how often bets
    came true when each surveyed case was the world and the others were the survey (`./run bench reliability`).
    """
    return SOBER_LEAST + SOBER_SHARE * votes


def outlook_of(direction: str, belief: Belief, model: str) -> Outlook:
    """What is believed of every candidate, for whoever asks why."""
    return Outlook(
        direction,
        belief.candidates,
        belief.chance(0.0).tolist(),
        True,
        model,
        belief.mean.tolist(),
        belief.deviation.tolist(),
    )


def reached(candidates: Candidates, near: Sequence[Setting], habits: Habits) -> set[Setting]:
    """The candidates that have no knob raised or lowered too far from each of some settings."""
    beyond = _beyond(candidates, candidates.locate(near), habits)
    return {candidate for candidate, far in zip(candidates, beyond, strict=True) if not far}


def _prices(candidates: Candidates, home: int, space: KnobSpace, habits: Habits) -> tuple[Floats, Floats]:
    """What every candidate must gain for its bytes and for its requests in flight beyond the original's and the
    default's: the first to be tried, both to be kept.
    """
    knob = space.of_role(Role.IN_FLIGHT)
    room, flights = candidates.in_flight_bytes, candidates.column(Role.IN_FLIGHT)
    usual = 1 if knob is None else space.default[knob.id]
    return (
        habits.fair_log2 * _doublings(room, home, space.in_flight_bytes(space.default)),
        habits.crowd_log2 * _doublings(flights, home, usual),
    )


def _contended(original: Rates, setting: Setting, space: KnobSpace, habits: Habits) -> float:
    """Whether all slots of the original are full, from 0 to 1: then whoever adds requests may only take the turns of
    others; where they are not, a call is merely split.
    """
    knob = space.of_role(Role.IN_FLIGHT)
    if knob is None or knob.id not in setting:
        return 0.0
    used = (original.read_flight + original.write_flight) / max(setting[knob.id], 1)
    low, high = habits.contended_from, habits.contended_full
    return min(max((used - low) / (high - low), 0.0), 1.0)


def _beyond(candidates: Candidates, near: Floats, habits: Habits) -> NDArray[np.bool_]:
    """Which candidates have a knob raised or lowered too far from each of some places."""
    raised = candidates.coordinates[:, None] - near
    outside = (raised > habits.reach_log2) | (-raised > habits.reach_down_log2)
    # The stubs of `any` forget that an axis is left.
    found: NDArray[np.bool_] = outside.any(axis=2).all(axis=1)  # type: ignore[call-overload, assignment]
    return found


def _idle(candidates: Candidates, stay: Stay, original: Rates) -> NDArray[np.bool_]:
    """Which candidates change a knob of which nothing is expected: it limits only directions in which nothing moves,
    or neither its declaration nor a survey says what it does.
    """
    busy = {way for way, counts in zip(DIRECTIONS, original.counts, strict=True) if counts}
    limits = [candidates.space[knob_id].limits for knob_id in candidates.ids]
    idle = [busy.isdisjoint(ways) if ways else not stay.surveyed for ways in limits]
    here = candidates.values[candidates.places[stay.place]]
    found: NDArray[np.bool_] = (candidates.values != here)[:, idle].any(axis=1)
    return found


def _doublings(amounts: Floats, home: int, usual: float) -> Floats:
    """How often each amount doubles the larger of the original's and the usual one."""
    found: Floats = np.log2(np.maximum(amounts / max(float(amounts[home]), usual), 1.0))
    return found


def _lengths(candidates: Candidates, space: KnobSpace, stay: Stay) -> Floats:
    """How many times as long as usual a trial of each candidate lasts: some are felt only on new opens."""
    if not space.late:
        return np.ones(len(candidates))
    late = [space.acts_late(stay.place, candidate) for candidate in candidates]
    return 1.0 + np.array(late) * stay.unfelt / (1 + stay.windows)


def _risk(original: Rates, stay: Stay, habits: Habits) -> float:
    """How much a possible loss counts: more where writes are at work."""
    if original.counts[1]:
        return habits.risk_of_writes
    return habits.caution * (1 + stay.windows) / habits.horizon_windows
