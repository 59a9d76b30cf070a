"""Turns forecasts, and real runs if asked for, into advice."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate, candidates
from penstock.plan.collective.confirm import (
    HintBench,
    HintTrial,
    clear_winner,
    in_the_race,
    more,
    try_all,
)
from penstock.plan.collective.expected_gain import (
    ALIKE,
    LEAST_EXPECTED,
    RULE_BEFORE,
    TYPICAL_GAIN,
    ExpectedGain,
    Foreseen,
    expected_gain,
)
from penstock.plan.collective.learned import PromiseRecord
from penstock.plan.collective.operation_profile import LEAST_REPETITIONS, STEADY_SPREAD, OperationProfile
from penstock.plan.collective.predictor import CallForecast, doubt, forecast
from penstock.plan.collective.surrogates import Surrogates

# A forecast must promise at least this gain over a simpler choice.
LEAST_MARGIN = 0.05
# A confirmation ends with a clear winner, but not before so many repetitions: a few may agree by luck.
FEWEST_REPETITIONS = 30
MOST_REPETITIONS = 400
# No further batch is started after this share of the time.
WORTH_A_BATCH = 0.75


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its forecast."""

    candidate: Candidate
    forecast: CallForecast


@dataclass(frozen=True, slots=True)
class HintAdvice:
    """The hints to set for one access, if any, and all candidates, fastest first.

    `sure` is false if the profile varies too much to promise anything. `chosen` is then None until runs confirm a
    candidate. `promised` is how many times as fast as without hints the chosen ones are said to be, and `expected` is
    the same after what earlier promises turned out to be worth.
    """

    access: Access
    default: Ranked
    chosen: Ranked | None
    ranking: tuple[Ranked, ...]
    reasons: tuple[str, ...]
    trials: tuple[HintTrial, ...] = ()
    sure: bool = True
    promised: float | None = None
    expected: float | None = None


def advise(surrogates: Surrogates, access: Access, options: Sequence[Candidate] | None = None) -> HintAdvice:
    """Rank all candidates.

    No hints and then the fixed rule are preferred, unless another candidate promises clearly more.
    """
    options = candidates(access) if options is None else options
    forecasts = forecast(surrogates, access, [option.hints for option in options])
    everyone = [Ranked(option, one) for option, one in zip(options, forecasts, strict=True)]
    ranking = tuple(sorted(everyone, key=lambda one: (one.forecast.seconds, one.candidate.name)))
    by_name = {one.candidate.name: one for one in everyone}
    chosen, reason = _simplest_good(ranking[0], by_name["none"], by_name["rule"])
    doubtful = _doubtful(surrogates.profile, (by_name["none"].forecast, ranking[0].forecast))
    if doubtful is not None:
        chosen, reason = by_name["none"], doubtful
    reasons = (reason, *_range_notes(surrogates, access))
    kept = None if chosen is by_name["none"] else chosen
    promised = None if kept is None else by_name["none"].forecast.seconds / kept.forecast.seconds
    return HintAdvice(
        access, by_name["none"], kept, ranking, reasons, sure=doubtful is None, promised=promised
    )


def _doubtful(profile: OperationProfile, forecasts: Sequence[CallForecast]) -> str | None:
    """Why forecasts from this profile promise nothing; None if they do."""
    so = "so no forecast is a promise; run --confirm 3, or profile again"
    if profile.repetitions < LEAST_REPETITIONS:
        few = f"not sure: this profile was cut short after {profile.repetitions} repetitions"
        return f"{few} where {LEAST_REPETITIONS} are wanted, {so} with a longer --limit"
    shaky = unsteadiness(profile, forecasts)
    if shaky > STEADY_SPREAD:
        differ = (
            f"not sure: repetitions in this profile differ by {shaky:.0%} where {STEADY_SPREAD:.0%} is steady"
        )
        return f"{differ}, {so} with more --repetitions"
    return None


def unsteadiness(profile: OperationProfile, forecasts: Sequence[CallForecast]) -> float:
    """The largest mean spread among the forecasts. Each operation's spread counts by its share of the time."""
    return max(
        sum(cost.seconds * profile.spread(name) for name, cost in one.operations.items()) / one.seconds
        for one in forecasts
    )


def _simplest_good(best: Ranked, none: Ranked, rule: Ranked) -> tuple[Ranked, str]:
    """No hints or else the fixed rule, unless the best candidate's advantage exceeds the uncertainty of the
    forecasts.
    """
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


def confirm(
    advice: HintAdvice, bench: HintBench, top: int, clock: Callable[[], float] = time.monotonic
) -> HintAdvice:
    """Run the best `top` candidates, no hints and the fixed rule, and advise the one that is expected to win.

    Repetitions continue until the winner is clear, or until there are many. Each batch has as many repetitions as all
    before it and leaves out candidates that lost. A batch ends when the time is over that the bench allows.
    """
    started = clock()
    options = [one.candidate for one in contenders(advice, top)]
    trials = try_all(bench, advice.access, options)
    while True:
        racing = in_the_race(trials)
        done = max(len(one.seconds) for one in trials)
        decided = clear_winner(trials) is not None and done >= FEWEST_REPETITIONS
        out_of_time = clock() - started > WORTH_A_BATCH * bench.limit_s
        if decided or out_of_time or len(racing) < 2 or done >= MOST_REPETITIONS:
            break
        left_s = bench.limit_s - (clock() - started)
        longer = replace(bench, seed=bench.seed + done, repetitions=done, limit_s=left_s)
        trials = more(trials, try_all(longer, advice.access, racing))
    return settle(advice, trials)


