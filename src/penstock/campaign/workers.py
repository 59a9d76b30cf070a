"""Worker processes that end together with the process that started them, without printing tracebacks.

Ctrl-C in a terminal reaches the workers too. They ignore it and are killed by their parent. On SIGTERM the parent
kills them before it ends. If the parent itself is killed, the kernel ends them.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from itertools import islice
from types import FrameType, TracebackType
from typing import Literal, Self, TypeVar

from penstock.errors import TerminatedError

Item = TypeVar("Item")
Result = TypeVar("Result")

_SIGNALS = {signal.SIGINT, signal.SIGTERM}
_PR_SET_PDEATHSIG = 1
_AHEAD = 2
_TICK_S = 1.0


class Workers:
    """Worker processes for the duration of a `with` block. Leaving it by an exception kills those still running.

    `fork` shares loaded modules and starts at once. `spawn` starts a fresh interpreter, which libraries with threads
    need.
    """

    def __init__(self, count: int, start: Literal["fork", "spawn"] = "fork") -> None:
        self._count = count
        self._context = multiprocessing.get_context(start)
        self._others: set[object] = set()
        self._pool: ProcessPoolExecutor | None = None
        self._told_before: object = None

    def __enter__(self) -> Self:
        self._others = set(multiprocessing.active_children())
        self._pool = ProcessPoolExecutor(self._count, mp_context=self._context, initializer=_become_worker)
        if threading.current_thread() is threading.main_thread():
            self._told_before = signal.getsignal(signal.SIGTERM)
            if self._told_before is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, _terminated)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._pool is not None
        if kind is not None:
            for child in set(multiprocessing.active_children()) - self._others:
                child.kill()
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._told_before is signal.SIG_DFL:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def each(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        tick: Callable[[], None] = lambda: None,
    ) -> Iterator[tuple[Item, Result]]:
        """Yield each item with its result as soon as it is done. Only a few items are handed out in advance.

        `tick` is called after every result, and once a second while no result comes.
        """
        waiting: dict[Future[Result], Item] = {}
        left = iter(items)
        while True:
            for item in islice(left, _AHEAD * self._count - len(waiting)):
                waiting[self._submit(function, item)] = item
            if not waiting:
                return
            tick()
            for future in wait(waiting, timeout=_TICK_S, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()

    def _submit(self, function: Callable[[Item], Result], item: Item) -> Future[Result]:
        assert self._pool is not None
        # `submit` starts processes, and they inherit blocked signals. So no signal reaches a process that is half
        # started.
        with _blocked():
            return self._pool.submit(function, item)


@contextmanager
def _blocked() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _become_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _terminated(number: int, frame: FrameType | None) -> None:
    raise TerminatedError
