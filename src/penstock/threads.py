"""A fixed number of threads for requests from outside. More requests wait or are refused; they never add a thread."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable

log = logging.getLogger(__name__)

Task = Callable[[], None]

_NOTHING_S = 2e-5
_LONGEST_REST_S = 1.0
# How much of each thread's work was rested for.
_paid = threading.local()


def try_to_start(thread: threading.Thread) -> bool:
    """Start a thread. Returns false where the system has no thread to give just now."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class CoreShare:
    """Keeps the thread that calls `rest` to a share of a core, so that the control loop is not kept waiting.

    All threads of a process take turns. Whoever answers others without a pause would take the turns of the loop.
    """

    def __init__(self, share: float) -> None:
        self._idle = 1.0 / share - 1.0

    def rest(self) -> None:
        """Sleep for what the thread has worked since the last rest, many times over if its share is small."""
        now_s = time.thread_time()
        worked_s = now_s - getattr(_paid, "until_s", now_s)
        _paid.until_s = now_s
        if worked_s > _NOTHING_S:
            time.sleep(min(self._idle * worked_s, _LONGEST_REST_S))


class WorkerPool:
    """Runs tasks on at most `workers` threads; at most `waiting` tasks wait.

    A thread that cannot be had is tried for again by the next `staff`. A task that raises is logged and ends nothing.
    Each thread takes at most `share` of a core.
    """

    def __init__(self, name: str, workers: int, waiting: int, share: float = 1.0) -> None:
        self._name, self._most, self._pace = name, workers, CoreShare(share)
        self._tasks: queue.Queue[Task | None] = queue.Queue(waiting)
        self._threads: list[threading.Thread] = []
        self._closed = False
        # Several may find a thread missing at the same time.
        self._staffing = threading.Lock()

    def staff(self) -> None:
        """Start the threads that are missing."""
        with self._staffing:
            self._threads = [thread for thread in self._threads if thread.is_alive()]
            while not self._closed and len(self._threads) < self._most:
                thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                if not try_to_start(thread):
                    return
                self._threads.append(thread)

    def take(self, task: Task) -> bool:
        """Let a task be run. Returns false if too many wait, or after `close`."""
        try:
            if not self._closed:
                self._tasks.put_nowait(task)
        except queue.Full:
            return False
        return not self._closed

    def close(self, patience_s: float) -> None:
        """Drop what waits, and end the threads that are not in the middle of a task."""
        self._closed = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        with contextlib.suppress(queue.Full):
            for _ in self._threads:
                self._tasks.put_nowait(None)
        end_s = time.monotonic() + patience_s
        for thread in self._threads:
            thread.join(max(0.0, end_s - time.monotonic()))

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception:
                log.exception("a request failed")
            self._pace.rest()
