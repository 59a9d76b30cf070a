"""The rules that hold for all tests, tried on small ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SKIPS = "import pytest\ndef test_it():\n    pytest.skip('needs a cluster')\n"
LEAVES_A_DIRECTORY = """
import tempfile
class Keeper:
    def __init__(self):
        self.me, self.temporary = self, tempfile.TemporaryDirectory()
def test_one():
    keeper = Keeper()
    assert not keeper.temporary
def test_two():
    import gc
    gc.collect()
"""
MARKED = """
import pytest
@pytest.mark.live
def test_live(): pass
@pytest.mark.slow
def test_slow(): pass
def test_fast(): pass
"""
MIXED = """
import pytest
@pytest.mark.parametrize("number", range(90))
def test_fast(number): pass
@pytest.mark.live
@pytest.mark.parametrize("number", range(3))
def test_live(number): pass
@pytest.mark.slow
def test_slow(): pass
"""
PROPERTY = """
from hypothesis import given, strategies as st
@given(st.integers())
def test_it(number):
    with open({seen!r}, "a") as file:
        print(number, file=file)
"""


def run(tmp_path: Path, text: str, *options: str, **environment: str) -> str:
    """What pytest says about a file of tests under our rules."""
    tests = Path(__file__).parent
    shutil.copy(tests / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(text)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\nmarkers =\n    live\n    slow\n")
    # What killed runs left among pytest's own directories is not this test's business.
    alone = ("-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base"))
    command = [sys.executable, "-m", "pytest", "-q", *alone, *options, str(tmp_path / "test_it.py")]
    known = {**os.environ, "PYTHONPATH": str(tests.parent), **environment}
    return subprocess.run(command, env=known, capture_output=True, text=True, check=False).stdout


def test_a_skipped_test_is_named_at_the_end(tmp_path: Path) -> None:
    # Many environments say CI=true: only .ci/run insists.
    said = run(tmp_path, SKIPS, CI="true").splitlines()
    assert said[-2:] == ["not tested: needs a cluster (1)", said[-1]]
    assert said[-1].startswith("1 skipped")


def test_a_skipped_test_fails_where_everything_must_be_at_hand(tmp_path: Path) -> None:
    assert "1 failed" in run(tmp_path, SKIPS, "--insist")
    ci = (Path(__file__).parent.parent / ".ci" / "run").read_text()
    assert "./run test --insist" in ci


def test_what_a_failed_test_leaves_does_not_fail_the_next(tmp_path: Path) -> None:
    assert "1 failed, 1 passed" in run(tmp_path, LEAVES_A_DIRECTORY)


@pytest.mark.parametrize(("options", "outcome"), [([], "3 passed"), (["--quick"], "1 passed, 2 deselected")])
def test_quick_leaves_out_live_and_slow_tests(tmp_path: Path, options: list[str], outcome: str) -> None:
    assert outcome in run(tmp_path, MARKED, *options)


def test_slow_tests_come_first_and_live_ones_among_the_others(tmp_path: Path) -> None:
    said = run(tmp_path, MIXED, "--collect-only")
    order = [
        line.partition("::test_")[2].partition("[")[0] for line in said.splitlines() if "::test_" in line
    ]
    assert sorted(order[:2]) == ["live", "slow"]
    places = [place for place, kind in enumerate(order) if kind == "live"]
    assert len(order) == 94
    assert 10 < places[-1] < 80


def test_properties_are_tried_on_the_same_examples_every_time(tmp_path: Path) -> None:
    seen = [tmp_path / "seen.1", tmp_path / "seen.2"]
    for path in seen:
        # Examples are derived from the test's own text, which must not name the file.
        (tmp_path / "seen").unlink(missing_ok=True)
        assert "1 passed" in run(tmp_path, PROPERTY.format(seen=str(tmp_path / "seen")))
        (tmp_path / "seen").rename(path)
    first, second = (path.read_text() for path in seen)
    assert len(first.split()) >= 100
    assert first == second
