"""Fits a model to files of IOR results: reads them, chooses technique and scales, and reports the errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from penstock.errors import DataError, UsageError
from penstock.plan.storage import load_system
from penstock.plan.write.accuracy import Accuracy, measure
from penstock.plan.write.convergence import ConvergenceRule
from penstock.plan.write.fitted import FittedModel, Spreads, Subject, fit_model
from penstock.plan.write.folds import (
    Fold,
    Spread,
    doublings,
    extrapolation_folds,
    grouped_folds,
    mean_error,
    spread_of,
)
from penstock.plan.write.gather import gather
from penstock.plan.write.idea_spread import IdeaSpread, idea_spread
from penstock.plan.write.ior_results import Assumed, IorRun, Tally, read_runs
from penstock.plan.write.scale_search import ScaleSearch, ScaleTrial, held_out, refit, search
from penstock.plan.write.stacked import crossed, one_growth, study
from penstock.plan.write.support import Support, support_of
from penstock.plan.write.techniques import COMPARED, STACK, quiet
from penstock.plan.write.terms import trainable
from penstock.plan.write.write_samples import WriteSamples

Floats = npt.NDArray[np.float64]

# Beyond the measured scales there is no forecast if fewer of the largest scale's samples than this share are long
# enough to be used: the few that are may be long for a reason that the model does not know.
LEAST_LONG_SHARE = 0.25
# Progress over a number of steps. Entering the context gives the function to call after each step.
Progress = Callable[[int], AbstractContextManager[Callable[[], object]]]


@dataclass(frozen=True, slots=True)
class FitRequest:
    """What to fit, on what, and which part of it is kept for testing."""

    data: tuple[Path, ...]
    out: Path
    system: str | None = None
    technique: str = "best"
    locations: str = "scattered"
    where: tuple[str, ...] = ()
    cores: int | None = None
    stripes: int | None = None
    shortest: float = 5.0
    operation: str = "write"
    files: str | None = None
    unconverged: str = "use"
    train_up_to: int | None = None
    seed: int = 0
    as_printed: bool = False

    def __post_init__(self) -> None:
        if self.as_printed and self.technique not in {"best", *COMPARED}:
            raise UsageError(f"--as-printed: the paper compares {', '.join(COMPARED)}, not {self.technique}")
        for name in ("cores", "stripes", "train_up_to"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"--{name.replace('_', '-')} {value} is not positive")
        if self.locations not in {"compact", "scattered"}:
            raise UsageError(f"--locations {self.locations!r} is not compact or scattered")


@dataclass(frozen=True, slots=True)
class Judged:
    """One technique's best trial, with its errors on held-out patterns and on held-out larger scales.

    `base` was trained on all scales; a stack has no other.
    """

    trial: ScaleTrial
    base: ScaleTrial
    inside: Accuracy
    beyond: Accuracy | None
    spreads: Spreads
    support: Support
    score: float


@dataclass(frozen=True, slots=True)
class FitOutcome:
    """The chosen model, how every technique did, and what was left out on the way, in order.

    Of the samples `used`, training and test, `unconverged` have runs that differ too much.
    """

    model: FittedModel
    judged: Sequence[Judged]
    best: Judged
    used: int
    unconverged: int
    left_out: Mapping[str, int]
    test: Accuracy | None
    tested: WriteSamples
    runs: Sequence[IorRun]


def read_all(request: FitRequest, tally: Tally) -> list[IorRun]:
    """Every usable run of every file; the tally counts what is not."""
    where = _filters(request.where)
    assumed = Assumed(request.cores, request.stripes, where, request.operation, request.files)
    runs = [run for path in request.data for run in read_runs(path, assumed, tally)]
    if request.files is None and len({run.shared for run in runs if run.shared is not None}) > 1:
        raise DataError(
            "the data mix shared files and files of each process: pass --files own or --files shared"
        )
    return runs


def _filters(words: Sequence[str]) -> tuple[tuple[str, str], ...]:
    found = []
    for word in words:
        column, equals, value = word.partition("=")
        if not equals or not column:
            raise UsageError(f"--where {word!r} is not COLUMN=VALUE")
        found.append((column, value))
    return tuple(found)


def fit_runs(request: FitRequest, runs: Sequence[IorRun], progress: Progress) -> FitOutcome:
    """Choose technique, parameters and scales on held-out samples and fit the model on all the others."""
    system = None if request.system is None else load_system(request.system)
    samples = gather(runs, system, request.locations, ConvergenceRule())
    left_out = {"identical runs merged into their mean": len(runs) - len(samples)}
    usable, dropped = _usable(request, samples)
    limit = request.train_up_to or max(usable.scales)
    training, rest = usable.take(usable.nodes <= limit), usable.take(usable.nodes > limit)
    if len(training) == 0:
        raise DataError(f"no sample of up to {limit} nodes to train on")
    judged = [judge(training, found, request.seed) for found in _search(training, request, progress)]
    best = min(judged, key=lambda one: one.trial.error if request.as_printed else one.score)
    subject = Subject(request.operation, request.files or _files(runs))
    everything = samples.take(samples.nodes <= limit)
    if request.as_printed:
        fitted = replace(
            refit(training, best.trial, request.seed), spreads=best.spreads, support=best.support
        )
    else:
        fitted = model_of(training, best, everything)
    model = replace(fitted, name=str(request.out), subject=subject)
    return FitOutcome(
        model=model,
        judged=judged,
        best=best,
        used=len(usable),
        unconverged=int(np.count_nonzero(~usable.converged)),
        left_out={name: count for name, count in (left_out | dropped).items() if count},
        test=_test(model, rest, request.as_printed),
        tested=rest,
        runs=runs,
    )


def _test(model: FittedModel, rest: WriteSamples, as_printed: bool) -> Accuracy | None:
    """How the model does on larger runs. The paper's method answers for all of them and knows no intervals."""
    if not len(rest):
        return None
    return measure(model.predict_samples(rest), rest.seconds) if as_printed else score(model, rest)


