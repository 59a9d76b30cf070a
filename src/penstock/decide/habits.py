"""All constants of the shipped policy, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.decide.objective import OBJECTIVES, Objective


@dataclass(frozen=True, slots=True)
class Habits:
    """What the policy goes by. Gains are base-2 logarithms: 0.03 is 2 %."""

    #: What to improve; see `penstock.decide.objective`.
    objective: Objective = OBJECTIVES[0]
    #: Windows a setting is measured: so many that their mean is known to `aim`, within these bounds.
    least_windows: int = 3
    most_windows: int = 10
    aim: float = 0.06
    #: A trial disturbs: less expected improvement, net of what the trial may lose, is not worth it.
    worth_log2: float = 0.02
    #: Every further trial must promise a little more, so that looking around comes to an end.
    worth_more_log2: float = 0.002
    #: Both are so many times as large where writes are at work, because what a trial disturbs there lasts longer, and
    #: where nothing is known from elsewhere.
    dearer: float = 4.0
    #: What a trial may lose counts by the share of so many windows (two minutes) that it takes, many times over: to
    #: be never worse comes first. A quarter of this caution found no more in 200 random worlds and lost more of first
    #: trials.
    horizon_windows: int = 240
    caution: float = 8.0
    #: Writes pass through a cache, so that a short look at a setting says less about it: their trials must be safer.
    risk_of_writes: float = 0.3
    #: Who asks for more bytes in flight than the original, and than the default, takes from others who share the
    #: servers: twice the bytes must bring twice as much, as they do where the link is long, and only there.
    fair_log2: float = 1.0
    #: The same for requests, which others find before them at servers with few threads: twice as many must bring
    #: 3.5 %. At 1.4 % a client kept four times as many for 7 %, and seven others lost a tenth of all together.
    crowd_log2: float = 0.05
    #: So many times that where all slots are full, less where they are not quite, nothing below the first share: then
    #: others may be waiting for the same server, and twice the requests must promise 11 % and bring 15 %.
    contended_times: float = 3.0
    contended_from: float = 0.5
    contended_full: float = 0.9
    #: No knob is raised further, in doublings, from the original, its substitute, or the best one measured, ...
    reach_log2: float = 8.0
    #: ... or lowered further. The guard says nearly the same.
    reach_down_log2: float = 5.0
    #: A trial that brings less than this of the best one over two windows, or than the other in its very first,
    #: is left at once.
    hopeless: float = 0.75
    hopeless_at_once: float = 0.6
    #: Where somebody set something else, the default is tried after so many windows at the latest: those in which the
    #: cache fills or drains say nothing about a setting, and some work has hardly any others.
    overdue_windows: int = 12
    #: Where the page cache does much of the work nothing new is tried, because a trial undoes what has built up, and
    #: a setting other than the original is kept only if it brought this much more: a quarter.
    doubtless_log2: float = 0.3
    #: Windows' worth of work that trials may have lost lately, fading over the horizon, before the next one waits.
    most_lost: float = 2.0
    #: Work with fewer requests in a window is left alone: chance decides what a window of it shows.
    least_requests: float = 8.0
    requests_windows: float = 20.0
    #: A relief for who starves that did not help is tried again after so many windows, then after twice as many.
    relief_windows: int = 240
    #: The best setting is returned to only if the one in force is worse by more than this.
    return_log2: float = 0.03
    #: The original is left only for something that was measured to gain at least this: nobody can tell less,
    #: and some costs of a setting show late (what is cached, what others get).
    keep_log2: float = 0.05
    #: How long a setting is held before the candidates are weighed again; twice as long after every round that
    #: found nothing.
    rest_windows: int = 40
    most_rest_windows: int = 640
    #: A rate that leaves what this setting brought by more than this, for so many windows, shows another world.
    drift_log2: float = 0.4
    drift_windows: int = 6
    #: Windows for which a change is asked for before resting a while.
    patience: int = 4
    refused_windows: int = 8
    #: Work that was away for longer than this many seconds has paused.
    gap_s: float = 1.0


HABITS = Habits()
