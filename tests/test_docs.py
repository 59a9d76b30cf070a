"""What the documents claim about the tests is true."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
FAULTS = TESTS.parent / "docs" / "faults.md"


def test_every_fault_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (\S+)::(test_\w+) \|$", FAULTS.read_text(), re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 41))
    for _, path, name in rows:
        assert f"def {name}(" in (TESTS / path).read_text(), f"{path} has no {name}"
