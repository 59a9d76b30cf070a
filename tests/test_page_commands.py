"""Commands that pages mark as runnable run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.pages import blocks
from tests.rigs.served import why_not


def test_a_failing_block_fails_its_page_and_stops_what_it_started(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- file: a/x.txt -->\n```text\nhello\n```\n\n```sh\nexit 9 # not marked\n```\n\n"
        "<!-- run -->\n```sh\nsleep 1000 &\necho $! > pid\ncat a/x.txt\n```\n\n"
        "<!-- run: exit 6 -->\n```sh\nexit 6\n```\n\n<!-- run -->\n```python\nprint(2 + 2)\n```\n\n"
        "<!-- run -->\n```sh\nfalse\n```\n\n<!-- run -->\n```sh\necho never\n```\n"
    )
    place = tmp_path / "place"
    place.mkdir()
    done = blocks.run(page, place)
    assert done.returncode == 1
    assert "hello" in done.stdout
    assert "\n4\n" in done.stdout
    assert "never" not in done.stdout
    with pytest.raises(ProcessLookupError):
        os.kill(int((place / "pid").read_text()), 0)


@pytest.mark.slow
@pytest.mark.parametrize("page", list(blocks.runnable_pages()), ids=lambda page: page.stem)
def test_marked_commands_of_a_page_run(page: Path, tmp_path: Path) -> None:
    if "simulate serve" in page.read_text() and why_not():
        pytest.skip(why_not() or "")
    done = blocks.run(page, tmp_path)
    assert done.returncode == 0, done.stdout
