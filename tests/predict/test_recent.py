"""Stacks made from the last one equal stacks made from nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.knobs import Setting
from penstock.predict.features import stack_windows
from penstock.predict.recent import Recent
from penstock.snapshot import Target
from penstock.window import Window

SETTING = Setting(pages=256, flight=8, dirty=64)


def a_window(target: int, t_s: int) -> Window:
    metrics = {"read.bytes": 4096.0 * (t_s + 7 * target), "read.page_utilisation": 0.5}
    return Window(Target(f"t{target}", "fs"), t_s, t_s + 0.5, SETTING, metrics)


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(["go", "clear", "skip", "cut"])), max_size=40))
def test_recent_stack_equals_the_stack_made_from_nothing(steps: list[tuple[int, str]]) -> None:
    recent = Recent("read", 3)
    histories: dict[int, list[Window]] = {0: [], 1: [], 2: []}
    for t_s, (target, what) in enumerate(steps):
        mine = histories[target]
        if what == "clear":
            mine.clear()
        elif what == "cut":
            del mine[:-1]
        for number, windows in histories.items():
            windows.append(a_window(number, t_s))
            del windows[:-5]
        asked = [
            windows for number, windows in histories.items() if not (what == "skip" and number == target)
        ]
        expected = stack_windows(asked, "read", 3)
        assert np.array_equal(recent.stack(asked), expected, equal_nan=True)


def test_recent_stack_notices_another_past_behind_the_same_window() -> None:
    recent = Recent("read", 3)
    first, other, second, third = (a_window(0, t_s) for t_s in range(4))
    recent.stack([(first, second)])
    assert np.array_equal(
        recent.stack([(other, second, third)]),
        stack_windows([(other, second, third)], "read", 3),
        equal_nan=True,
    )