def model_of(training: WriteSamples, judged: Judged, everything: WriteSamples) -> FittedModel:
    """The judged technique, fitted on all samples of its scales.

    `everything` has the short samples too: where they are nearly all, there is no forecast beyond the scales.
    """
    trial = judged.trial
    chosen = training.take(np.isin(training.nodes, trial.scales))
    fitted = fit_model(trial.technique, trial.technique, trial.given, chosen)
    doubt = growth_doubt(everything, training)
    support = judged.support if doubt is None else Support(0.0, doubt)
    return replace(fitted, spreads=judged.spreads, support=support)


def growth_doubt(everything: WriteSamples, training: WriteSamples) -> str | None:
    """Why nothing can be said about larger scales; None if something can."""
    largest = max(training.scales)
    there, used = (int(np.count_nonzero(part.nodes == largest)) for part in (everything, training))
    if used >= LEAST_LONG_SHARE * there:
        return None
    return f"only {used} of {there} samples on {largest} nodes are long enough to be used"


def _files(runs: Sequence[IorRun]) -> str:
    return "shared" if any(run.shared for run in runs) else "own"


def _usable(request: FitRequest, samples: WriteSamples) -> tuple[WriteSamples, dict[str, int]]:
    long = samples.long_enough(request.shortest)
    every = request.unconverged == "use" and not request.as_printed
    kept = long if every else long.take(long.converged)
    dropped = {
        f"samples shorter than {request.shortest:g} s (--shortest)": len(samples) - len(long),
        "samples whose runs differ too much (--unconverged use keeps them)": len(long) - len(kept),
    }
    if len(kept) == 0:
        why = "; ".join(f"{count} {name}" for name, count in dropped.items() if count)
        raise DataError(f"no sample is left to fit on: {why}")
    return kept, dropped


def score(model: FittedModel, samples: WriteSamples) -> Accuracy:
    """How a model does on the samples that it gives a forecast for, and the share that its intervals hold."""
    predicted = model.predict_samples(samples)
    given = model.supported(samples.columns, predicted)
    found = measure(predicted[given], samples.seconds[given])
    low, high = model.bounds(samples.columns)
    known = np.isfinite(low)
    inside = (low <= samples.seconds) & (samples.seconds <= high)
    held = float(inside[known].mean()) if known.any() else None
    refused = int(np.count_nonzero(~given))
    return replace(found, held=held, intervals=int(np.count_nonzero(known)), refused=refused)


def _search(training: WriteSamples, request: FitRequest, progress: Progress) -> list[ScaleSearch]:
    """The trials of every technique asked for."""
    every = COMPARED if request.as_printed else (*COMPARED, STACK)
    wanted = every if request.technique == "best" else (request.technique,)
    steps = [1 if technique == STACK else 2 ** len(training.scales) - 1 for technique in wanted]
    with progress(sum(steps)) as tick:
        return [search(training, technique, request.seed, tick, request.as_printed) for technique in wanted]


def judge(training: WriteSamples, found_by: ScaleSearch, seed: int) -> Judged:
    """Hold patterns out of the best trial's scales, then larger scales."""
    trial = found_by.best
    samples = training.take(np.isin(training.nodes, trial.scales))
    rows = samples.matrix(trainable(samples.system.kind, trial.technique))
    inside_folds, beyond_folds = grouped_folds(samples.shapes, seed), extrapolation_folds(samples.nodes)
    given, ideas = trial.given, None
    far = doublings(samples.nodes, beyond_folds)
    with quiet():
        if trial.technique == STACK:
            found = study(rows, samples.seconds, seed)
            inside, beyond = crossed(found.inside), crossed(found.beyond, one_growth)
            given, ideas = found.weights, idea_spread(found.beyond, far)
        else:
            data = (rows, samples.seconds)
            inside = held_out(trial.technique, given, data, inside_folds)
            beyond = held_out(trial.technique, given, data, beyond_folds)
    spreads = Spreads(spread_of(inside), None if ideas else spread_of(beyond, far), ideas)
    errors = [mean_error(part) for part in (inside, beyond) if part]
    accuracies = [
        _accuracy(samples.seconds, folds, part, spread)
        for folds, part, spread in (
            (inside_folds, inside, spreads.inside),
            (beyond_folds, beyond, spreads.ideas or spreads.beyond),
        )
    ]
    return Judged(
        replace(trial, given=given),
        found_by.base,
        accuracies[0],
        accuracies[1] if beyond else None,
        spreads,
        support_of(beyond, far, samples.scales),
        float(np.mean(errors)),
    )


def _accuracy(
    seconds: Floats, folds: Sequence[Fold], errors: Sequence[Floats], spread: Spread | IdeaSpread | None
) -> Accuracy:
    truth = [seconds[fold.test] for fold in folds]
    predicted = [part * np.exp(error) for part, error in zip(truth, errors, strict=True)]
    none = np.zeros(0)
    return replace(
        measure(np.concatenate([none, *predicted]), np.concatenate([none, *truth])),
        held=None if spread is None else spread.measured,
    )
