"""Threads that answer others leave the control loop its turns."""

from __future__ import annotations

import threading

import pytest

from penstock import threads
from penstock.threads import CoreShare, WorkerPool


class Clock:
    """A thread's working time that a test sets, and the rests that were taken."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.worked_s = 0.0
        self.rests: list[float] = []
        monkeypatch.setattr("penstock.threads.time.thread_time", lambda: self.worked_s)
        monkeypatch.setattr("penstock.threads.time.sleep", self.rests.append)
        monkeypatch.setattr(threads, "_paid", threading.local())


def test_a_thread_rests_nine_times_as_long_as_it_worked(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, pace = Clock(monkeypatch), CoreShare(0.1)
    pace.rest()
    clock.worked_s = 0.02
    pace.rest()
    assert clock.rests == [pytest.approx(0.18)]
    pace.rest()
    assert len(clock.rests) == 1, "what was rested for once is not rested for again"


def test_a_rest_has_an_end_and_a_whole_core_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    CoreShare(0.01).rest()
    clock.worked_s = 3.0
    CoreShare(0.01).rest()
    clock.worked_s = 4.0
    CoreShare(1.0).rest()
    assert clock.rests == [1.0, 0.0]


def test_workers_rest_after_every_task(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done = Clock(monkeypatch), threading.Event()
    pool = WorkerPool("x", 1, 4, share=0.5)

    def work() -> None:
        clock.worked_s += 0.25

    for task in (work, work, done.set):
        assert pool.take(task)
    pool.staff()
    assert done.wait(300)
    pool.close(60.0)
    # The first rest only begins to count.
    assert clock.rests[0] == pytest.approx(0.25)
