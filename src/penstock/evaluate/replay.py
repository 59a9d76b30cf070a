"""A closed loop over recorded rows: each step shows a policy a recorded interval at the setting that it chose.

Nothing is simulated. The candidates are the settings that were recorded for the workload. A step draws one of the
intervals recorded at the setting in force and gives it to the policy, as an agent would. If the policy's model uses
history, it sees the intervals recorded before that one. The value of a step is the application's mean throughput at
that setting over all recorded time. So a policy's mean shows how good its choices were, not how lucky its draws.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from penstock.decide.guard import Guard, NodeView
from penstock.decide.tuner import Tuner
from penstock.decision import Decision, Outlook
from penstock.errors import DataError, UsageError
from penstock.evaluate.request import Terms
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.tuners import make_guard, make_predictor, make_tuner
from penstock.knobs import Candidates, KnobSpace, Setting
from penstock.ports import Predictor
from penstock.spaces import LUSTRE
from penstock.train.intervals import TARGET, RecordedInterval, RecordedWorkload
from penstock.units import GIB
from penstock.window import Window

DEFAULT = LUSTRE.default.only("pages", "flight")
RAM_BYTES = 128 * GIB
LAST_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One step: the setting in force, its value, and the decision at its end."""

    setting: Setting
    mbps: float
    decision: Decision | None


class RecordedHistory:
    """A predictor that adds the recorded history to a drawn interval."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self.history = predictor.history
        self._newest: Window | None = None
        self._history: tuple[Window, ...] = ()

    @property
    def digest(self) -> str:
        return self._predictor.digest

    @property
    def spaces(self) -> Collection[str]:
        """The model's."""
        return self._predictor.spaces

    def show(self, drawn: Window, before: Sequence[Window]) -> None:
        """From now on the newest interval is this one."""
        self._newest, self._history = drawn, (*before[max(0, len(before) - self.history) :], drawn)

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> Sequence[Outlook]:
        """As the model answers, for the recorded history of each newest interval."""
        shown = [self._history if windows[-1] is self._newest else windows for windows in histories]
        return self._predictor.outlooks(direction, shown, candidates)


def recorded_space(workload: RecordedWorkload) -> KnobSpace:
    """The knobs of a recorded client. Only recorded settings may be tried, and the cache limit is fixed."""
    one = next(iter(workload.intervals.values()))[0].window.setting
    knobs = tuple(
        replace(knob, values=tuple(sorted({setting[knob.id] for setting in workload.settings})))
        if knob.id in DEFAULT
        else replace(
            knob, values=(one[knob.id],), default=one[knob.id], floor=one[knob.id], ceiling=one[knob.id]
        )
        for knob in LUSTRE.knobs
    )
    return KnobSpace(LUSTRE.name, knobs, offered=workload.settings)


class RecordedClient:
    """A client with recorded intervals. It is deterministic for given random numbers."""

    def __init__(self, workload: RecordedWorkload, start: Setting, rng: Random) -> None:
        self.workload = workload
        self.space = recorded_space(workload)
        self.setting = self._start = start
        self._rng = rng
        self._now_s = 0.0

    def interval(self) -> tuple[Window, RecordedInterval]:
        """The next interval at the setting in force, with times that follow the last one; and the interval as
        recorded.
        """
        recorded = self._rng.choice(self.workload.intervals[self.setting])
        seconds = recorded.window.seconds
        window = replace(
            recorded.window,
            target=TARGET,
            t0_s=self._now_s,
            t1_s=self._now_s + seconds,
            original=self._start,
        )
        self._now_s = window.t1_s
        return window, recorded

    def set(self, wanted: Setting) -> None:
        """Change to the recorded setting nearest to the wanted one."""
        candidates = self.space.candidates()
        self.setting = candidates[int(candidates.nearest([wanted])[0])]


