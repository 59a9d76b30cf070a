"""What all tests share: where shared data lies, and which real components are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
UNDER_CI = os.environ.get("CI") == "true"


def missing(what: str) -> None:
    """Skip this test because a real component is not there; under CI that is a failure instead."""
    if UNDER_CI:
        pytest.fail(f"under CI nothing real may be missing: {what}")
    pytest.skip(f"needs {what}")


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The directory of papers, captures and measurements that lies beside the project, where it does."""
    if not SHARED.is_dir():
        missing(f"{SHARED.name}/ beside the project (measurements that are not part of it)")
    return SHARED


@pytest.fixture(autouse=True)
def _in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test leaves behind, it leaves in a directory of its own."""
    monkeypatch.chdir(tmp_path)
