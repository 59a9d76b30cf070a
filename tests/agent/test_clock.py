"""The agent's clock: it sleeps as long as asked, and a stop at any instant wakes it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from penstock.agent.clock import MonotonicClock


@pytest.fixture
def clock() -> Iterator[MonotonicClock]:
    found = MonotonicClock()
    before = signal.signal(signal.SIGALRM, lambda number, frame: found.stop())
    yield found
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


def test_sleep_lasts_until_then(clock: MonotonicClock) -> None:
    began_s = clock.now()
    clock.sleep_until(began_s + 0.05)
    assert clock.now() >= began_s + 0.05
    assert not clock.stopping


def test_stop_wakes_the_sleeper_and_lets_nobody_sleep_again(clock: MonotonicClock) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    clock.sleep_until(clock.now() + 3600.0)
    assert clock.stopping
    clock.sleep_until(clock.now() + 3600.0)


def test_stop_from_a_signal_handler_never_waits_for_the_code_it_interrupts(clock: MonotonicClock) -> None:
    # Hundreds of signals, while the clock enters and leaves its sleep thousands of times: with a lock in between, one
    # of them would meet it held and never return.
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.003)
    end_s = time.monotonic() + 2.0
    while time.monotonic() < end_s:
        clock.sleep_until(clock.now() + 0.00001)
    assert clock.stopping
