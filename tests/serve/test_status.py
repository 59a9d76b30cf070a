"""Where a target stands: a short word and a sentence that are true in every mode."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.serve.status import TargetStatus, standing

BUSY: dict[str, Any] = {
    "name": "scratch-OST0000-osc-ff", "fs": "scratch", "resource": "OST0000", "label": "OST0000",
    "short": "scratch-OST0000", "knobs": {}, "counters": {}, "rates": {"read": 1e6}, "sentence": "resting",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "mode", "word", "said"),
    [
        ({}, "tune", "steady", "resting"),
        ({"rates": {"read": 0.0}, "sentence": None}, "tune", "idle", "idle"),
        ({"sentence": None}, "tune", "steady", "nothing was decided yet"),
        ({"guard": "breaker"}, "tune", "breaker", "resting"),
        ({"guard": "trial"}, "tune", "trial", "resting"),
        ({"paused": True, "guard": "trial"}, "tune", "paused", "left as it is until resumed"),
        ({"manual": ("pages",)}, "tune", "admin's", "resting; left to its administrator: pages"),
        ({"in_scope": False, "paused": True}, "tune", "denied", "out of the configured scope"),
        ({"void": "the connection was not up"}, "tune", "void", "the connection was not up"),
        ({"wish": ("pages 8 -> 4",)}, "advise", "steady", "would set pages 8 -> 4: resting"),
        ({"wish": ("pages 8 -> 4",)}, "observe", "observed", "only observed"),
    ],
)
def test_standing_says_what_is_true(changed: dict[str, Any], mode: str, word: str, said: str) -> None:
    assert standing(TargetStatus(**{**BUSY, **changed}), mode, hands_off=False) == (word, said)
    assert len(word) <= 9


def test_standing_of_a_target_that_a_job_wants_left_alone() -> None:
    assert standing(TargetStatus(**BUSY), "tune", hands_off=True) == (
        "hands off",
        "left alone: a job asked for it",
    )
