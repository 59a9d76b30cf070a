"""Why a decision was made, as a word for machines. The sentence beside it is for people.

A policy of somebody else's may give reasons of its own; they steer nothing here.
"""

from __future__ import annotations

from enum import StrEnum

_GUARD = "guard."


class Reason(StrEnum):
    """Every reason that Penstock itself gives."""

    # A policy gathers data or waits.
    ASKING = "asking"
    DRAINING = "draining"
    FILLING = "filling"
    IDLE = "idle"
    MEASURING = "measuring"
    SETTLING = "settling"
    SKIP = "skip"

    # A policy stays.
    CACHED = "cached"
    FIXED = "fixed"
    HOLDING = "holding"
    NO_CANDIDATE = "no-candidate"
    NO_MODEL = "no-model"
    OUT_OF_RANGE = "out-of-range"
    REFUSED = "refused"
    RESTING = "resting"
    SCOUTED = "scouted"
    SPARSE = "sparse"

    # A policy wants to go somewhere.
    BEST = "best"
    BEST_MEASURED = "best-measured"
    CACHE = "cache"
    DEFAULT = "default"
    DRAWN = "drawn"
    EXPLORE = "explore"
    FIRST = "first"
    FOLLOWED = "followed"
    PROMISING = "promising"
    REMEMBERED = "remembered"
    SCORE = "score"
    STARVING = "starving"
    TOP = "top"
    TRY = "try"

    # Nothing came of a wish.
    NOT_LOGGED = "not-logged"
    OUT_OF_BOUNDS = "out-of-bounds"
    POLICY_ERROR = "policy-error"
    #: A recording shows that somebody moved a knob, and not who.
    RECORDED = "recorded"

    # What the guard does by itself.
    GUARD_RETURN = "guard.return"
    GUARD_REVERT = "guard.revert"
    GUARD_SEND = "guard.send"
    GUARD_SWITCHBACK = "guard.switchback"
    GUARD_UNPAID = "guard.unpaid"

    # The guard's rules that refuse a wish.
    GUARD_BLACKLIST = "guard.blacklist"
    GUARD_BREAKER = "guard.breaker"
    GUARD_BUDGET = "guard.budget"
    GUARD_CACHE = "guard.cache"
    GUARD_CACHED = "guard.cached"
    GUARD_DRAIN = "guard.drain"
    GUARD_DWELL = "guard.dwell"
    GUARD_FINITE = "guard.finite"
    GUARD_JITTER = "guard.jitter"
    GUARD_LOSS = "guard.loss"
    GUARD_MEMORY = "guard.memory"
    GUARD_REACH = "guard.reach"
    GUARD_REFERENCE = "guard.reference"
    GUARD_TURN = "guard.turn"

    # Rules of an earlier version, which logs of that time name.
    GUARD_CERTAINTY = "guard.certainty"
    GUARD_HOLD = "guard.hold"


def guard_rule(reason: str) -> str | None:
    """The guard's rule that a reason names; None if a reason is not the guard's.

    >>> guard_rule("guard.revert"), guard_rule("promising")
    ('revert', None)
    """
    return reason.removeprefix(_GUARD) if reason.startswith(_GUARD) else None
