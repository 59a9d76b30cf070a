"""Runs trials in worker processes, and takes results of earlier runs from the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeVar

from penstock.campaign.engines import ThisProcess, local_engine
from penstock.campaign.shards import Engine, run_shards, unfinished
from penstock.evaluate.store import Store
from penstock.evaluate.trial import Measured, Trial, perform

Progress = Callable[[str, int, int], None]
Ask = TypeVar("Ask", bound=Hashable)


def silent(stage: str, done: int, total: int) -> None:
    """No progress at all."""


class Lab:
    """Runs trials. Results do not depend on the number of workers or on the order."""

    def __init__(self, store: Store, workers: int | None = None, progress: Progress = silent) -> None:
        self.store = store
        self.workers = workers or os.cpu_count() or 1
        self._progress = progress
        self._engine: Engine[Trial, Measured] = local_engine(self.workers)

    def __enter__(self) -> Self:
        self._engine.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.__exit__(kind, error, trace)

    def measure(self, stage: str, trials: Sequence[Trial]) -> list[Measured]:
        """One result per trial, in order. Equal trials are run once."""
        # The longest trial starts first. If it started last, everybody would wait for it.
        shards = {trial.key: trial for trial in sorted(trials, key=_cost, reverse=True)}
        left = unfinished(shards, self.store)
        engine = self._engine if len(left) > 1 else ThisProcess()
        for done, _ in enumerate(run_shards(engine, perform, left, self.store), 1):
            self._progress(stage, done, len(left))
        found = [self.store.find(trial) for trial in trials]
        return [each for each in found if each is not None]

    def answer(self, stage: str, asks: Mapping[Ask, Trial]) -> dict[Ask, Measured]:
        """The result of the trial behind everything that an experiment asks."""
        return dict(zip(asks, self.measure(stage, list(asks.values())), strict=True))


def _cost(trial: Trial) -> float:
    streams = sum(job.workload.streams for job in trial.plan.jobs)
    streams += sum(len(script.tasks) for script in trial.plan.scripts)
    return (trial.course.seconds + trial.course.warmup_s) * streams
