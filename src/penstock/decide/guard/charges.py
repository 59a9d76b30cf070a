"""What a visit is charged for: what it lacks, what it leaves behind, and what is excused afterwards."""

from __future__ import annotations

from penstock.decide.guard.limits import GuardLimits
from penstock.decide.guard.record import Visit, charge, charge_net
from penstock.decide.guard.turn import Turn
from penstock.decide.objective import WINDOW_SLACK_LOG2, Rates, gain_log2

# A setting that was taken back is excused if it brought at least this much of what the original brings now.
EXCUSED_LOG2 = -0.03


def charged_s(turn: Turn, visit: Visit, rates: Rates, limits: GuardLimits) -> float:
    """Charge the visit; returns what the mount's account is charged.

    Elsewhere a look at the original corrects a verdict that bursts brought about. Where knobs act on new opens
    there are no such looks, so the bursts themselves are taken off.
    """
    reference, seconds, kept_s = turn.work.reference, turn.window.seconds, visit.lost_s
    if acts_late(turn, visit):
        return charge_net(visit, rates, reference, seconds, limits)
    lost_s = charge(visit, rates, reference.level.mean, seconds, limits)
    if not turn.settled and lost_s <= 0:
        visit.lost_s = kept_s
        return 0.0
    return lost_s


def acts_late(turn: Turn, visit: Visit) -> bool:
    """Whether the way between the original and the setting in force is felt on new opens only."""
    return turn.record.known_space.acts_late(visit.place, turn.unit.home)


def charge_aftermath(turn: Turn, rates: Rates, limits: GuardLimits) -> None:
    """What the original still lacks after a visit that did harm."""
    after = turn.work.aftermath
    if after is None or turn.record.look is not None:
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
    work.reference.end_look()
    gain = gain_log2(accused.level.mean, work.reference.level.mean, limits.objective)
    if gain >= EXCUSED_LOG2:
        work.banned.pop(accused.place, None)
        if work.aftermath is not None:
            turn.record.charge(-max(work.aftermath.lacks_s, 0.0))
            work.aftermath = None
