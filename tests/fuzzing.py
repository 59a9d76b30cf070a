"""Property tests again and again with fresh examples until a time is over, as a plugin of pytest.

`python -m benchmarks.fuzz` starts pytest with this plugin. What fails is shrunk by hypothesis; here it is put into a
form to paste into the tests.
"""

from __future__ import annotations

import ast
import json
import re
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

# Older and newer words of hypothesis.
_SHRUNK = re.compile(
    r"(?:Falsifying (?:explicit )?example|Failing test case):\s*(?:<state machine>\n)?(.*?)(?=\n\n|\Z)",
    re.DOTALL,
)
_BLOB = re.compile(r"@reproduce_failure\(.*?\)", re.DOTALL)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fuzzing")
    group.addoption("--fuzz-until", type=float, help="when to end, in seconds of the epoch")
    group.addoption("--fuzz-found", type=Path, help="the file that what was found is appended to")


def pytest_runtestloop(session: pytest.Session) -> bool:
    """All tests in ever new orders; a test that failed is not tried again."""
    until_s = session.config.getoption("--fuzz-until")
    found = Found(session.config.getoption("--fuzz-found"))
    session.config.pluginmanager.register(found)
    waiting = _endlessly(session.items, found)
    item, tried = next(waiting, None), 0
    while item is not None:
        following = next(waiting, None) if time.time() < until_s else None
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item, tried = following, tried + 1
    found.append({"tests": len(session.items), "tried": tried})
    return True


class Found:
    """Writes down each failure with its example."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.failed: set[str] = set()

    def append(self, document: dict[str, object]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(document) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed:
            self.failed.add(item.nodeid)
            given = set(getattr(item, "fixturenames", ()))
            told = list(_told(call.excinfo.value)) if call.excinfo else []
            example = "\n".join(example_to_commit(text, given) for text in told) or report.longreprtext
            self.append({"test": item.nodeid, "example": example})
        return report


def _endlessly(items: Sequence[pytest.Item], found: Found) -> Iterator[pytest.Item]:
    rng = Random()
    while left := [item for item in items if item.nodeid not in found.failed]:
        rng.shuffle(left)
        yield from left


def _told(error: BaseException) -> Iterator[str]:
    """What hypothesis added to an error, and to each of a group."""
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _told(one)
    notes = "\n".join(getattr(error, "__notes__", ()))
    if _SHRUNK.search(notes):
        yield f"{notes}\n\n{type(error).__name__}: {error}"


def example_to_commit(told: str, fixtures: set[str]) -> str:
    """What to paste: an `@example` above the test, the steps of a state machine, or else the failure's digest."""
    match, why = _SHRUNK.search(told), told.rpartition("\n\n")[2].splitlines()[0]
    text = match[1].strip() if match else told
    if text.startswith("state = "):
        return f"# {why}\n{text}"
    made = _decorator(text, fixtures)
    blob = _BLOB.search(told)
    return f"# {why}\n" + (made or f"{text}\n{blob[0] if blob else ''}")


def _decorator(call: str, fixtures: set[str]) -> str | None:
    """`@example(...)` of a printed call; None where a value is not an expression that can be written down."""
    try:
        tree = ast.parse(call, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(tree, ast.Call):
        return None
    names = [word for word in tree.keywords if word.arg not in fixtures]
    if any(isinstance(word.value, ast.Call) and ast.unparse(word.value.func) == "data" for word in names):
        return None
    return f"@example({', '.join(ast.unparse(word) for word in names)})"
