"""Resumable work in pieces: what an engine does, what keeps results, and the one loop that joins them.

A shard is a task with a key. Equal keys have equal results, so a shard whose result is kept is never done again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar

from penstock.errors import PenstockError

Task = TypeVar("Task")
Result = TypeVar("Result")
Task_contra = TypeVar("Task_contra", contravariant=True)
Result_contra = TypeVar("Result_contra", contravariant=True)
Tick = Callable[[], None]


class ShardFailedError(Exception):
    """A shard failed as often as it may. The message is that of the last failure; `error` is ours, if it was one."""

    error: PenstockError | None = None


class Engine(Protocol[Task, Result]):
    """A set of workers that exists for the duration of the `with` block."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def each(
        self, function: Callable[[Task], Result], tasks: Mapping[str, Task], tick: Tick
    ) -> Iterator[tuple[str, Result | ShardFailedError]]:
        """Yield each task's key and result as soon as it is done.

        `tick` is called about once a second and may raise.
        """
        ...


class Kept(Protocol[Task_contra, Result_contra]):
    """Keeps results from one run to the next."""

    def finished(self, shards: Mapping[str, Task_contra]) -> Collection[str]:
        """The keys of those whose results are there."""
        ...

    def keep(self, key: str, task: Task_contra, result: Result_contra) -> None:
        """Keep the result of a shard that has just finished."""
        ...

    def failed(self, key: str, failure: ShardFailedError) -> None:
        """The first failure ends everything. An error of ours is shown as if it had happened here."""
        raise failure.error or failure


def no_tick() -> None:
    """Nothing to do between results."""


def unfinished(shards: Mapping[str, Task], kept: Kept[Task, Result]) -> dict[str, Task]:
    """The shards whose results are not kept yet."""
    done = kept.finished(shards)
    return {key: task for key, task in shards.items() if key not in done}


def run_shards(
    engine: Engine[Task, Result],
    function: Callable[[Task], Result],
    shards: Mapping[str, Task],
    kept: Kept[Task, Result],
    tick: Tick = no_tick,
) -> Iterator[str]:
    """Do the shards and keep each result at once. Yields each key when its result is kept, or it has failed."""
    for key, answer in engine.each(function, shards, tick):
        if isinstance(answer, ShardFailedError):
            kept.failed(key, answer)
        else:
            kept.keep(key, shards[key], answer)
        yield key


def in_order(
    engine: Engine[Task, Result], function: Callable[[Task], Result], tasks: Sequence[Task]
) -> Iterator[Result]:
    """The results in the order of the tasks. Nothing is kept."""
    done: dict[int, Result] = {}
    due = 0
    for key, answer in engine.each(function, {str(at): task for at, task in enumerate(tasks)}, no_tick):
        if isinstance(answer, ShardFailedError):
            raise answer.error or answer
        done[int(key)] = answer
        while due in done:
            yield done.pop(due)
            due += 1
