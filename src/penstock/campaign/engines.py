"""The engines of one machine: worker processes, and this process itself."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from types import TracebackType
from typing import Any, Literal, Self

from penstock.campaign.shards import Engine, Result, ShardFailedError, Task, Tick
from penstock.campaign.workers import Workers
from penstock.errors import PenstockError

Start = Literal["fork", "spawn"]


def local_engine(workers: int, start: Start = "fork") -> Engine[Any, Any]:
    """So many processes; for one worker no other process is started."""
    return LocalEngine(workers, start=start) if workers > 1 else ThisProcess()


class ThisProcess:
    """Shards one after the other, here. What a shard raises is raised."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def each(
        self, function: Callable[[Task], Result], tasks: Mapping[str, Task], tick: Tick
    ) -> Iterator[tuple[str, Result | ShardFailedError]]:
        for key, task in tasks.items():
            tick()
            yield key, function(task)


class LocalEngine:
    """Local processes, started when first needed. A shard is tried again if it raises or if its process dies."""

    def __init__(self, workers: int, retries: int = 0, start: Start = "fork") -> None:
        self._workers = workers
        self._retries = retries
        self._start = start
        self._pool: Workers | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.__exit__(kind, error, trace)
            self._pool = None

    def each(
        self, function: Callable[[Task], Result], tasks: Mapping[str, Task], tick: Tick
    ) -> Iterator[tuple[str, Result | ShardFailedError]]:
        left = dict(tasks)
        tries: Counter[str] = Counter()
        while left:
            for key, answer in self._round(function, left, tick):
                tries[key] += 1
                if isinstance(answer, ShardFailedError) and tries[key] <= self._retries:
                    continue
                del left[key]
                yield key, answer

    def _round(
        self, function: Callable[[Task], Result], left: Mapping[str, Task], tick: Tick
    ) -> Iterator[tuple[str, Result | ShardFailedError]]:
        """Try every shard once. Those handed out to processes when one of them died have failed."""
        handed: set[str] = set()

        def hand_out() -> Iterator[tuple[str, Task]]:
            for item in list(left.items()):
                handed.add(item[0])
                yield item

        if self._pool is None:
            self._pool = Workers(self._workers, self._start).__enter__()
        try:
            for (key, _), answer in self._pool.each(partial(_attempt, function), hand_out(), tick):
                handed.discard(key)
                yield key, answer
        except BrokenProcessPool:
            self.__exit__(*sys.exc_info())
            for key in sorted(handed):
                yield key, ShardFailedError("its process died")


def _attempt(function: Callable[[Task], Result], item: tuple[str, Task]) -> Result | ShardFailedError:
    try:
        return function(item[1])
    except Exception as error:  # noqa: BLE001 - whatever a shard raises is that shard's failure, not ours
        failed = ShardFailedError(f"{type(error).__name__}: {error}")
        failed.error = error if isinstance(error, PenstockError) else None
        failed.add_note(traceback.format_exc())
        return failed