def contenders(advice: HintAdvice, top: int) -> list[Ranked]:
    """The candidates to run: the best `top` by forecast, the forecast's choice, no hints and the fixed rule.

    Neighbours in the ranking often differ only in buffer size. So the best candidate of each number of aggregators
    comes first. Candidates that behave like no hints are left out. A profile that varies too much says little about
    buffers, so then the largest one of each number of aggregators, which needs one round only, runs as well.
    """
    chosen = advice.chosen.candidate.name if advice.chosen else "none"
    always = {"none", "rule", chosen}
    none = advice.default.forecast.counts
    other = [one for one in advice.ranking if one.candidate.name != "none" and one.forecast.counts != none]
    leaders: dict[int, str] = {}
    largest: dict[int, Candidate] = {}
    for one in other:
        aggregators, option = len(one.forecast.counts.aggregators), one.candidate
        leaders.setdefault(aggregators, option.name)
        if _buffer_bytes(option) > _buffer_bytes(largest.get(aggregators)):
            largest[aggregators] = option
    followers = [one.candidate.name for one in other if one.candidate.name not in leaders.values()]
    taken = always | set([*leaders.values(), *followers][:top])
    if not advice.sure:
        taken |= {option.name for option in largest.values()}
    return [one for one in advice.ranking if one.candidate.name in taken]


def _buffer_bytes(option: Candidate | None) -> int:
    return (option.hints.cb_buffer_size or 0) if option else 0


def settle(advice: HintAdvice, trials: Sequence[HintTrial]) -> HintAdvice:
    """The advice after real runs: the candidate with the largest expected gain, if it is worth setting.

    The fixed rule wins unless another candidate is expected to beat it clearly, because it has paid elsewhere. Among
    others that are about equal, the one wins that the forecast ranks first.
    """
    gains = expected_gains(advice, trials)
    winner = clear_winner(trials)
    chosen = _best_of(advice, trials, gains)
    if chosen is None:
        won = winner is not None and winner.candidate.name == "none"
        reason = "confirmed: no hints win" if won else "no clear winner within noise; no gain can be expected"
    else:
        name, found = chosen.candidate.name, gains[chosen.candidate.name]
        begin = (
            "confirmed:"
            if winner is not None and winner.candidate.name == name
            else "no clear winner within noise, but worth setting:"
        )
        reason = (
            f"{begin} {name} is expected to be {found.ratio:.2f} times as fast as no hints, and to gain at all "
            f"with {found.certainty:.0%} certainty"
        )
    promised = None if chosen is None else gains[chosen.candidate.name].ratio
    # What the forecast alone said first no longer counts.
    reasons = (*advice.reasons[1:], reason)
    return replace(advice, chosen=chosen, reasons=reasons, trials=tuple(trials), sure=True, promised=promised)


def learn_from(advice: HintAdvice, record: PromiseRecord) -> HintAdvice:
    """The advice with what its promise is worth by earlier ones; no hints where no gain is left."""
    if advice.chosen is None or advice.promised is None or not record.comparisons:
        return replace(advice, expected=advice.promised)
    left = record.corrected(advice.promised)
    said = f"promised {advice.promised:.2f} times as fast, {left:.2f} after {record.text()}"
    if left > LEAST_EXPECTED:
        return replace(advice, expected=left, reasons=(*advice.reasons, said))
    why = f"{said}: no gain is left, so no hints"
    return replace(advice, chosen=None, promised=None, reasons=(*advice.reasons, why))


def expected_gains(advice: HintAdvice, trials: Sequence[HintTrial]) -> dict[str, ExpectedGain]:
    """The expected gain of every candidate that ran. The forecast is ignored if the profile varies too much."""
    none = next(trial for trial in trials if trial.candidate.name == "none")
    forecasts = {one.candidate.name: one.forecast for one in advice.ranking}
    return {
        trial.candidate.name: expected_gain(
            trial, none, _foreseen(trial.candidate.name, forecasts, advice.sure)
        )
        for trial in trials
        if trial is not none
    }


def _foreseen(name: str, forecasts: Mapping[str, CallForecast], sure: bool) -> Foreseen:
    if not sure:
        return RULE_BEFORE if name == "rule" else Foreseen()
    one, none = forecasts[name], forecasts["none"]
    return Foreseen(math.log(none.seconds / one.seconds), max(TYPICAL_GAIN, doubt(one, none)))


def _best_of(
    advice: HintAdvice, trials: Sequence[HintTrial], gains: Mapping[str, ExpectedGain]
) -> Ranked | None:
    ranked = {one.candidate.name: one for one in advice.ranking}
    advisable = {name: gain.ratio for name, gain in gains.items() if gain.advisable}
    if "rule" in gains and gains["rule"].likely:
        trial = {one.candidate.name: one for one in trials}
        over_rule = {name: expected_gain(trial[name], trial["rule"], Foreseen()) for name in advisable}
        advisable = {
            name: gain.ratio for name, gain in over_rule.items() if gain.advisable and gain.ratio > ALIKE
        }
        if not advisable:
            return ranked["rule"]
    if not advisable:
        return None
    most = max(advisable.values())
    alike = {name for name, ratio in advisable.items() if ratio * ALIKE >= most}
    return next(one for name, one in ranked.items() if name in alike)
