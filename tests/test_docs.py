"""What the documents claim about the tests is true."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from penstock.decide.guard.rules import RULES
from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES, policy_class

TESTS = Path(__file__).parent
FAULTS = TESTS.parent / "docs" / "explanation" / "faults.md"


def test_every_fault_names_a_test_that_exists() -> None:
    rows = re.findall(
        r"^\| (\d+) \|.*\| (\S+::test_\w+(?:, \S+::test_\w+)*) \|$", FAULTS.read_text(), re.MULTILINE
    )
    numbers = [int(number) for number, _ in rows]
    assert numbers[:40] == list(range(1, 41))
    assert numbers == sorted(set(numbers))
    for path, name in (each.split("::") for _, tests in rows for each in tests.split(", ")):
        assert f"def {name}(" in (TESTS / path).read_text(), f"{path} has no {name}"


def test_readme_says_in_its_first_screen_what_is_real_and_what_simulated() -> None:
    first = "\n".join((TESTS.parent / "README.md").read_text().splitlines()[:30])
    assert "Measured on real Lustre:" in first
    assert "In simulation only:" in first
    assert first.index("In simulation only:") < first.index("./run demo")


def test_documents_name_exactly_the_policies_that_tune_the_cache() -> None:
    tuning = {name for name in POLICY_NAMES if policy_class(name).tunes_cache}
    page = (TESTS.parent / "docs" / "reference" / "policies.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|.*\| (yes|no) \|$", page, re.MULTILINE)
    named = {name: answer for names, answer in rows for name in re.findall(r"`([\w-]+)`", names)}
    assert set(named) == {*POLICY_NAMES, *EXPERIMENT_NAMES}
    assert {name for name, answer in named.items() if answer == "yes"} == tuning


def test_simulator_page_names_files_that_exist() -> None:
    page = (TESTS.parent / "docs" / "explanation" / "simulator.md").read_text()
    room = TESTS.parent / "src" / "penstock" / "simulate"
    named = set()
    for section in page.split("\n## "):
        # The kernels, and the folder that the section is about.
        folders = {"kernel", *re.findall(r"`simulate/(\w+)/`", section)}
        files = {path.name for folder in ("", *folders) for path in (room / folder).glob("*.py")}
        here = set(re.findall(r"`(?:simulate/)?(\w+\.py)`", section))
        assert here <= files, section.splitlines()[0]
        named |= here
    assert len(named) > 25


def test_documents_name_files_that_exist() -> None:
    root = TESTS.parent
    pages = [*root.joinpath("docs").rglob("*.md"), root / "README.md", root / "CONTRIBUTING.md"]
    named = {
        (page, path) for page in pages for path in re.findall(r"`((?:\w+/)+[a-z_]+\.py)`", page.read_text())
    }
    assert len(named) > 10
    for page, path in named:
        assert any((root / place / path).exists() for place in (".", "src", "src/penstock")), (
            f"{page}: {path}"
        )


def test_documents_import_what_exists() -> None:
    pages = [*TESTS.parent.joinpath("docs").rglob("*.md"), TESTS.parent / "README.md"]
    found = [
        (page, module, name.split(" as ")[0].strip())
        for page in pages
        for module, names in re.findall(
            r"^from (penstock[\w.]*) import ([\w, ]+)$", page.read_text(), re.MULTILINE
        )
        for name in names.split(",")
    ]
    assert len(found) >= 5
    for page, module, name in found:
        assert hasattr(import_module(module), name), f"{page}: from {module} import {name}"


def test_reading_an_explanation_lists_every_rule_of_the_guard() -> None:
    page = (TESTS.parent / "docs" / "how-to" / "read-an-explanation.md").read_text()
    table = page[page.index("| rule | holds a change back because |") :]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {rule.__name__ for rule in RULES}
