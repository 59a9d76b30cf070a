"""From forecasts, and real runs where asked for, to advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate, candidates
from penstock.plan.collective.confirm import (
    LEAST_GAIN,
    HintBench,
    HintTrial,
    beats,
    clear_winner,
    gain,
    more,
    try_all,
)
from penstock.plan.collective.operation_profile import STEADY_SPREAD, OperationProfile
from penstock.plan.collective.predictor import CallForecast, doubt, forecast
from penstock.plan.collective.surrogates import Surrogates

# What a forecast must promise at least over a simpler choice before it is preferred.
LEAST_MARGIN = 0.05
# How often a confirmation without a clear winner goes on, each time with as many repetitions again.
MOST_BATCHES = 4


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its forecast."""

    candidate: Candidate
    forecast: CallForecast


@dataclass(frozen=True, slots=True)
class HintAdvice:
    """What to set for one access, or nothing, and everything it was chosen from, fastest first.

    `sure` is false where the profile is too unsteady to promise anything; `chosen` is then None until runs
    confirm it.
    """

    access: Access
    default: Ranked
    chosen: Ranked | None
    ranking: tuple[Ranked, ...]
    reasons: tuple[str, ...]
    trials: tuple[HintTrial, ...] = ()
    sure: bool = True


def advise(surrogates: Surrogates, access: Access, options: Sequence[Candidate] | None = None) -> HintAdvice:
    """Rank all candidates; prefer no hints, then the fixed rule, unless another promises clearly more."""
    options = candidates(access) if options is None else options
    forecasts = forecast(surrogates, access, [option.hints for option in options])
    everyone = [Ranked(option, one) for option, one in zip(options, forecasts, strict=True)]
    ranking = tuple(sorted(everyone, key=lambda one: (one.forecast.seconds, one.candidate.name)))
    by_name = {one.candidate.name: one for one in everyone}
    chosen, reason = _simplest_good(ranking[0], by_name["none"], by_name["rule"])
    shaky = unsteadiness(surrogates.profile, (by_name["none"].forecast, ranking[0].forecast))
    sure = shaky <= STEADY_SPREAD
    if not sure:
        chosen = by_name["none"]
        reason = (
            f"not sure: repetitions in this profile differ by {shaky:.0%} where {STEADY_SPREAD:.0%} is steady, so no "
            "forecast is a promise; run --confirm 3, or profile again with more --repetitions"
        )
    reasons = (reason, *_range_notes(surrogates, access))
    kept = None if chosen is by_name["none"] else chosen
    return HintAdvice(access, by_name["none"], kept, ranking, reasons, sure=sure)


def unsteadiness(profile: OperationProfile, forecasts: Sequence[CallForecast]) -> float:
    """The largest of the forecasts' mean spreads: each operation's, weighed by its share of the time."""
    return max(
        sum(cost.seconds * profile.spread(name) for name, cost in one.operations.items()) / one.seconds
        for one in forecasts
    )


def _simplest_good(best: Ranked, none: Ranked, rule: Ranked) -> tuple[Ranked, str]:
    """No hints, or else the rule, unless the best promises more over them than the forecasts' own doubt."""
    for simple in (none, rule):
        slack = max(LEAST_MARGIN, doubt(simple.forecast, best.forecast))
        if simple.forecast.seconds <= (1 + slack) * best.forecast.seconds:
            faster = none.forecast.seconds / simple.forecast.seconds
            what = "no hints are" if simple is none else f"the fixed rule ({faster:.2f}x no hints) is"
            return (
                simple,
                f"{what} predicted within {slack:.0%} of the best, which is the least to promise more",
            )
    fastest_s = best.forecast.seconds
    return best, (
        f"predicted {none.forecast.seconds / fastest_s:.2f}x no hints "
        f"and {rule.forecast.seconds / fastest_s:.2f}x the fixed rule"
    )


def _range_notes(surrogates: Surrogates, access: Access) -> list[str]:
    profiled = surrogates.profile.ranks
    conditions = _conditions(surrogates.profile)
    if not min(profiled) <= access.ranks <= max(profiled):
        shown = ", ".join(map(str, profiled))
        return [
            f"outside the profile: {access.ranks} ranks, measured at {shown}; "
            f"profile with --ranks {access.ranks}",
            *conditions,
        ]
    if access.nodes != surrogates.profile.nodes:
        return [
            f"outside the profile: {access.nodes} nodes, measured on {surrogates.profile.nodes}",
            *conditions,
        ]
    return conditions


def _conditions(profile: OperationProfile) -> list[str]:
    cores = "" if profile.cores is None else f" on {profile.cores} cores"
    level = f"MPI_THREAD_{profile.thread_level.upper()}"
    return [
        f"measured under {level}{cores}; a job that differs needs a profile of its own (--thread-level, --launcher)"
    ]


def confirm(advice: HintAdvice, bench: HintBench, top: int) -> HintAdvice:
    """Run the best `top` candidates with no hints and the fixed rule, and advise what really wins.

    Repetitions go on, batch by batch, until the winner is clear or as many batches as are sensible were run.
    """
    options = [one.candidate for one in contenders(advice, top)]
    trials = try_all(bench, advice.access, options)
    for batch in range(1, MOST_BATCHES):
        if clear_winner(trials) is not None:
            break
        later = try_all(replace(bench, seed=bench.seed + batch), advice.access, options)
        trials = more(trials, later)
    return settle(advice, trials)


def contenders(advice: HintAdvice, top: int) -> list[Ranked]:
    """The best by forecast, the forecast's choice, and the two that always take part."""
    chosen = advice.chosen.candidate.name if advice.chosen else "none"
    always = {"none", "rule", chosen}
    return [one for place, one in enumerate(advice.ranking) if place < top or one.candidate.name in always]


def settle(advice: HintAdvice, trials: Sequence[HintTrial]) -> HintAdvice:
    """The advice that real runs leave standing.

    A clear winner is advised. Without one the forecast's choice stands, unless its runs were no faster than
    those without hints or the fastest beats it; else the rule or the fastest, if it measurably beats no hints:
    what lies within noise should not be chosen by it.
    """
    winner = clear_winner(trials)
    name = winner.candidate.name if winner else _tied_choice(advice, trials)
    if winner is not None:
        reason = f"confirmed: {name} wins with a median of {winner.median_s:.4g} s"
    elif name == "none":
        reason = "no clear winner within noise; none beats no hints measurably"
    else:
        reason = f"no clear winner within noise; {name} is among the fastest"
    chosen = None if name == "none" else next(one for one in advice.ranking if one.candidate.name == name)
    return replace(advice, chosen=chosen, reasons=(*advice.reasons, reason), trials=tuple(trials), sure=True)


def _tied_choice(advice: HintAdvice, trials: Sequence[HintTrial]) -> str:
    by_name = {trial.candidate.name: trial for trial in trials}
    none, fastest = by_name["none"], min(trials, key=lambda trial: trial.median_s)
    unbeaten = [trial for trial in trials if not beats(fastest, trial)]
    if advice.chosen is not None:
        foreseen = by_name[advice.chosen.candidate.name]
        if foreseen in unbeaten and gain(foreseen, none) > LEAST_GAIN:
            return foreseen.candidate.name
    good = [trial for trial in unbeaten if beats(trial, none)]
    if by_name["rule"] in good:
        return "rule"
    best = max(good, key=lambda trial: gain(trial, none), default=none)
    return best.candidate.name
