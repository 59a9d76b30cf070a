"""From forecasts, and real runs where asked for, to advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import Candidate, candidates
from penstock.plan.collective.confirm import Bench, Trial, beats, clear_winner, try_all
from penstock.plan.collective.predictor import Forecast, forecast
from penstock.plan.collective.surrogates import Surrogates

# What a forecast must promise over a simpler choice before it is preferred; less is the model's own error.
NONE_MARGIN = 0.05
RULE_MARGIN = 0.1


@dataclass(frozen=True, slots=True)
class Ranked:
    """A candidate with its forecast."""

    candidate: Candidate
    forecast: Forecast


@dataclass(frozen=True, slots=True)
class Advice:
    """What to set for one access, or nothing, and everything it was chosen from, fastest first."""

    access: Access
    default: Ranked
    chosen: Ranked | None
    ranking: tuple[Ranked, ...]
    reasons: tuple[str, ...]
    trials: tuple[Trial, ...] = ()


def advise(surrogates: Surrogates, access: Access, options: Sequence[Candidate] | None = None) -> Advice:
    """Rank all candidates; prefer no hints, then the fixed rule, unless another promises clearly more."""
    options = candidates(access) if options is None else options
    forecasts = forecast(surrogates, access, [option.hints for option in options])
    everyone = [Ranked(option, one) for option, one in zip(options, forecasts, strict=True)]
    ranking = tuple(sorted(everyone, key=lambda one: (one.forecast.seconds, one.candidate.name)))
    by_name = {one.candidate.name: one for one in everyone}
    chosen, reason = _simplest_good(ranking[0], by_name["none"], by_name["rule"])
    reasons = [reason, *_range_notes(surrogates, access)]
    return Advice(
        access, by_name["none"], None if chosen is by_name["none"] else chosen, ranking, tuple(reasons)
    )


def _simplest_good(best: Ranked, none: Ranked, rule: Ranked) -> tuple[Ranked, str]:
    """No hints or the rule where nothing promises more than the surrogates' own error over them."""
    fastest_s, error_ratio = best.forecast.seconds, best.forecast.error_ratio
    for simple, margin in ((none, NONE_MARGIN), (rule, RULE_MARGIN)):
        slack = max(margin, error_ratio)
        if simple.forecast.seconds <= (1 + slack) * fastest_s:
            gain = none.forecast.seconds / simple.forecast.seconds
            what = "no hints are" if simple is none else f"the fixed rule ({gain:.2f}x no hints) is"
            return (
                simple,
                f"{what} predicted within {slack:.0%} of the best, which is the least to promise more",
            )
    gain = none.forecast.seconds / fastest_s
    return best, f"predicted {gain:.2f}x no hints and {rule.forecast.seconds / fastest_s:.2f}x the fixed rule"


def _range_notes(surrogates: Surrogates, access: Access) -> list[str]:
    profiled = surrogates.profile.ranks
    if not min(profiled) <= access.ranks <= max(profiled):
        shown = ", ".join(map(str, profiled))
        return [
            f"outside the profile: {access.ranks} ranks, measured at {shown}; "
            f"profile with --ranks {access.ranks}"
        ]
    if access.nodes != surrogates.profile.nodes:
        return [f"outside the profile: {access.nodes} nodes, measured on {surrogates.profile.nodes}"]
    return []


def confirm(advice: Advice, bench: Bench, top: int) -> Advice:
    """Run the best `top` candidates with no hints and the fixed rule, and advise what really wins."""
    options = [one.candidate for one in contenders(advice, top)]
    return settle(advice, try_all(bench, advice.access, options))


def contenders(advice: Advice, top: int) -> list[Ranked]:
    """The best by forecast, the forecast's choice, and the two that always take part."""
    chosen = advice.chosen.candidate.name if advice.chosen else "none"
    always = {"none", "rule", chosen}
    return [one for place, one in enumerate(advice.ranking) if place < top or one.candidate.name in always]


def settle(advice: Advice, trials: Sequence[Trial]) -> Advice:
    """The advice that real runs leave standing.

    Without a clear winner the fastest is advised if it is measurably faster than no hints: whichever of the
    fastest it is then matters less than noise. Where nothing beats no hints measurably, the forecast's choice
    stands only if its runs were faster too.
    """
    ranked = {one.candidate.name: one for one in advice.ranking}
    by_name = {trial.candidate.name: trial for trial in trials}
    none = by_name["none"]
    winner = clear_winner(trials)
    best = winner or min(trials, key=lambda trial: trial.median_s)
    foreseen = by_name.get(advice.chosen.candidate.name) if advice.chosen else None
    chosen = ranked[best.candidate.name] if best is not none and beats(best, none) else None
    if winner is not None:
        reason = f"confirmed: {best.candidate.name} wins with a median of {best.median_s:.4g} s"
    elif chosen is not None:
        reason = f"no clear winner within noise; {best.candidate.name} is among the fastest"
    elif foreseen is not None and foreseen.median_s < none.median_s:
        chosen = advice.chosen
        reason = f"no clear winner within noise; {foreseen.candidate.name}, as predicted, is not slower"
    else:
        reason = "no clear winner within noise; none beats no hints measurably"
    return replace(advice, chosen=chosen, reasons=(*advice.reasons, reason), trials=tuple(trials))
