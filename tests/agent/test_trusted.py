"""Code and configuration that root runs come from files that only root could have written."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.agent.model_choice import load_own
from penstock.agent.plugins import find_policy
from penstock.agent.settings import AgentConfig, Mode
from penstock.config import load_layered
from penstock.errors import AccessError, ConfigError, PenstockError
from penstock.trusted import read_own

NOBODY = 65534
POLICY = """from penstock import Policy

class Mine(Policy):
    name = {name!r}
    def propose(self, window, outlook=None):
        return None

POLICY = Mine
"""


def needs_root() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give files away")


def policy_file(directory: Path, name: str = "mine") -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "mine.py"
    path.write_text(POLICY.format(name=name))
    return path


def test_bytecode_beside_a_policy_file_is_not_run(tmp_path: Path) -> None:
    path = policy_file(tmp_path / "policies")
    trap, other = tmp_path / "sprung", tmp_path / "other.py"
    other.write_text(f"open({str(trap)!r}, 'w')\n" + POLICY.format(name="evil"))
    planted = Path(importlib.util.cache_from_source(str(path)))
    planted.parent.mkdir()
    py_compile.compile(
        str(other),
        str(planted),
        dfile=str(path),
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    assert find_policy(str(path)).name == "mine"
    assert not trap.exists()
    assert sorted(planted.parent.iterdir()) == [planted], "nothing is written there either"


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_policy_in_a_directory_that_anybody_may_write_is_not_run(tmp_path: Path, mode: int) -> None:
    path = policy_file(tmp_path / "open")
    path.parent.chmod(mode)
    with pytest.raises(AccessError, match=r"open: anybody may write it, so nothing in it is trusted"):
        find_policy(str(path))


def test_policy_below_a_directory_that_anybody_may_write_is_not_run(tmp_path: Path) -> None:
    path = policy_file(tmp_path / "closed")
    tmp_path.chmod(0o777)
    with pytest.raises(AccessError, match="anybody may write it"):
        find_policy(str(path))
    # In a sticky one nobody else can rename what is ours.
    tmp_path.chmod(0o1777)
    assert find_policy(str(path)).name == "mine"


@pytest.mark.parametrize("depth", [0, 1])
def test_policy_below_a_directory_of_somebody_else_is_not_run(tmp_path: Path, depth: int) -> None:
    needs_root()
    (tmp_path / "theirs").mkdir()
    path = policy_file(tmp_path / "theirs" / "below" if depth else tmp_path / "theirs")
    os.chown(tmp_path / "theirs", NOBODY, NOBODY)
    with pytest.raises(AccessError, match=rf"theirs: belongs to uid {NOBODY}, so nothing in it is trusted"):
        find_policy(str(path))


def test_policy_that_is_a_link_is_not_run(tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(policy_file(tmp_path / "real"))
    with pytest.raises(AccessError, match="a symbolic link"):
        find_policy(str(link))


def test_policy_that_is_a_pipe_or_too_large_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    with pytest.raises(PenstockError, match="not a regular file"):
        find_policy(str(tmp_path / "pipe.py"))
    (tmp_path / "large.py").write_bytes(b"#" * (5 << 20))
    with pytest.raises(PenstockError, match="more than"):
        find_policy(str(tmp_path / "large.py"))


@pytest.mark.parametrize("mode", [0o666, 0o602])
def test_what_everybody_may_write_is_not_trusted(tmp_path: Path, mode: int) -> None:
    model, policy, config = tmp_path / "model.json", policy_file(tmp_path / "policies"), layered(tmp_path)[0]
    model.write_text("{}")
    readers: dict[Path, Callable[[], object]] = {
        model: lambda: load_own("forest", model),
        policy: lambda: find_policy(str(policy)),
        config: lambda: load_layered(config, AgentConfig),
    }
    for path, read in readers.items():
        path.chmod(mode)
        # A configuration that everybody may write is an invalid one, as it always was.
        kind, said = (ConfigError, "writable by everyone") if path == config else (AccessError, "anybody may")
        with pytest.raises(kind, match=rf"{path.name}: {said}"):
            read()


def layered(tmp_path: Path) -> tuple[Path, Path]:
    config, extra = tmp_path / "agent.toml", tmp_path / "agent.toml.d"
    config.write_text('mode = "observe"\n')
    extra.mkdir()
    return config, extra


@pytest.mark.parametrize("how", ["owner", "group", "everybody", "sticky"])
def test_drop_ins_in_a_directory_of_others_are_refused(tmp_path: Path, how: str) -> None:
    needs_root()
    config, extra = layered(tmp_path)
    (extra / "10.toml").write_text('mode = "tune"\n')
    mode = {"group": 0o775, "everybody": 0o777, "sticky": 0o1777}.get(how, 0o755)
    os.chown(extra, NOBODY if how == "owner" else 0, NOBODY)
    extra.chmod(mode)
    with pytest.raises(AccessError, match=r"agent\.toml\.d: .*nothing in it is trusted"):
        load_layered(config, AgentConfig)


def test_drop_in_that_is_a_link_counts_by_what_it_leads_to(tmp_path: Path) -> None:
    config, extra = layered(tmp_path)
    (tmp_path / "kept.toml").write_text('mode = "advise"\n')
    (extra / "10.toml").symlink_to(tmp_path / "kept.toml")
    assert load_layered(config, AgentConfig).mode is Mode.ADVISE
    (extra / "10.toml").unlink()
    (extra / "10.toml").symlink_to(extra / "10.toml")
    with pytest.raises(PenstockError, match=r"10\.toml: "):
        load_layered(config, AgentConfig)


@contextmanager
def flipping(link: Path, places: tuple[Path, Path]) -> Iterator[None]:
    """A link that leads to one file and to the other in turn, as fast as possible."""
    stop, fresh = threading.Event(), link.with_name("fresh")

    def flip() -> None:
        at = 0
        while not stop.is_set():
            fresh.symlink_to(places[at % 2])
            fresh.rename(link)
            at += 1

    thread = threading.Thread(target=flip)
    link.symlink_to(places[0])
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_link_that_flips_never_brings_somebody_elses_content(tmp_path: Path) -> None:
    needs_root()
    ours, theirs, link = tmp_path / "ours", tmp_path / "theirs", tmp_path / "link"
    ours.write_text("ours")
    theirs.write_text("theirs")
    os.chown(theirs, NOBODY, NOBODY)
    found = set()
    with flipping(link, (ours, theirs)):
        for _ in range(2000):
            try:
                found.add(read_own(link, 100)[1])
            except (AccessError, FileNotFoundError):
                found.add(b"")
    assert found <= {b"ours", b""}
    assert b"ours" in found


def test_configuration_by_a_flipping_link_is_never_somebody_elses(tmp_path: Path) -> None:
    needs_root()
    config, extra = layered(tmp_path)
    theirs = tmp_path / "theirs.toml"
    theirs.write_text('mode = "tune"\n')
    os.chown(theirs, NOBODY, NOBODY)
    with flipping(tmp_path / "link.toml", (config, theirs)):
        for _ in range(500):
            try:
                assert load_layered(tmp_path / "link.toml", AgentConfig).mode is Mode.OBSERVE
            except AccessError as error:
                assert "belongs to uid" in str(error)
    assert stat.S_ISDIR(extra.stat().st_mode)


def test_agent_names_the_directory_it_does_not_trust(tmp_path: Path) -> None:
    path = policy_file(tmp_path / "open")
    path.parent.chmod(0o777)
    command = [
        sys.executable,
        "-m",
        "penstock",
        "agent",
        "check",
        "--root",
        str(tmp_path),
        "--policy",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 4
    assert done.stderr == (
        f"penstock: {path.parent}: anybody may write it, so nothing in it is trusted (chmod o-w)\n"
    )
