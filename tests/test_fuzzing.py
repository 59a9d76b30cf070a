"""What `./run fuzz` prints of a failure can be pasted into the tests."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fuzzing import example_to_commit

ROOT = Path(__file__).parent.parent
PLANTED = """
from hypothesis import given, strategies as st
@given(st.integers({least}), st.lists(st.booleans()))
def test_it(number, flags):
    assert number >= 7
def test_plain():
    assert False
"""


@pytest.mark.parametrize(
    ("told", "example"),
    [
        (
            "Falsifying example: test_it(\n    lab=Lab(),\n    a=1, b=[2.5],\n)\n\nV: no",
            "# V: no\n@example(a=1, b=[2.5])",
        ),
        ("Failing test case: test_it(\n    a=-1,\n)\n\nV: no", "# V: no\n@example(a=-1)"),
        (
            "Failing test case: <state machine>\nstate = M()\nstate.add(k=2)\n\nYou can\n\nV: no",
            "# V: no\nstate = M()\nstate.add(k=2)",
        ),
        (
            "Failing test case: test_it(\n    data=data(...),\n)\nDraw 1: 9\n\n"
            "add @reproduce_failure('6', b'AA==') so\n\nV: no",
            "# V: no\ntest_it(\n    data=data(...),\n)\nDraw 1: 9\n@reproduce_failure('6', b'AA==')",
        ),
        (
            "Failing test case: test_it(\n    a=<object at 0x1>,\n)\n\nadd @reproduce_failure('6', b'A')\n\nV: no",
            "# V: no\ntest_it(\n    a=<object at 0x1>,\n)\n@reproduce_failure('6', b'A')",
        ),
    ],
)
def test_example_has_what_hypothesis_chose_and_no_fixture(told: str, example: str) -> None:
    assert example_to_commit(told, {"lab"}) == example


@pytest.mark.parametrize(
    ("least", "code", "example"), [(0, 1, "@example(number=0, flags=[])"), (7, 0, "0 failed")]
)
def test_fuzzing_tries_property_tests_alone_and_says_what_it_found(
    tmp_path: Path, least: int, code: int, example: str
) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(PLANTED.format(least=least))
    command = [sys.executable, "-m", "benchmarks.fuzz", "0", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert example in done.stdout
    assert "fuzz: 1 property tests, run" in done.stdout
