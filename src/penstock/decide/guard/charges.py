"""What a visit is charged for: what it lacks, what it leaves behind, and what is excused afterwards."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import astuple

from penstock.decide.guard.limits import BURST_WINDOWS, EXCUSED_LOG2, MOST_REFUND, GuardLimits
from penstock.decide.guard.record import Visit
from penstock.decide.guard.reference import Reference
from penstock.decide.guard.turn import Turn
from penstock.decide.habits import WINDOW_SLACK_LOG2
from penstock.decide.objective import Rates, gain_log2


def charged_s(turn: Turn, visit: Visit, rates: Rates, limits: GuardLimits) -> float:
    """Charge the visit; returns what the mount's account is charged.

    Elsewhere a look at the original corrects a verdict that bursts brought about. Where knobs act on new opens
    there are no such looks, so the bursts themselves are taken off.
    """
    reference, before_s, late = turn.work.reference, visit.lost_s, acts_late(turn, visit)
    rates, excused = over_bursts(visit, rates, reference, limits) if late else (rates, 0.0)
    lost = shortfall(rates, reference.level.mean, limits, visit.price) - excused
    visit.lost_s = max(-limits.visit_credit_s, before_s + lost * turn.window.seconds)
    grown_s = max(visit.lost_s, 0.0) - max(before_s, 0.0)
    if not late and not turn.settled and grown_s <= 0:
        visit.lost_s = before_s
        return 0.0
    return grown_s


def over_bursts(visit: Visit, rates: Rates, reference: Reference, limits: GuardLimits) -> tuple[Rates, float]:
    """The mean over the last windows, those before the visit included, and what such means of the original itself
    lack.
    """
    if visit.dip is None:
        visit.dip, visit.latest = usual_dip(reference, limits), reference.recent
    visit.latest = [*visit.latest[1 - BURST_WINDOWS :], rates]
    return _mean(visit.latest), visit.dip


def usual_dip(reference: Reference, limits: GuardLimits) -> float:
    """What the mean over a few windows of the original lacks of that over all of them: on average, and as much more
    as that may be off.
    """
    seen = reference.recent
    count = max(len(seen) - BURST_WINDOWS + 1, 1)
    means = [_mean(seen[at : at + BURST_WINDOWS]) for at in range(count)] if seen else []
    lacks = [shortfall(mean, reference.level.mean, limits) for mean in means]
    if len(lacks) < 2:
        return max([0.0, *lacks])
    # Means that share windows are not worth one each.
    off = statistics.stdev(lacks) * math.sqrt(BURST_WINDOWS / len(seen))
    return max(0.0, statistics.fmean(lacks) + off)


def _mean(rates: Sequence[Rates]) -> Rates:
    columns = zip(*(astuple(one) for one in rates), strict=True)
    return Rates(*(statistics.fmean(column) for column in columns))


def shortfall(rates: Rates, original: Rates, limits: GuardLimits, price: float = 0.0) -> float:
    """The share that is lacking of the original's work and of what must come on top of it; below zero, what there
    is beyond that, as far as it counts.
    """
    gain = gain_log2(rates, original, limits.objective, WINDOW_SLACK_LOG2) - price
    return float(1.0 - min(2.0**gain, 1.0 + MOST_REFUND))


def allowance_s(reference: Reference, limits: GuardLimits) -> float:
    """What a visit may lose: more where the work itself is unsteady, so that noise does not end good visits."""
    return limits.visit_loss_s * (1.0 + 2.0 * min(reference.level.noise, 0.75))


def acts_late(turn: Turn, visit: Visit) -> bool:
    """Whether the way between the original and the setting in force is felt on new opens only."""
    return turn.record.known_space.acts_late(visit.place, turn.unit.home)


def charge_aftermath(turn: Turn, rates: Rates, limits: GuardLimits) -> None:
    """What the original still lacks after a visit that did harm."""
    after = turn.work.aftermath
    if after is None or turn.record.switchback is not None:
        return
    if turn.now_s > after.until_s:
        turn.work.aftermath = None
        return
    missing = 1.0 - 2.0 ** gain_log2(rates, after.original, limits.objective, WINDOW_SLACK_LOG2)
    turn.record.charge(after.take(missing * turn.window.seconds))


def hear(turn: Turn, limits: GuardLimits) -> None:
    """Excuse a setting that was taken back if the original, measured afterwards, is no better."""
    accused, work = turn.work.accused, turn.work
    if accused is None:
        return
    accused.windows += 1
    if accused.windows < limits.switchback_windows:
        return
    work.accused = None
    work.reference.end_anew()
    gain = gain_log2(accused.level.mean, work.reference.level.mean, limits.objective)
    if gain >= EXCUSED_LOG2:
        work.banned.pop(accused.place, None)
        if work.aftermath is not None:
            turn.record.charge(-max(work.aftermath.lacks_s, 0.0))
            work.aftermath = None
