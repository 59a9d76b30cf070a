"""The agent on a real GlusterFS mount: what it finds, what it gains, and that it gives everything back."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest
from tests.live.conftest import READ_8K
from tests.rigs.agents import AgentProcess, ThisMachine, agent, recover
from tests.rigs.gluster import GlusterMount
from tests.rigs.served import wait_for

from penstock.actuate.fuse import FuseActuator
from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.agent.discovery import discover
from penstock.agent.loop import everything
from penstock.measure.fio import running
from penstock.observe.fuse.observer import ROOTS, FuseObserver
from penstock.snapshot import Target
from penstock.testing.actuators import Rig, check_actuator
from penstock.testing.observers import check_observer

pytestmark = pytest.mark.live

KNOBS = ("max_background", "congestion_threshold", "read_ahead_kb", "max_ratio_fine")
PATIENCE_S = 600.0


def knobs(mount: GlusterMount) -> dict[str, int]:
    return {name: int(mount.knob(name).read_text()) for name in KNOBS}


def own_target(actuator: FuseActuator | NodeActuator, mount: GlusterMount) -> Target:
    return next(target for target in actuator.targets() if target.fs == str(mount.path))


def test_observer_and_actuator_obey_on_the_live_mount(mount: GlusterMount, tmp_path: Path) -> None:
    original = knobs(mount)
    written = iter(range(1000))

    def write_a_little() -> None:
        (mount.path / f"little.{next(written)}").write_bytes(b"x" * 100_000)

    # One that keeps an interval may need several to find the daemon on a busy machine.
    check_observer(lambda: FuseObserver(scope=ROOTS.patient()), write_a_little)
    numbers = iter(range(1000))

    def make() -> Rig:
        journal = Journal(tmp_path / f"s{next(numbers)}", owner_of("/"))
        actuator = FuseActuator("/", journal, scope=ROOTS.patient())
        for name, value in original.items():
            mount.knob(name).write_text(f"{value}\n")
        return Rig(actuator, own_target(actuator, mount))

    check_actuator(make)


def test_discovery_says_what_will_and_will_not_be_touched(mount: GlusterMount, tmp_path: Path) -> None:
    actuator = NodeActuator("/", Journal(tmp_path / "s", owner_of("/")), Reach().patient())
    found = {finding.fs: finding for finding in discover(Path("/"), actuator, everything)}
    mine = found[str(mount.path)]
    assert mine.tuned == ("ahead (on new opens)", "flight", "congested", "dirty_ppm")
    assert "may set ahead" in mine.sentence
    nobody = {finding.fs: finding for finding in discover(Path("/"), actuator, lambda _: False)}
    assert "left alone" in nobody[str(mount.path)].sentence


def test_tuning_reads_further_ahead_and_a_killed_agent_loses_nothing(
    mount: GlusterMount, state_dir: Path
) -> None:
    original = knobs(mount)
    with running(READ_8K, mount.path), agent(ThisMachine(), state_dir, "--mode", "tune") as running_agent:
        # How much that gains is measured by `./run bench fuse`.
        wait_for(lambda: knobs(mount)["read_ahead_kb"] >= 512, PATIENCE_S)
        running_agent.stop(signal.SIGKILL)
    assert knobs(mount) != original
    outcome = recover(ThisMachine(), state_dir)
    assert outcome.returncode == 0, outcome.stderr
    assert knobs(mount) == original


def test_an_administrator_wins(mount: GlusterMount, state_dir: Path) -> None:
    original = knobs(mount)
    with running(READ_8K, mount.path), agent(ThisMachine(), state_dir, "--mode", "tune") as running_agent:
        # Only once it has read back a change can the agent tell its own value from somebody else's.
        wait_for(lambda: any(event["actual"] for event in running_agent.events("decision")), PATIENCE_S)
        mount.knob("read_ahead_kb").write_text("1536\n")
        actuator = FuseActuator("/", Journal(state_dir, owner_of("/")), scope=ROOTS.patient())
        target = own_target(actuator, mount)
        wait_for(lambda: "ahead" in _manual(state_dir, target), PATIENCE_S)
        assert running_agent.stop() == 0
    assert knobs(mount) == {**original, "read_ahead_kb": 1536}


def test_server_death_and_unmount_hang_nothing(mount: GlusterMount, state_dir: Path) -> None:
    with running(READ_8K, mount.path), agent(ThisMachine(), state_dir, "--mode", "tune") as running_agent:
        wait_for(lambda: bool(running_agent.events("decision")), PATIENCE_S)
        mount.kill_server()
        time.sleep(2.0)
        assert running_agent.ask("status")["mode"] == "tune"
        mount.unmount()
        # Tests beside this one have mounts of their own.
        wait_for(lambda: str(mount.path) not in _seen(running_agent), PATIENCE_S)
        # Without deadlines of its own this would last for ever.
        assert running_agent.stop() == 0


def _seen(running_agent: AgentProcess) -> set[str]:
    return {row["fs"] for row in running_agent.ask("status")["targets"]}


def _manual(state_dir: Path, target: Target) -> frozenset[str]:
    entry = Journal(state_dir, owner_of("/")).get(target.name)
    return entry.manual if entry else frozenset()
