"""The simulator's runs are what they were when `simulator.json` was written.

`PENSTOCK_GOLDEN=write pytest tests/golden` writes the file anew; the commit then says why behaviour changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from penstock.simulate import BEHAVIOUR

from .simulator import CASES, Golden, run

FILE = Path(__file__).with_name("simulator.json")


def known() -> dict[str, dict[str, object]]:
    return dict(json.loads(FILE.read_text("utf-8"))) if FILE.exists() else {}


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_run_is_what_it_was(case: Golden) -> None:
    seen = run(case)
    if os.environ.get("PENSTOCK_GOLDEN") == "write":
        changed = {**known(), case.name: seen}
        ordered = {name: changed[name] for name in [one.name for one in CASES] if name in changed}
        FILE.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")
    assert seen == known()[case.name]


def test_every_known_run_still_exists() -> None:
    assert set(known()) == {case.name for case in CASES}


def test_declared_behaviour_is_that_of_these_runs() -> None:
    """Stored results carry `BEHAVIOUR`. It counts the first runs of the file: later ones may be added at its end."""
    count = int(BEHAVIOUR.partition("-")[0])
    counted = dict(list(known().items())[:count])
    assert len(counted) == count
    assert f"{count}-{hashlib.sha256(json.dumps(counted).encode()).hexdigest()[:16]}" == BEHAVIOUR
