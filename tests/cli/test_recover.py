"""`agent restore` and `verify` as a user meets them: processes, exit codes, documents."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.served import Served, served, why_not

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lock import StateLock
from penstock.actuate.lustre import LustreActuator
from penstock.knobs import Setting

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path_factory.mktemp("client")) as tree:
        yield tree


@pytest.fixture
def tuned(tree: Served, tmp_path: Path) -> Served:
    """A client whose tuner died: flight is ours, dirty was changed by somebody else afterwards."""
    tree.fresh()
    actuator = LustreActuator(tree.root, Journal(tmp_path / "state", owner_of(tree.root)))
    actuator.set(actuator.targets()[0], Setting(flight=16, dirty=64))
    (tree.root / "sys/fs/lustre/osc" / tree.osc() / "max_dirty_mb").write_text("96")
    return tree


def agent(*arguments: str, root: Path, state: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "penstock",
            "agent",
            *arguments,
            "--root",
            str(root),
            "--state-dir",
            str(state),
        ],
        capture_output=True,
        text=True,
        check=False,
    )


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_verify_then_restore_then_verify(tuned: Served, tmp_path: Path) -> None:
    state = tmp_path / "state"
    before = agent("verify", "--json", root=tuned.root, state=state)
    assert before.returncode == 6
    assert [(f["knob"], f["expected"], f["actual"]) for f in document(before)["findings"]] == [
        ("flight", 8, 16),
        ("dirty", 490, 96),
    ]
    assert f"lctl set_param osc.{tuned.osc()}.max_rpcs_in_flight=8" in document(before)["rollback"]
    done = agent("restore", "--json", root=tuned.root, state=state)
    assert done.returncode == 0
    assert [(r["knob"], r["from"], r["to"]) for r in document(done)["restored"]] == [("flight", 16, 8)]
    assert [(r["knob"], r["value"]) for r in document(done)["left"]] == [("dirty", 96)]
    after = agent("verify", root=tuned.root, state=state)
    assert (after.returncode, after.stdout) == (0, "Everything holds what it should.\n")


def test_verify_tells_people_too(tuned: Served, tmp_path: Path) -> None:
    done = agent("verify", root=tuned.root, state=tmp_path / "state")
    assert done.returncode == 6
    assert "flight is 16, should be 8: still holds a tuned value" in done.stdout
    assert done.stderr == "penstock: 2 knobs differ from what they should be\n"


def test_restore_prints_commands_without_running_them(tuned: Served, tmp_path: Path) -> None:
    done = agent("restore", "--commands", root=tuned.root, state=tmp_path / "state")
    assert done.returncode == 0
    assert f"lctl set_param osc.{tuned.osc()}.max_rpcs_in_flight=8" in done.stdout.splitlines()
    assert (tuned.root / "sys/fs/lustre/osc" / tuned.osc() / "max_rpcs_in_flight").read_text() == "16\n"


def test_restore_without_a_journal_has_nothing_to_do(tree: Served, tmp_path: Path) -> None:
    done = agent("restore", root=tree.root, state=tmp_path / "never")
    assert (done.returncode, done.stdout) == (0, "Nothing to restore.\n")
    assert "no journal" in done.stderr


def test_restore_while_an_agent_runs_names_it(tuned: Served, tmp_path: Path) -> None:
    lock = StateLock(tmp_path / "state")
    done = agent("restore", root=tuned.root, state=tmp_path / "state")
    verified = agent("verify", "--json", root=tuned.root, state=tmp_path / "state")
    lock.release()
    assert done.returncode == 1
    assert "in use by process" in done.stderr
    assert [f["knob"] for f in document(verified)["findings"]] == ["dirty"]


def test_restore_below_a_missing_root_is_not_found(tmp_path: Path) -> None:
    assert agent("restore", root=tmp_path / "nowhere", state=tmp_path).returncode == 3


def test_restore_with_a_corrupt_journal_is_invalid(tree: Served, tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state/journal.json").write_text("{}")
    done = agent("restore", root=tree.root, state=tmp_path / "state")
    assert done.returncode == 5
    assert done.stderr.count("\n") == 1
    assert "journal.json" in done.stderr


def test_restore_that_is_refused_fails_and_can_be_repeated(tuned: Served, tmp_path: Path) -> None:
    tuned.control("fail OST0000 max_rpcs_in_flight write EACCES")
    done = agent("restore", root=tuned.root, state=tmp_path / "state")
    assert done.returncode == 1
    assert "max_rpcs_in_flight" in done.stderr
    tuned.control("clear")
    assert agent("restore", root=tuned.root, state=tmp_path / "state").returncode == 0
    assert (tuned.root / "sys/fs/lustre/osc" / tuned.osc() / "max_rpcs_in_flight").read_text() == "8\n"
