"""Every fixed number that settings are measured and chosen by, each with its reason.

What an administrator may set, and what the guard goes by, is in `penstock.decide.guard.limits`; what belongs to a
published algorithm or to a file's format stands there. Gains are base-2 logarithms: 0.03 is 2 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.units import KIB, MIB

# -- what a window says -------------------------------------------------------------------------------------------

# What the total and a single direction may lose under `fair`: 3 % and 5 %.
TOTAL_SLACK_LOG2 = -math.log2(0.97)
DIRECTION_SLACK_LOG2 = -math.log2(0.95)
# In a single window a direction may lose 15 %, because one window varies more than a mean.
WINDOW_SLACK_LOG2 = -math.log2(0.85)
# From this many requests in flight on, a direction counts even if it moves few bytes: somebody waits for it.
WAITING = 0.4
# From this share of the bytes on, a direction counts.
COUNTING_SHARE = 0.08
# The dirty data in a cache always grows and shrinks a little: by this many bytes per second, or by this share of what
# is sent.
USUAL_GROWTH_BYTES_PER_S = 16 * MIB
USUAL_GROWTH_SHARE = 0.5
# A pile that takes more than this share of what is written is filling up.
FILLING_SHARE = 0.5
# The other targets are compared only if about as many of them are busy: the number may differ by this share.
SAME_BUSY = 0.25

# -- means over windows -------------------------------------------------------------------------------------------

# A mean covers this many windows (half a minute of work), so that it follows a changing load.
MEAN_WINDOWS = 32
# Rates of neighbouring windows are correlated. The standard error of their mean is larger by this factor.
WAVES = 1.5
# The relative deviation of single windows that is assumed until some were seen: at one setting, and at all together.
UNKNOWN_NOISE = 0.3
USUAL_NOISE = 0.15
# The smallest standard error that a mean over windows is given, however many windows there are.
LEAST_NOISE = 0.03
# The weight of a measurement halves after this many windows.
HALF_LIFE = 240

# -- kinds of work ------------------------------------------------------------------------------------------------

# Request sizes that differ by less than this may belong to the same work.
NEAR_SIZE_LOG2 = 1.5
# The weight of a new window in the smoothed counters.
FRESH = 0.3
# Work has changed, or files were opened anew, when so many windows in a row show it.
ODD_WINDOWS = 3
# The kinds of work that are kept; the one not met for longest is forgotten.
KEPT_WORKS = 12

# -- when a change is felt ----------------------------------------------------------------------------------------

# A change is judged after this many windows at the latest, however slow requests are.
LONGEST_ECHO = 8
# Pages that were queued before a change are sent in requests of the old size. A change is judged after this many
# seconds at the latest, however many pages are queued.
LONGEST_QUEUE_S = 12.0
# Applications take this long to open files again, which knobs that act on newly opened files must wait for. A
# sequential pass over a large file takes as long as the second figure; nobody is waited for longer.
OPEN_S = 3.0
LONGEST_OPEN_S = 12.0
# Files were opened anew if windows are off to the same side by this many times what single windows differ by, and by
# a quarter at least.
ODD_NOISES = 1.5
REOPENED_LOG2 = 0.3

# -- the belief ---------------------------------------------------------------------------------------------------

# A case that fits this work may still be off by this much, because the survey was made on another machine.
CASE_LOG2 = 0.25
# A disagreement counts as at most this many standard deviations, so one bad point cannot rule a case out alone.
FARTHEST = 4.0
# Corrections are correlated between settings: at this many doublings apart the correlation is 60 %.
CORRELATED_LOG2 = 1.5
# All cases together may be off by this much. Without it cases that agree outweigh measurements: a reader over 5 ms
# could rest at a setting that had brought a seventh less than another. With .25 replays climb less from a bad start.
MISFIT_LOG2 = 0.2
# The smallest standard deviation that a gain is given.
LEAST_SPREAD = 0.06
# Requests in flight, bytes and seconds of a request. A case that differs by so many doublings in one of them has 60 %
# of the weight of one that does not.
WIDTHS_LOG2: Mapping[str, tuple[float, ...]] = {"read": (0.7, 2.0, 2.0)}
# Below half a request in flight and above nine (all slots of the default) more or less says nothing further.
FLIGHTS_LOG2 = (-1.0, math.log2(9.0))
# What a case keeps that looks quite different, so that measurements can still prefer it.
UNLIKE = 0.003
# Recorded cases that differ by less are the same work. Then every vote beyond a simulated world's one counts `SAME`
# times. Played offline with each recorded reader left out in turn, what the others advise gains 9 % with it and 5 %
# without; for simulated worlds nothing changes. Counters of writes vary more.
SAME_LOG2: Mapping[str, float] = {"read": 0.2, "write": 0.5}
SAME = 125.0
# Of the votes for a bet, so much counts: at least, and by their share; see `penstock.decide.value.sober`.
SOBER_LEAST, SOBER_SHARE = 0.15, 0.65

# -- cases that follow from the law of rewriting ------------------------------------------------------------------

# What memory could give, in times what applications get at the original, and how long a lone request takes.
MEMORY_TIMES = (1.0, 1.5, 2.5, 4.0)
LONE_REQUEST_S = (0.0003, 0.002, 0.01)
# From this share of the original's rate on, the wire is as busy as before.
AS_BUSY = 0.9
# The share of the votes that these cases have before anything was measured.
LAW_SHARE = 0.5
# A dirty limit is never quite reached.
NEARLY_FULL = 0.95

# -- trials -------------------------------------------------------------------------------------------------------

# Windows a setting is measured: so many that their mean is known to `AIM`, within these bounds.
LEAST_WINDOWS, MOST_WINDOWS, AIM = 3, 8, 0.05
# A trial is worth what it may improve for as long as the work goes on: at least as long as it has lasted, within
# these bounds. Jobs run for minutes to hours.
LEAST_HORIZON_S, MOST_HORIZON_S = 60.0, 3600.0
# How long a trial takes, its settling included.
TRIAL_S = 3.0
# Less expected improvement is not worth a trial: nobody could measure it.
WORTH_LOG2 = 0.015
# The original is left only for something that was measured to gain at least this beyond its price, and that is so
# many standard errors above nothing.
KEEP_LOG2 = 0.03
SURE = 0.7
# A trial that brings less than this of the original is left at once.
HOPELESS = 0.6
# The best setting is returned to only if the one in force is worse by more than this.
RETURN_LOG2 = 0.02
# How long the best setting is held before candidates are weighed again; twice as long after every round that found
# nothing.
REST_WINDOWS, MOST_REST_WINDOWS = 40, 640
# What was refused is asked for again after so many windows.
REFUSED_WINDOWS = 4
# Work with fewer requests in a window is left alone: chance decides what a window of it shows. The mean covers so
# many windows.
LEAST_REQUESTS, REQUESTS_WINDOWS = 3.0, 20.0
# Who waits and gets less than this share of the bytes starves. The relief leaves a call so many requests, and smaller
# ones than this cost servers more than they relieve anybody. A relief that did not help is tried again after so many
# windows, then after twice as many.
STARVING = 0.05
RELIEF_REQUESTS, LEAST_RELIEF_BYTES = 2, 64 * KIB
RELIEF_WINDOWS = 240

# -- memory across restarts ---------------------------------------------------------------------------------------

# A remembered setting counts as half the windows it was measured in, and as at most this many. So a setting that is
# never measured again counts less after every restart.
MOST_RECALLED = 8
# A remembered gain or loss is limited to this.
MOST_LOG2 = 7.0
# A measured gain that differs from the remembered one by this much (a fifth) shows that conditions have changed.
CONTRADICTED_LOG2 = 0.26

# -- the node's cache ---------------------------------------------------------------------------------------------

# A target whose dirty data reached this share of its limit was held up by the limit.
FULL = 0.9
# A limit is raised only if it grows by at least this factor.
CLEARLY = 1.5
