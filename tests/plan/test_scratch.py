from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.errors import AccessError
from penstock.plan.scratch import scratch


def test_scratch_is_removed_with_all_it_holds(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), scratch("penstock-x-", tmp_path) as home:
        (home / "inside").mkdir()
        (home / "inside" / "file").write_text("x")
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_scratch_that_cannot_be_removed_is_said_and_hides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", lambda path, ignore_errors: None)
        with scratch("penstock-x-", tmp_path, said.append) as home:
            result = "measured"
    assert result == "measured"
    assert said == [f"{home} could not be removed; remove it by hand"]


def test_scratch_where_nothing_can_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(AccessError, match="file: cannot make a directory here"),
        scratch("x", tmp_path / "file"),
    ):
        pass
