"""The kernels run compiled and uncompiled, counter by counter and event by event the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

from .simulator import CHEAP, run


def uncompiled() -> dict[str, dict[str, object]]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(penstock.__file__).parent.parent),
        "NUMBA_DISABLE_JIT": "1",
    }
    command = [sys.executable, str(Path(__file__).with_name("simulator.py"))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return dict(json.loads(done.stdout))


@pytest.mark.slow
def test_runs_are_the_same_uncompiled() -> None:
    seen = {case.name: run(case) for case in CHEAP}
    assert all(outcome["rpcs"] for outcome in seen.values())
    assert seen == uncompiled()
