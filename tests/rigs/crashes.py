"""Ending a process at a chosen system call, or at any instant, to see what it leaves behind."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from penstock.actuate.system import System

_CALLS = [name for name in vars(System) if not name.startswith("_")]


class DoomedSystem(System):
    """The operating system until so many calls were made; then the process is killed, as by SIGKILL."""

    def __init__(self, calls: int) -> None:
        self._left = calls

    def spend(self) -> None:
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def _doomed(name: str) -> Callable[..., Any]:
    plain = getattr(System, name)

    def call(self: DoomedSystem, *arguments: Any, **named: Any) -> Any:
        try:
            return plain(self, *arguments, **named)
        finally:
            self.spend()

    return call


for _name in _CALLS:
    setattr(DoomedSystem, _name, _doomed(_name))


def in_small_process(check: Callable[..., object], *arguments: object) -> None:
    """Call a function of some module in a new process, and raise what it raises.

    A process is forked for every crash, and forking one that has loaded what all tests need takes many times as long.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(check, *arguments).result()


def survives(work: Callable[[System], object], calls: int) -> bool:
    """Do some work in a child that dies after so many system calls; whether it came to its end."""
    return _in_child(lambda: work(DoomedSystem(calls)), None)


def survives_until(work: Callable[[System], object], seconds: float) -> bool:
    """Do some work in a child that is killed from outside after a time; whether it came to its end."""
    return _in_child(lambda: work(System()), seconds)


def _in_child(work: Callable[[], object], seconds: float | None) -> bool:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError("the work failed by itself")
    return os.WIFEXITED(status)


def instants(seed: int, count: int, longest_s: float) -> list[float]:
    """Random times to kill at, the same for equal seeds."""
    rng = random.Random(seed)
    return [rng.uniform(0.0, longest_s) for _ in range(count)]
