"""The guard's limits: every number that an administrator may set, with the reason for its default."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.decide.objective import Objective


@dataclass(frozen=True, slots=True)
class GuardLimits:
    """The guard's limits. All times are seconds; the defaults suit an interval of half a second."""

    #: What a change must improve; see `penstock.decide.objective`.
    objective: Objective = "fair"
    #: Busy windows at the original setting before anything may change: fewer say too little about noisy work.
    reference_windows: int = 4
    #: Where their mean may be further off than this, as a share, twice as many are waited for and some.
    reference_error: float = 0.08
    #: Seconds of the original's work that one visit to other settings may lose, net of what it gains, before it ends.
    visit_loss_s: float = 1.0
    #: Seconds that a visit can earn by bringing more than the original, to set against later losses: a setting that
    #: proved itself survives a stall, and one that turns bad is still noticed within seconds.
    visit_credit_s: float = 2.0
    #: The price of tuning: the share of any ten minutes of a target's work that changes may cost it, ...
    price: float = 0.02
    #: ... of which so many seconds at most in any minute.
    minute_loss_s: float = 3.0
    #: For so long after a visit that did harm, what the original lacks is charged to that visit.
    aftermath_s: float = 60.0
    #: No knob is raised further than so many times from the original, or from a setting that proved itself, ...
    reach: float = 256.0
    #: ... or lowered further: small requests, and few of them, cost a server and its disks more than large ones.
    reach_down: float = 32.0
    #: What other clients lose cannot be seen here, so bytes in flight beyond those of the original and of the default
    #: have a price: twice the bytes must bring twice as much. With 0.5 it is the square root of that, with 0 nothing.
    fair_share: float = 1.0
    #: The same for requests in flight, which others find before them at servers with few threads: the gain that twice
    #: as many must bring, as a base-2 logarithm (3.5 %).
    crowd_log2: float = 0.05
    #: Whether gains of the page cache count, bytes written over before they were sent. If not, such work is left
    #: alone.
    cache_gains: bool = True
    #: What is written over in memory waits unsent. At the rate that the original sends with it would be sent in so
    #: many seconds at most, ...
    unsent_s: float = 10.0
    #: ... and the setting in force sends at least this share of what the original does, so that little is lost if the
    #: node or the agent dies.
    least_drain: float = 0.3
    #: How long a unit has to show what a new setting does before another unit of its mount may try one.
    trial_s: float = 4.0
    #: A setting that did harm is not tried again for this long; every repetition doubles it.
    blacklist_s: float = 60.0
    #: When the original is measured again while another setting is in force: first after this, then twice as
    #: late each time.
    switchback_first_s: float = 15.0
    switchback_most_s: float = 120.0
    #: Looks at an original that brings less may cost this share of what the setting in force brings.
    switchback_share: float = 0.01
    #: Judged windows of such a look.
    switchback_windows: int = 3
    #: A setting that such a look does not show to bring at least this share more than the original is given up for
    #: `blacklist_s`: what cannot be shown to help is not kept.
    least_gain: float = 0.01
    #: The least time between two changes of a target.
    dwell_s: float = 1.4
    #: After a pause or a reconnect every target waits a random time up to this, so that nodes do not act in step.
    jitter_s: float = 1.0
    #: A target without work for longer has paused: the first interval after it is not judged.
    pause_s: float = 2.0
    changes_per_hour: int = 240
    #: Going back and forth between two settings stops all changes for this long.
    breaker_s: float = 300.0
    #: With less memory than this left, dirty limits do not rise.
    memory_floor_ratio: float = 0.05


# What nobody sets. Windows are half a second as a rule.

# The account covers so much work, and no more than its part may be lost in so much of it.
LONG_S, SHORT_S = 600.0, 60.0
# After so many windows it is told what a change did.
REPORT_WINDOWS = 10
# A cache that fills says nothing about a setting, but nobody waits for that longer than this.
MOST_FILLING = 12
# A setting that lost nothing counts as proven after so many windows of a visit.
PROVEN_WINDOWS = 8
# A trial is taken back to a setting measured in so many windows whose gain lies above 1 with 95 % certainty.
REFUGE_WINDOWS, CERTAIN = 6, 1.96
# A setting that was taken back is excused if it brought at least this much of what the original brings now.
EXCUSED_LOG2 = -0.03
# Gains refund losses of a visit no faster than this, so that one lucky window does not pay for many bad ones.
MOST_REFUND = 0.25
# So many times what a setting brought before, for so many windows in a row, is more work, not a better setting.
SURGE, SURGE_WINDOWS = 2.0, 2
# Reads and writes of one mount take turns that are longer than a window. Over so many windows that evens out.
BURST_WINDOWS = 8
# A setting that was found to bring twice what the original does is looked away from this rarely, and needs no extra
# look when the work grows: half of what it brings is not the original's.
GAINED_TWICE, GAINED_TWICE_S = 0.5, 300.0
# Changes went back and forth if the last so many did.
PATH_STEPS = 6
HOUR_S = 3600.0

# From the first share of used slots on requests cost more, from the second on they cost most: so many times more.
FULL_FROM, FULL_AT, FULL_TIMES = 0.5, 0.9, 3.0
# Operations are all of one size. Where most requests wait behind others the server is busy all the time: twice as
# many of them bring at most twice as much, and others lose all of it. So no gain pays from the second share on.
WAITING_FROM, WAITING_AT, WAITING_TIMES = 0.4, 0.6, 24.0

# Means over what is rewritten cover so many windows; from this share of what is written on, it is part of the work.
REWRITING_WINDOWS, REWRITING_SHARE = 20, 0.05
# What other work left unsent is sent within this many times `unsent_s`. Until then it hinders every setting.
LEFTOVERS = 2.0
# The original itself may leave this many times more unsent than `unsent_s` allows.
UNSENT_SLACK = 1.25
# What a setting sends is known after so many windows. After one that left too much unsent, for so long nothing that
# sends as slowly is tried.
DRAIN_WINDOWS, SLOW_DRAIN_S = 6, 3600.0
# Less than the original sends in this time may wait: nobody notices.
SOON_S = 0.5
# Nothing is written any more if the pile shrinks by at least this share of what is sent.
SHRINKS = 0.75
# A writer may stall for a few intervals and go on. What takes longer than its longest stall, of at most so many
# intervals, is an end of writing.
MOST_STALL = 4
# After an end of writing, settings that send slowly are not tried for so long; where writing ended so often within so
# many seconds, not until that is over.
ENDED_S, MOST_ENDINGS, OFTEN_S = 5.0, 3, 120.0

# What is carried and read is averaged over so many windows, and counts once twice as many were seen: a setting that
# asks for more beforehand carries more until that is there.
CARRIED_WINDOWS = 20
# More than so many times what applications read is never kept where the original does not do that.
MOST_IN_VAIN = 1.2
# For so long nothing is tried that asks for as much as what was wasteful.
WASTEFUL_S = 3600.0