def replay(
    workload: RecordedWorkload, seed: int, terms: Terms, start: Setting | None = None
) -> list[ReplayedStep]:
    """The policy through one workload on one seed, step by step. Without a start it begins at the default."""
    predictor = make_predictor(terms.policy, Path(terms.model) if terms.model is not None else None)
    return _replay(_client(workload, seed, start), seed, terms, predictor)


def _client(workload: RecordedWorkload, seed: int, start: Setting | None) -> RecordedClient:
    return RecordedClient(workload, start_of(workload, start), Random(f"replay/{seed}/{workload.name}"))


def _replay(
    client: RecordedClient, seed: int, terms: Terms, predictor: Predictor | None
) -> list[ReplayedStep]:
    policy = terms.policy
    history = RecordedHistory(predictor) if predictor is not None else None
    tuner = make_tuner(policy, seed, RAM_BYTES, predictor=history)
    guard = make_guard(policy, seed, terms.guard)
    done = []
    for _ in range(round(terms.seconds / INTERVAL_S)):
        window, recorded = client.interval()
        if history is not None:
            history.show(window, recorded.before)
        held, decision = client.setting, _decide(tuner, guard, window, client.space)
        if decision is not None and decision.changes:
            client.set(decision.wanted)
        done.append(ReplayedStep(held, client.workload.mbps[held], decision))
    return done


def _decide(tuner: Tuner, guard: Guard | None, window: Window, space: KnobSpace) -> Decision | None:
    decisions = tuner.step([window], lambda _: space, window.t1_s, guard)
    if guard is not None:
        decisions = guard.review([window], decisions, lambda _: space, NodeView())
    return decisions[0] if decisions else None


def start_of(workload: RecordedWorkload, start: Setting | None) -> Setting:
    """The start of a replay. A setting that was not recorded is an error."""
    if (start or DEFAULT) in workload.intervals:
        return start or DEFAULT
    if start is None:
        raise DataError(f"{workload.name}: nothing was recorded at the default setting ({DEFAULT})")
    raise UsageError(f"--start: {workload.name} has no recorded interval at {start}")


def evaluate_replay(
    workloads: Sequence[RecordedWorkload], terms: Terms, start: Setting | None = None
) -> dict[str, Any]:
    """All workloads under all policies, as one document. A step lasts half a second."""
    for policy in terms.policies:
        if policy in ("oracle", "best-static"):
            raise UsageError(f"--policy {policy}: a recording cannot be asked what would have been")
    model = Path(terms.model) if terms.model is not None else None
    predictors = {policy: make_predictor(policy, model) for policy in terms.policies}
    rows = []
    for workload in workloads:
        start_of(workload, None)
        default, best = workload.mbps[DEFAULT], max(workload.mbps.values())
        figures = {}
        for policy, predictor in predictors.items():
            runs = [
                _replay(_client(workload, seed, start), seed, replace(terms, policies=(policy,)), predictor)
                for seed in terms.all_seeds
            ]
            figures[policy] = _figures(runs, default, best)
        where = max(workload.mbps, key=lambda setting: workload.mbps[setting])
        rows.append(
            {
                "workload": workload.name,
                "default_mbps": default,
                "best_mbps": best,
                "best": dict(where),
                "policies": figures,
            }
        )
    return {
        "policy": terms.policy,
        "steps": round(terms.seconds / INTERVAL_S),
        "seeds": terms.seeds,
        "seed": terms.seed,
        "rows": rows,
    }


def _figures(runs: Sequence[Sequence[ReplayedStep]], default: float, best: float) -> dict[str, float]:
    mbps = fmean(step.mbps for run in runs for step in run)
    last = [step.mbps for run in runs for step in run[-max(1, round(LAST_SHARE * len(run))) :]]
    moves = fmean(sum(one.setting != other.setting for one, other in pairwise(run)) for run in runs)
    return {
        "mbps": mbps,
        "vs_default": mbps / default,
        "vs_best": mbps / best,
        "final_vs_best": fmean(last) / best,
        "moves": moves,
    }
