"""Engines run shards. This module has the interface and the engine for local processes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Protocol, Self

from penstock.campaign.shardwork import perform_shard
from penstock.campaign.workers import Workers

Tick = Callable[[], None]


class ShardFailedError(Exception):
    """A shard failed as often as it may. The message is that of the last failure."""


class Engine(Protocol):
    """A set of workers that exists for the duration of the `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def each(self, tasks: Mapping[str, str], tick: Tick) -> Iterator[tuple[str, str | ShardFailedError]]:
        """Yield each task's key and result as soon as it is done.

        `tick` is called about once a second and may raise.
        """
        ...


class LocalEngine:
    """Local processes. A shard is tried again if it raises or if its process dies."""

    def __init__(self, workers: int, retries: int) -> None:
        self._workers = workers
        self._retries = retries

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return

    def each(self, tasks: Mapping[str, str], tick: Tick) -> Iterator[tuple[str, str | ShardFailedError]]:
        left = dict(tasks)
        tries: Counter[str] = Counter()
        last: dict[str, str] = {}
        while left:
            for key in [key for key in left if tries[key] > self._retries]:
                del left[key]
                yield key, ShardFailedError(last[key])
            for key, answer, error in self._round(left, tick):
                if error is None:
                    del left[key]
                    yield key, answer
                else:
                    tries[key] += 1
                    last[key] = error

    def _round(self, left: Mapping[str, str], tick: Tick) -> Iterator[tuple[str, str, str | None]]:
        """Try every shard once. Yields its result or its error; shards lost with a dead process count as failed."""
        handed: set[str] = set()

        def hand_out() -> Iterator[tuple[str, str]]:
            for item in list(left.items()):
                handed.add(item[0])
                yield item

        try:
            with Workers(self._workers) as pool:
                for (key, _), (answer, error) in pool.each(_attempt, hand_out(), tick):
                    handed.discard(key)
                    yield key, answer, error
        except BrokenProcessPool:
            for key in sorted(handed):
                yield key, "", "its process died"


def _attempt(item: tuple[str, str]) -> tuple[str, str | None]:
    try:
        return perform_shard(item[1]), None
    except Exception as error:  # noqa: BLE001 - whatever a shard raises is that shard's failure, not ours
        return "", f"{type(error).__name__}: {error}"
