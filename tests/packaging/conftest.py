"""Where the packaging is, and the programs its tests need."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def packaging() -> Path:
    return Path(__file__).parent.parent.parent / "packaging"


@pytest.fixture(scope="session")
def tool() -> Callable[[str, str], str]:
    """The path of a program of a Debian package, or a skip that names the package."""

    def find(program: str, package: str) -> str:
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"needs {program} (Debian: apt-get install {package})")
        return path

    return find
