"""The rule that CI skips nothing, tried on a test that skips."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("ci", "outcome"), [("true", "1 failed"), ("", "1 skipped")])
def test_skipping_fails_only_under_ci(tmp_path: Path, ci: str, outcome: str) -> None:
    tests = Path(__file__).parent
    shutil.copy(tests / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text(
        "import pytest\ndef test_it():\n    pytest.skip('needs a cluster')\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "CI": ci, "PYTHONPATH": str(tests.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in result.stdout
