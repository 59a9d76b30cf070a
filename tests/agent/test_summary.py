"""The report adds up what the log says."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.agent.summary import summarise

DECISION = {"event": "decision", "target": "a", "changes": ["flight 8 -> 16"], "reason": "try", "error": None}


def test_summary_counts_by_target_and_kind() -> None:
    events: list[dict[str, Any]] = [
        {"event": "start", "time_s": 10.0},
        {**DECISION, "time_s": 11.0, "actual": {"flight": 16}},
        {**DECISION, "time_s": 12.0, "actual": {"flight": 8}, "reason": "guard.revert"},
        {**DECISION, "time_s": 13.0, "actual": None},
        {**DECISION, "time_s": 14.0, "actual": None, "error": "refused", "target": "b"},
        {**DECISION, "time_s": 99.0, "actual": None},
        {"event": "later invention", "time_s": 15.0},
    ]
    summary = summarise(events, 10.0, 50.0)
    a, b = summary.targets
    assert (a.made, a.advised, a.reverted, a.failed) == (2, 1, 1, 0)
    assert (b.made, b.failed) == (0, 1)
    assert summary.starts == 1
    assert a.gain is None


def test_summary_takes_the_geometric_mean_of_effects() -> None:
    effect = {"event": "effect", "target": "a", "time_s": 1.0, "before_bytes_per_s": 100.0}
    events = [
        {**effect, "after_bytes_per_s": 400.0, "gain": 4.0},
        {**effect, "after_bytes_per_s": 50.0, "gain": 1.0},
    ]
    gain = summarise(events, 0.0, 2.0).targets[0].gain
    assert gain is not None
    assert gain.ratio == pytest.approx(2.0)


def test_summary_never_counts_a_refused_change_as_made() -> None:
    refused = {
        **DECISION,
        "time_s": 11.0,
        "made": [],
        "actual": {"flight": 24},
        "error": "its administrator's",
    }
    partly = {**DECISION, "time_s": 12.0, "made": ["pages 1 -> 2"], "actual": {"flight": 24}, "error": "so"}
    (row,) = summarise([refused], 10.0, 20.0).targets
    assert (row.made, row.failed, row.last) == (0, 1, "")
    (row,) = summarise([refused, partly], 10.0, 20.0).targets
    assert (row.made, row.failed, row.last) == (1, 1, "pages 1 -> 2")


def test_summary_names_targets_in_short_where_one_can_be_meant() -> None:
    def made(name: str, resource: str) -> dict[str, Any]:
        return {**DECISION, "time_s": 1.0, "target": name, "fs": "scratch", "resource": resource}

    twins = [made("scratch-OST0001-osc-a", "OST0001"), made("scratch-OST0001-osc-b", "OST0001")]
    old = {**DECISION, "time_s": 1.0, "target": "of an earlier version"}
    events = [made("scratch-OST0000-osc-a", "OST0000"), *twins, old]
    shorts = {row.target: row.short for row in summarise(events, 0.0, 9.0).targets}
    assert shorts.pop("scratch-OST0000-osc-a") == "scratch-OST0000"
    assert all(short == name for name, short in shorts.items())
