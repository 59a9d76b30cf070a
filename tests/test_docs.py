"""What the documents claim about the tests is true."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES, policy_class

TESTS = Path(__file__).parent
FAULTS = TESTS.parent / "docs" / "explanation" / "faults.md"


def test_every_fault_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\| (\d+) \|.*\| (\S+)::(test_\w+) \|$", FAULTS.read_text(), re.MULTILINE)
    numbers = [int(number) for number, _, _ in rows]
    assert numbers[:40] == list(range(1, 41))
    assert numbers == sorted(set(numbers))
    for _, path, name in rows:
        assert f"def {name}(" in (TESTS / path).read_text(), f"{path} has no {name}"


def test_readme_says_in_its_first_screen_what_is_real_and_what_simulated() -> None:
    first = "\n".join((TESTS.parent / "README.md").read_text().splitlines()[:30])
    assert "Measured on real Lustre:" in first
    assert "In simulation only:" in first


def test_documents_name_exactly_the_policies_that_tune_the_cache() -> None:
    tuning = {name for name in POLICY_NAMES if policy_class(name).tunes_cache}
    row = re.search(
        r"`max_dirty_mb` too with the policies ([^;]*);", (TESTS.parent / "README.md").read_text()
    )
    assert row is not None
    assert set(re.findall(r"`([\w-]+)`", row[1])) == tuning
    page = (TESTS.parent / "docs" / "reference" / "policies.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|.*\| (yes|no) \|$", page, re.MULTILINE)
    named = {name: answer for names, answer in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert set(named) == {*POLICY_NAMES, *EXPERIMENT_NAMES}
    assert {name for name, answer in named.items() if answer == "yes"} == tuning
