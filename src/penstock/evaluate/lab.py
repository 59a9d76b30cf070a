"""Runs trials in worker processes, and takes results of earlier runs from the store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self

from penstock.campaign.workers import Workers
from penstock.evaluate.store import Store
from penstock.evaluate.trial import Measured, Trial, perform

Progress = Callable[[str, int, int], None]


def silent(stage: str, done: int, total: int) -> None:
    """No progress at all."""


class Lab:
    """Runs trials. Results do not depend on the number of workers or on the order."""

    def __init__(self, store: Store, workers: int | None = None, progress: Progress = silent) -> None:
        self.store = store
        self.workers = workers or os.cpu_count() or 1
        self._progress = progress
        self._pool: Workers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, error, trace)

    def measure(self, stage: str, trials: Sequence[Trial]) -> list[Measured]:
        """One result per trial, in order. Equal trials are run once."""
        missing = {trial.key: trial for trial in trials if self.store.find(trial) is None}
        total = len(missing)
        for done, (trial, measured) in enumerate(self._run(list(missing.values())), 1):
            self.store.keep(trial, measured)
            self._progress(stage, done, total)
        found = [self.store.find(trial) for trial in trials]
        return [each for each in found if each is not None]

    def _run(self, trials: Sequence[Trial]) -> Iterator[tuple[Trial, Measured]]:
        # The longest trial starts first. If it started last, everybody would wait for it.
        ordered = sorted(trials, key=_cost, reverse=True)
        if self.workers == 1 or len(ordered) < 2:
            yield from ((trial, perform(trial)) for trial in ordered)
            return
        if self._pool is None:
            self._pool = Workers(self.workers).__enter__()
        yield from self._pool.each(perform, ordered)


def _cost(trial: Trial) -> float:
    streams = sum(job.workload.streams for job in trial.plan.jobs)
    streams += sum(len(script.tasks) for script in trial.plan.scripts)
    return (trial.course.seconds + trial.course.warmup_s) * streams
