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
    most_windows: int = 8
    aim: float = 0.05
    #: A trial is worth what it may improve for as long as the work goes on: at least as long as it has lasted, within
    #: these bounds. Jobs run for minutes to hours.
    least_horizon_s: float = 60.0
    most_horizon_s: float = 3600.0
    #: How long a trial takes, its settling included.
    trial_s: float = 3.0
    #: Less expected improvement is not worth a trial: nobody could measure it.
    worth_log2: float = 0.015
    #: The original is left only for something that was measured to gain at least this beyond its price.
    keep_log2: float = 0.03
    #: ... and that is so many standard errors above nothing.
    certain: float = 0.7
    #: A trial that brings less than this of the original is left at once.
    hopeless: float = 0.6
    #: The best setting is returned to only if the one in force is worse by more than this.
    return_log2: float = 0.02
    #: How long the best setting is held before candidates are weighed again; twice as long after every round that
    #: found nothing.
    rest_windows: int = 40
    most_rest_windows: int = 640
    #: What was refused is asked for again after so many windows.
    refused_windows: int = 4
    #: Work with fewer requests in a window is left alone: chance decides what a window of it shows.
    least_requests: float = 3.0
    requests_windows: float = 20.0
    #: A relief for who starves that did not help is tried again after so many windows, then after twice as many.
    relief_windows: int = 240


HABITS = Habits()
