"""The figures of policies in described worlds: one row as ratios to the default, and a summary of all rows.

Ratios compare a run with the default's run of the same seed. Over several seeds they are averaged; the worst-off job
is that with the least mean.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from penstock.evaluate.comparison import LEAST_REQUESTS, Lot, Row, ratio
from penstock.evaluate.figures import HEADROOM, geomean, headroom_captured, headroom_log
from penstock.evaluate.simulated import Share
from penstock.evaluate.trial import Measured
from penstock.evaluate.tried import reached_best, tried

Lots = Sequence[Lot]


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """One policy in one world. `held_back` is in windows by rule; what is None could not be judged."""

    vs_default: float
    vs_default_last_half: float
    least_direction: float | None
    least_job: float | None
    trial_cost: float
    held_back: Mapping[str, float]
    trials: float
    trials_to_best: float | None
    changes: float


def policy_figures(row: Row, policy: str) -> PolicyFigures:
    """The figures of one policy, means over the seeds of the row."""
    lots, default = row.policies[policy], row.default
    found = [tried(one.run, base.run) for one, base in zip(lots, default, strict=True)]
    return PolicyFigures(
        mean_ratio(lots, default, app_mbps),
        mean_ratio(lots, default, last_half_mbps),
        _least(_directions(lots, default)),
        _least(_jobs(lots, default)),
        statistics.fmean(one.cost for one in found),
        _mean_counts([lot.run.held_back for lot in lots]),
        statistics.fmean(one.trials for one in found),
        _mean_known(one.to_best for one in found),
        mean_number([lot.run.changes for lot in lots]),
    )


def app_mbps(run: Measured) -> float:
    """The rate of all applications over the whole run."""
    return run.app_mbps


def last_half_mbps(run: Measured) -> float:
    """The rate of all applications in the second half of the measured time."""
    series = run.series
    part = series[len(series) // 2 :]
    return sum(part) / len(part) if part else 0.0


def mean_ratio(lots: Lots, default: Lots, rate: Callable[[Measured], float]) -> float:
    """The mean over seeds of a rate's ratio to the default."""
    return statistics.fmean(
        ratio(rate(one.run), rate(base.run)) for one, base in zip(lots, default, strict=True)
    )


def mean_number(values: Sequence[float]) -> float:
    """A mean; equal numbers stay as they are, so that a single seed has whole counts."""
    return values[0] if len(set(values)) == 1 else statistics.fmean(values)


def _jobs(lots: Lots, default: Lots) -> list[float]:
    """The mean ratio of every job with enough requests at the default."""
    return [
        _mean_share([lot.jobs[number] for lot in lots], [lot.jobs[number] for lot in default], _both)
        for number in range(len(default[0].jobs))
        if statistics.fmean(lot.jobs[number].requests for lot in default) >= LEAST_REQUESTS
    ]


def _directions(lots: Lots, default: Lots) -> list[float]:
    """The mean ratio of every direction of a target with enough requests at the default."""
    found = []
    for place in default[0].run.targets:
        mine = [lot.run.targets[place] for lot in lots]
        base = [lot.run.targets[place] for lot in default]
        if statistics.fmean(share.reads for share in base) >= LEAST_REQUESTS:
            found.append(_mean_share(mine, base, lambda share: share.read_mbps))
        if statistics.fmean(share.writes for share in base) >= LEAST_REQUESTS:
            found.append(_mean_share(mine, base, lambda share: share.write_mbps))
    return found


def _both(share: Share) -> float:
    return share.app_mbps


def _mean_share(mine: Sequence[Share], default: Sequence[Share], rate: Callable[[Share], float]) -> float:
    return statistics.fmean(ratio(rate(one), rate(base)) for one, base in zip(mine, default, strict=True))


def _mean_counts(counts: Sequence[Mapping[str, int]]) -> dict[str, float]:
    names = dict.fromkeys(name for each in counts for name in each)
    return {name: mean_number([each.get(name, 0) for each in counts]) for name in sorted(names)}


def _mean_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def summary(rows: Sequence[Row], policy: str) -> dict[str, float | None]:
    """One policy over all rows. Head-room counts where the best static setting brings 1.2 times the default."""
    found = [policy_figures(row, policy) for row in rows]
    ratios = [one.vs_default for one in found]
    searched = [
        (row, best, one)
        for row, one in zip(rows, found, strict=True)
        if (best := row.best_static) is not None
    ]
    whole = [mean_ratio(best, row.default, app_mbps) for row, best, _ in searched]
    late = [mean_ratio(best, row.default, last_half_mbps) for row, best, _ in searched]
    late_figures = [one.vs_default_last_half for _, _, one in searched]
    figures = [one.vs_default for _, _, one in searched]
    return {
        "worst_vs_default": min(ratios),
        "p05_vs_default": percentile(ratios, 0.05),
        "geomean_vs_default": geomean(ratios),
        "geomean_last_half": geomean(one.vs_default_last_half for one in found),
        "headroom_captured": headroom_captured((1.0, *each) for each in zip(whole, figures, strict=True)),
        "headroom_log_last_half": headroom_log(zip(late, late_figures, strict=True)),
        "within_five_trials": _mean_known(
            _reached(row, best, policy)
            for (row, best, _), room in zip(searched, whole, strict=True)
            if room >= HEADROOM
        ),
        "worst_job_vs_default": _least(one.least_job for one in found),
        "worst_direction_vs_default": _least(one.least_direction for one in found),
    }


def _reached(row: Row, best: Lots, policy: str) -> float | None:
    """The share of targets that came near the best static setting within five trials, over seeds."""
    runs = zip(row.policies[policy], row.default, best, strict=True)
    return _mean_known(reached_best(one.run, base.run, static.run) for one, base, static in runs)


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)


def percentile(values: Sequence[float], share: float) -> float:
    """By linear interpolation between the sorted values.

    >>> percentile([3.0, 1.0, 2.0], 0.25)
    1.5
    """
    ranked = sorted(values)
    place = share * (len(ranked) - 1)
    low = int(place)
    high = min(low + 1, len(ranked) - 1)
    return ranked[low] + (place - low) * (ranked[high] - ranked[low])
