"""The journal gets one line a change, one line a condition, and counts for the rest."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from penstock.agent.rate_limited_log import (
    HOUR_S,
    MOST_CONDITIONS,
    MOST_REMINDERS,
    OVER_AFTER_S,
    RateLimitedLog,
)


class Clock:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def messages(clock: Clock, caplog: pytest.LogCaptureFixture) -> Iterator[RateLimitedLog]:
    with caplog.at_level(logging.INFO):
        yield RateLimitedLog(logging.getLogger("test.messages"), clock, changes_per_hour=3)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return found


def test_log_says_a_condition_once_whatever_its_numbers(
    messages: RateLimitedLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(3000):
        clock.now_s = second
        messages.condition(f"OST0001: stale for {second} s, 3.5 of {second}.25")
        messages.settle()
    assert said(caplog) == ["OST0001: stale for 0 s, 3.5 of 0.25"]
    assert messages.standing() == ["OST0001: stale for 2999 s, 3.5 of 2999.25"]


def test_log_tells_conditions_of_different_targets_apart(
    messages: RateLimitedLog, caplog: pytest.LogCaptureFixture
) -> None:
    messages.condition("lustre-OST0001-osc-ff12: stale")
    messages.condition("lustre-OST0002-osc-ff12: stale")
    assert len(said(caplog)) == 2


def test_log_reminds_hourly_with_counts(
    messages: RateLimitedLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for second in range(int(HOUR_S) + 1):
        clock.now_s = second
        messages.condition("disk full")
        messages.settle()
    assert said(caplog) == ["disk full", "disk full (3600 times in the last hour)"]


def test_log_forgets_what_is_over_and_says_it_anew(
    messages: RateLimitedLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    messages.condition("disk full")
    messages.condition("corrupt journal", lasting=True)
    clock.now_s = OVER_AFTER_S
    assert messages.standing() == ["corrupt journal"]
    clock.now_s = HOUR_S
    messages.settle()
    messages.condition("disk full")
    assert said(caplog) == ["disk full", "corrupt journal", "disk full"]


def test_log_bounds_conditions_and_reminders(
    messages: RateLimitedLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        for i in range(3 * MOST_CONDITIONS):
            messages.condition(f"target-x{i}: gone")
    assert len(said(caplog)) == MOST_CONDITIONS
    clock.now_s = OVER_AFTER_S / 2 + HOUR_S
    for i in range(MOST_CONDITIONS):
        messages.condition(f"target-x{i}: gone")
    messages.settle()
    assert len(said(caplog)) == MOST_REMINDERS + 1


def test_log_keeps_a_budget_of_change_lines(
    messages: RateLimitedLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for i in range(10):
        messages.change(f"set {i}")
    clock.now_s = HOUR_S
    messages.settle()
    messages.change("set again")
    assert said(caplog) == [
        "set 0",
        "set 1",
        "set 2",
        "3 changes in this hour; the others are only in the log",
        "7 changes in the last hour were not printed",
        "set again",
    ]


def test_log_lets_everything_through_for_debug(
    messages: RateLimitedLog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for _ in range(5):
        messages.condition("disk full")
        messages.change("set")
    assert len(said(caplog)) == 11
