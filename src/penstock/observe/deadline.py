"""Runs work that may hang, one item after the other, with a deadline for each.

Reading a kernel file whose server is dead can block for minutes and cannot be interrupted. So all reading happens in
a worker thread. If one item takes longer than the deadline (this is noticed before twice that time), the worker is
abandoned with that item, and a new worker continues with the rest. An item whose thread is still blocked is not tried
again before that thread returns, so there is at most one thread per item. There are at most `most_blocked` blocked
threads; beyond that the rest of a pass is skipped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from penstock.threads import try_to_start

T = TypeVar("T", bound=Hashable)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Pass(Generic[T, R]):
    """The result of a pass: finished items with results, items that hang, and items skipped because too many hang
    or no thread could be had."""

    done: tuple[T, ...]
    results: tuple[R, ...]
    blocked: tuple[T, ...]
    untouched: tuple[T, ...]


@dataclass(slots=True)
class _Batch(Generic[T, R]):
    items: Sequence[T]
    work: Callable[[T], R]
    results: list[R] = field(default_factory=list)
    position: int = 0
    abandoned: bool = False
    done: threading.Event = field(default_factory=threading.Event)
    failure: BaseException | None = None


class Deadline(Generic[T, R]):
    """Runs passes over items with a deadline per item. Use it from one thread, and close it at the end."""

    def __init__(self, deadline_s: float = 1.0, most_blocked: int = 32) -> None:
        self._deadline_s = deadline_s
        self._most_blocked = most_blocked
        self._blocked: dict[T, threading.Thread] = {}
        self._worker: _Worker | None = None

    def blocked(self) -> frozenset[T]:
        """The items whose thread is blocked now."""
        self._forget_returned()
        return frozenset(self._blocked)

    def run(self, items: Sequence[T], work: Callable[[T], R]) -> Pass[T, R]:
        """Run `work` for every item that is not still blocked. Exceptions in `work` are raised."""
        self._forget_returned()
        waiting = [item for item in items if item not in self._blocked] if self._blocked else list(items)
        done: list[T] = []
        results: list[R] = []
        while waiting and len(self._blocked) < self._most_blocked:
            batch: _Batch[T, R] = _Batch(waiting, work)
            worker = self._hire()
            if worker is None:
                break
            worker.give(batch)
            if self._wait(batch):
                if batch.failure is not None:
                    raise batch.failure
                done += waiting
                results += batch.results
                waiting = []
                break
            batch.abandoned = True
            worker.dismiss()
            position = batch.position
            done += waiting[:position]
            results += batch.results[:position]
            self._blocked[waiting[position]] = worker.thread
            self._worker = None
            waiting = waiting[position + 1 :]
        blocked = tuple(item for item in items if item in self._blocked) if self._blocked else ()
        return Pass(tuple(done), tuple(results), blocked, tuple(waiting))

    def close(self) -> None:
        """Release the idle worker. Blocked workers are daemon threads and end with their read or with the process."""
        if self._worker is not None:
            self._worker.dismiss()
            self._worker = None

    def _wait(self, batch: _Batch[T, R]) -> bool:
        """True if the batch ended; false if one item took the whole deadline."""
        seen = -1
        while not batch.done.wait(self._deadline_s):
            if batch.position == seen:
                return batch.done.is_set()
            seen = batch.position
        return True

    def _hire(self) -> _Worker | None:
        """The worker; none where the system has no thread to give just now."""
        if self._worker is None:
            worker = _Worker()
            self._worker = worker if try_to_start(worker.thread) else None
        return self._worker

    def _forget_returned(self) -> None:
        if self._blocked:
            self._blocked = {item: thread for item, thread in self._blocked.items() if thread.is_alive()}


class _Worker:
    """A thread that runs one batch after the other. It ends once a batch was taken away from it."""

    def __init__(self) -> None:
        self._batch: _Batch[object, object] | None = None
        self._wake = threading.Semaphore(0)
        self.thread = threading.Thread(target=self._loop, name="penstock-reader", daemon=True)

    def give(self, batch: object) -> None:
        self._batch = batch  # type: ignore[assignment]
        self._wake.release()

    def dismiss(self) -> None:
        self._batch = None
        self._wake.release()

    def _loop(self) -> None:
        while True:
            self._wake.acquire()
            batch, self._batch = self._batch, None
            if batch is None:
                return
            try:
                for position, item in enumerate(batch.items):
                    batch.position = position
                    result = batch.work(item)
                    if batch.abandoned:
                        return
                    batch.results.append(result)
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits for the batch
                batch.failure = error
            batch.done.set()
            if batch.abandoned:
                return
