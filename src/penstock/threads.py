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


def try_to_start(thread: threading.Thread) -> bool:
    """Start a thread. Returns false where the system has no thread to give just now."""
    try:
        thread.start()
    except RuntimeError:
        return False
    return True


class WorkerPool:
    """Runs tasks on at most `workers` threads; at most `waiting` tasks wait.

    A thread that cannot be had is tried for again by the next `staff`. A task that raises is logged and ends nothing.
    """

    def __init__(self, name: str, workers: int, waiting: int) -> None:
        self._name, self._most = name, workers
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
