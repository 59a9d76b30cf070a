"""The import contracts hold, and would notice if they did not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_source(directory: Path) -> Path:
    shutil.copytree(ROOT / "src", directory / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory / "src" / "penstock"


def test_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("decide/tuner.py", "import time", "Deciding and simulating touch nothing BROKEN"),
        ("simulate/server.py", "import os", "Deciding and simulating touch nothing BROKEN"),
        ("knobs.py", "import penstock.agent.loop", "Imports point one way BROKEN"),
        ("decide/tuner.py", "import penstock.testing.queueing", "Imports point one way BROKEN"),
        ("evaluate/demo.py", "import pickle", "Nothing unpickles BROKEN"),
        ("agent/loop.py", "import numba", "Numba stays in its rooms BROKEN"),
        ("predict/features.py", "import time", "Deciding and simulating touch nothing BROKEN"),
        ("train/fit.py", "import numba", "Numba stays in its rooms BROKEN"),
    ],
)
def test_contracts_notice_a_planted_import(tmp_path: Path, module: str, line: str, broken: str) -> None:
    package = copy_of_source(tmp_path)
    with (package / module).open("a") as source:
        source.write(f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode != 0
    assert broken in result.stdout
