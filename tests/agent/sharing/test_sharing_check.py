"""What keeps an agent from its shared folder is found before it starts, and named with its remedy."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest
from tests.rigs.oddfiles import ODD, put

from penstock.agent.settings import AgentConfig, SharedKnowledgeSection
from penstock.agent.sharing import share_check
from penstock.agent.sharing.folder import ShareFolder
from penstock.agent.sharing.share_check import sandbox_problems, share_problems

STRICT = {"LoadState": "loaded", "ProtectSystem": "strict", "ProtectHome": "yes"}


def config(path: Path, *, on_tuned: bool = True, node: str = "n1") -> AgentConfig:
    return AgentConfig(knowledge=SharedKnowledgeSection(share=str(path), share_on_tuned=on_tuned, node=node))


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


def test_a_check_that_fails_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError("embedded null byte")

    monkeypatch.setattr(ShareFolder, "signature", fails)
    (problem,) = share_problems(config(tmp_path))
    assert "cannot be checked: ValueError" in problem


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


def test_a_folder_that_the_unit_replaces_by_one_of_its_own_is_a_problem() -> None:
    own = STRICT | {"PrivateTmp": "yes", "ReadWritePaths": "/tmp/share"}
    (problem,) = sandbox_problems(Path("/tmp/share"), own)
    assert "PrivateTmp=yes" in problem
    assert list(sandbox_problems(Path("/shared"), own | {"ReadWritePaths": "/shared"})) == []


def test_a_name_that_other_nodes_have_too_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr("socket.gethostname", lambda: "localhost.localdomain")
    (problem,) = share_problems(config(tmp_path, node=""))
    assert "localhost-localdomain" in problem
    monkeypatch.setattr("socket.gethostname", lambda: "node17")
    assert list(share_problems(config(tmp_path, node=""))) == []


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_folder_is_a_problem_and_nothing_waits_for_it(odd: str, tmp_path: Path) -> None:
    put(odd, tmp_path / "odd", tmp_path / "none")
    place = tmp_path / "odd" / "full" if odd == "directory" else tmp_path / "odd"
    (problem,) = share_problems(config(place))
    assert str(place) in problem
    assert "\n" not in problem


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to mount")
def test_a_folder_that_is_mounted_read_only_is_a_problem_that_names_the_directive(tmp_path: Path) -> None:
    share = tmp_path / "share"
    share.mkdir(mode=0o700)
    mounted = ["mount", "-t", "tmpfs", "-o", "ro,mode=700", "tmpfs", str(share)]
    if subprocess.run(mounted, check=False, capture_output=True).returncode:
        pytest.skip("may not mount here")
    try:
        (problem,) = share_problems(config(share))
    finally:
        subprocess.run(["umount", str(share)], check=True)
    assert "Read-only file system" in problem
    assert "ReadWritePaths=" in problem
