"""What policies decide is what they decided when `decisions.json` was written.

`PENSTOCK_GOLDEN=write pytest tests/golden` writes the file anew, and what pages say of the age of their figures; the
commit then says why behaviour changed.
"""

from __future__ import annotations

import json
import os

import pytest

from penstock.evaluate.drivers import Course
from penstock.evaluate.policy_traces import TraceWorld, traced_mark

from .decisions import CASES, FILE, known, known_marks, name_of, run


@pytest.mark.parametrize(("policy", "world"), CASES, ids=[name_of(*case) for case in CASES])
def test_decisions_are_those_kept(policy: str, world: TraceWorld) -> None:
    name, seen = name_of(policy, world), run(policy, world)
    if os.environ.get("PENSTOCK_GOLDEN") == "write":
        changed = {**known(), name: seen}
        ordered = {name_of(*case): changed[name_of(*case)] for case in CASES if name_of(*case) in changed}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
    assert seen == known()[name]


def test_every_kept_trace_still_exists_and_most_show_moves() -> None:
    kept = known()
    assert list(kept) == [name_of(*case) for case in CASES]
    assert {name.partition(" ")[0] for name, trace in kept.items() if not trace["moves"]} <= {
        "default",
        "fixed",
        "weir",
    }


def test_mark_is_that_of_the_kept_traces_and_differs_between_policies() -> None:
    marks = known_marks()
    assert traced_mark(Course(0.0, 0.0, policy="climb")) == marks["climb"]
    assert traced_mark(Course(0.0, 0.0)) == marks["default"] == marks["fixed"], "neither moves a knob"
    assert len(set(marks.values())) == len(marks) - 1
