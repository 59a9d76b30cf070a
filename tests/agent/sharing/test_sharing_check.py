"""What keeps an agent from its shared folder is found before it starts, and named with its remedy."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from penstock.agent.settings import AgentConfig, SharedKnowledgeSection
from penstock.agent.sharing import share_check
from penstock.agent.sharing.folder import ShareFolder
from penstock.agent.sharing.share_check import sandbox_problems, share_problems

STRICT = {"LoadState": "loaded", "ProtectSystem": "strict", "ProtectHome": "yes"}


def config(path: Path, *, on_tuned: bool = True) -> AgentConfig:
    return AgentConfig(knowledge=SharedKnowledgeSection(share=str(path), share_on_tuned=on_tuned))


@pytest.fixture(autouse=True)
def no_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(share_check, "unit_properties", dict)


def test_a_folder_that_can_be_used_has_no_problem_and_stays_as_it_was(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert list(share_problems(config(tmp_path))) == []
    assert list(tmp_path.iterdir()) == []
    assert list(share_problems(AgentConfig())) == []


def test_folders_that_cannot_be_used_are_problems(tmp_path: Path) -> None:
    (problem,) = share_problems(config(tmp_path / "none"))
    assert "no such folder" in problem
    open_one = tmp_path / "open"
    open_one.mkdir()
    open_one.chmod(0o777)
    (problem,) = share_problems(config(open_one))
    assert "others may write it" in problem


def test_a_folder_that_hangs_is_a_problem_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(share_check, "PATIENCE_S", 0.1)
    monkeypatch.setattr(ShareFolder, "signature", lambda *_: released.wait(60.0))
    (problem,) = share_problems(config(tmp_path))
    released.set()
    assert "does not answer" in problem


def test_a_folder_on_a_file_system_that_is_tuned_is_refused_unless_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr("penstock.agent.sharing.sharer.tuned_fs", lambda _: ("lustre", "scratch"))
    (problem,) = share_problems(config(tmp_path, on_tuned=False))
    assert "share_on_tuned = true" in problem
    assert list(share_problems(config(tmp_path))) == []
    denied = config(tmp_path, on_tuned=False).model_copy(
        update={"scope": AgentConfig().scope.model_copy(update={"deny_fs": ("scratch",)})}
    )
    assert list(share_problems(denied)) == []


def test_the_units_sandbox_is_diagnosed_with_the_directive_to_set() -> None:
    path = Path("/shared/penstock")
    (problem,) = sandbox_problems(path, STRICT)
    assert "ReadWritePaths=/shared/penstock" in problem
    assert list(sandbox_problems(path, STRICT | {"ReadWritePaths": "-/shared/penstock"})) == []
    assert list(sandbox_problems(path, STRICT | {"ReadWritePaths": "/var /shared"})) == []
    assert list(sandbox_problems(path, {"LoadState": "not-found"})) == []
    assert list(sandbox_problems(path, {})) == []


def test_what_the_unit_hides_needs_another_directive() -> None:
    path = Path("/home/shared/penstock")
    (problem,) = sandbox_problems(path, STRICT | {"ReadWritePaths": str(path)})
    assert "BindPaths=/home/shared/penstock" in problem
    for bound in (f"-{path}", f"-{path}:{path}:rbind"):
        assert list(sandbox_problems(path, STRICT | {"ProtectHome": "tmpfs", "BindPaths": bound})) == []
