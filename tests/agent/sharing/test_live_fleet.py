"""Real agents around one folder: the scout is killed, the folder hangs, others meddle with it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.agents import EAGER, AgentProcess, agent
from tests.rigs.served import served, wait_for, why_not

from penstock.agent.sharing.folder import ASIDE, LEASES, MEMBERS, ShareFolder

pytestmark = pytest.mark.live

NODES = ("n1", "n2", "n3")


def configured(home: Path, node: str, share: Path) -> Path:
    """A state directory whose agent shares; returns it."""
    text = EAGER.replace("interval_s = 0.1", "interval_s = 0.3")
    knowledge = f'\n[knowledge]\nshare = "{share}"\nshare_on_tuned = true\nnode = "{node}"\n'
    (home / f"{node}.toml").write_text(text + knowledge)
    return home / node


def scouts(share: Path) -> set[str]:
    """The nodes that hold a lease to explore."""
    found = set()
    for path in (share / LEASES).glob("*"):
        with contextlib.suppress(ValueError, OSError):
            if not path.name.startswith("digest"):
                found.add(json.loads(path.read_text())["node"])
    return found


def wait_for_scout(share: Path, besides: str = "") -> str:
    """The first node that is seen to hold a lease, besides one that was killed."""
    seen: list[str] = []

    def somebody_scouts() -> bool:
        seen.extend(sorted(scouts(share) - {besides}))
        return bool(seen)

    wait_for(somebody_scouts)
    return seen[0]


def first_change(running: AgentProcess) -> dict[str, Any] | None:
    changes = [event for event in running.events("decision") if event["made"]]
    return changes[0] if changes else None


@pytest.mark.slow
def test_when_the_scout_is_killed_another_explores_and_the_third_follows_it(tmp_path: Path) -> None:
    share = tmp_path / "share"
    (share / MEMBERS).mkdir(parents=True)
    for path in (share, share / MEMBERS):
        path.chmod(0o700)
    # What others may have left there: damage, a later version, a link and a pipe.
    (share / MEMBERS / "damaged.json").write_bytes(b"\x00" * 100)
    (share / MEMBERS / "later.json").write_text('{"schema": "penstock-member", "version": 2}')
    (share / MEMBERS / "link.json").symlink_to("/etc/passwd")
    os.mkfifo(share / MEMBERS / "pipe.json")
    with contextlib.ExitStack() as stack:
        running: dict[str, AgentProcess] = {}
        for node in NODES:
            client = stack.enter_context(
                served(tmp_path / f"client-{node}", plain=True, osts=1, generous=True)
            )
            state = configured(tmp_path, node, share)
            running[node] = stack.enter_context(agent(client, state, "--mode", "tune", wait=False))
        killed = wait_for_scout(share)
        running.pop(killed).stop(signal.SIGKILL)
        scout = wait_for_scout(share, killed)
        follower = next(node for node in running if node != scout)
        wait_for(lambda: first_change(running[follower]) is not None)
        first = first_change(running[follower])
        assert first is not None
        assert first["reason"] == "followed"
        assert (
            f"proved on node {scout}" in first["sentence"] or f"proved on node {killed}" in first["sentence"]
        )
        assert (share / ASIDE / "damaged.json").exists()
        assert (share / MEMBERS / "later.json").exists()
        assert [one.stop() for one in running.values()] == [0, 0]
        assert scouts(share) == set()


def test_a_folder_that_is_full_is_said_once_and_the_loop_goes_on(tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root, to mount a small tmpfs")
    share = tmp_path / "share"
    share.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", str(share)], check=True)
    try:
        ShareFolder(share, "x").prepare()
        with contextlib.suppress(OSError), (share / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(4096))
        state = configured(tmp_path, "n1", share)
        with (
            served(tmp_path / "client", plain=True, osts=1, generous=True) as client,
            agent(client, state, "--mode", "tune") as running,
        ):
            wait_for(lambda: any("No space left" in said for said in running.ask("status")["problems"]))
            ticks = running.ask("status")["ticks"]
            wait_for(lambda: running.ask("status")["ticks"] > ticks + 10)
            assert running.stop() == 0
        assert running.said().count("No space left") == 1
    finally:
        subprocess.run(["umount", "--lazy", str(share)], check=True)


@pytest.mark.slow
def test_a_folder_that_hangs_holds_up_neither_the_loop_nor_the_end(tmp_path: Path) -> None:
    if (why := why_not()) is not None:
        pytest.skip(why)
    with (
        served(tmp_path / "hanging") as hanging,
        served(tmp_path / "client", plain=True, osts=1, generous=True) as client,
    ):
        state = configured(tmp_path, "n1", hanging.root / "proc")
        hanging.process.send_signal(signal.SIGSTOP)
        try:
            with agent(client, state, "--mode", "tune") as running:
                wait_for(lambda: any("does not answer" in said for said in running.ask("status")["problems"]))
                ticks = running.ask("status")["ticks"]
                wait_for(lambda: running.ask("status")["ticks"] > ticks + 10)
                assert running.stop() == 0
        finally:
            hanging.process.send_signal(signal.SIGCONT)
