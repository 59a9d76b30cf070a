"""A user with fusermount neither stops the agent nor keeps it from starting, whatever the mount is called."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rigs.agents import ThisMachine, agent
from tests.rigs.served import wait_for

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.node_actuator import Reach
from penstock.agent.discovery import discover
from penstock.agent.filesystems import mount_scope, open_actuator

TREE = Path(__file__).parent.parent / "fixtures/fuse-6.18/glusterfs/idle"
EVIL = ["\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1b[2J", "\r", "\x07", "\u202e"]
LINE = b"90 27 0:90 / /home/u/%b rw - fuse.sshfs %b rw,user_id=1001,group_id=1001\n"


def hostile() -> bytes:
    words = [*(text.encode() for text in EVIL), b"\xff\xfe", b"\\012<3>penstock:\\040forged"]
    lines = [LINE.replace(b"0:90", b"0:%d" % (90 + at)) % (word, word) for at, word in enumerate(words)]
    return b"".join(lines) + b"not a line at all \x1b[31m\n"


@pytest.mark.live
def test_agent_starts_and_runs_beside_hostile_mounts(tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(TREE, root, symlinks=True)
    table = root / "proc/self/mountinfo"
    honest = table.read_bytes()
    table.write_bytes(honest + hostile())
    with agent(ThisMachine(root), tmp_path / "state", "--mode", "observe") as running:
        # Daemons are looked for a tenth of a second at a time.
        wait_for(lambda: [row["fs"] for row in running.ask("status")["targets"]] == ["/mnt/gluster"])
        # While it runs: the table is read again every few seconds.
        table.write_bytes(hostile() + honest)
        before = running.ask("status")["ticks"]
        wait_for(lambda: running.ask("status")["ticks"] > before + 70)
        assert any("not understood" in problem for problem in running.ask("status")["problems"])
        found = {event["fs"]: event["why"] for event in running.events("found")}
        assert (
            found["/home/u/\\xff\\xfe"]
            == "fuse.sshfs: mounted by uid 1001, which is not in scope.mount_users"
        )
        assert running.stop() == 0
        said = running.said()
    assert "forged" in said
    assert not any(sign in said for text in EVIL for sign in text if not sign.isprintable())
    assert not [line for line in said.split("\n") if line.startswith("<3>")]


def test_check_beside_hostile_mounts_finds_the_honest_one(tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(TREE, root, symlinks=True)
    table = root / "proc/self/mountinfo"
    table.write_bytes(hostile() + table.read_bytes())
    command = [sys.executable, "-m", "penstock", "agent", "check", "--root", str(root), "--json"]
    done = subprocess.run(
        [*command, "--state-dir", str(tmp_path / "state")], capture_output=True, check=False, timeout=300
    )
    assert done.returncode in (0, 6), done.stderr
    assert "/mnt/gluster" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize(
    ("kinds", "users", "why"),
    [
        (["fuse.sshfs"], [0], "mounted by uid 1001, which is not in scope.mount_users"),
        (
            ["fuse.sshfs"],
            [1001],
            "its daemon could not be found; to see another user's, a unit needs CAP_SYS_PTRACE",
        ),
        (["fuse.rclone"], [1001], "its kind is not in scope.mount_kinds"),
    ],
)
def test_check_says_what_keeps_a_users_mount_out(
    tmp_path: Path, kinds: list[str], users: list[int], why: str
) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_bytes(LINE % (b"x", b"x"))
    reach = Reach(mount_scope(kinds, users)).patient()
    actuator = open_actuator(tmp_path, Journal(tmp_path / "state", owner_of(tmp_path)), reach)
    (found,) = discover(tmp_path, actuator, lambda _: True)
    assert found.why == f"fuse.sshfs: {why}"
