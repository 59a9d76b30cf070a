"""A served client and figures that the tests of this room share."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from tests.rigs.agents import EAGER, AgentProcess, agent
from tests.rigs.served import Served, served, why_not

from penstock.serve.status import AgentStatus, NodeStatus, Pace, Tallies, TargetStatus

Exporting = Callable[..., AbstractContextManager[AgentProcess]]


@pytest.fixture(scope="session")
def served_tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    with served(tmp_path_factory.mktemp("client"), layout="2.17") as running:
        yield running


@pytest.fixture
def client(served_tree: Served) -> Served:
    """A freshly mounted 2.17 client with two busy targets."""
    return served_tree.fresh()


@pytest.fixture
def tool() -> Callable[[str, str], str]:
    """The path of a program of a Debian package, or a skip that names the package."""

    def find(program: str, package: str) -> str:
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"needs {program} (Debian: apt-get install {package})")
        return path

    return find


@pytest.fixture
def exporting(client: Served, tmp_path: Path) -> Exporting:
    """Runs an agent with both ways out open: a port, and textfile/penstock.prom in the test's directory."""

    @contextmanager
    def run(port: int, *options: str) -> Iterator[AgentProcess]:
        textfile = tmp_path / "textfile" / "penstock.prom"
        textfile.parent.mkdir()
        (tmp_path / "state.toml").write_text(
            f'{EAGER}\n[metrics]\nlisten = "127.0.0.1:{port}"\ntextfile = "{textfile}"\n'
            "textfile_period_s = 1\n"
        )
        with agent(client, tmp_path / "state", *options) as running:
            yield running

    return run


def target_status(
    ost: str, knobs: dict[str, float], counters: dict[str, float], void: str | None = None
) -> TargetStatus:
    name = f"scratch-{ost}-osc-1"
    return TargetStatus(name, "scratch", ost, ost, f"scratch-{ost}", knobs, counters, void=void)


@pytest.fixture
def status() -> AgentStatus:
    """An agent with two targets, one of them without a trustworthy last interval."""
    counters = {"read.bytes": 1e9, "write.bytes": 2e9, "write.rpcs": 500.0, "write.usec": 3e6}
    return AgentStatus(
        version="1.2.3",
        pid=4711,
        mode="tune",
        modes=("observe", "advise", "tune"),
        policy="climb",
        interval_s=0.5,
        rollback="always",
        paused=(),
        problems=("one", "two"),
        lost_log_lines=0,
        jobs=("77",),
        pace=Pace(1_700_000_000.0, 1_700_000_100.0, 200, 1.5, 3),
        node=NodeStatus(980 * 2.0**20, 1024 * 2.0**20, 0.61),
        targets=(
            target_status("OST0000", {"pages": 1024.0, "dirty": 490 * 2.0**20}, counters),
            target_status("OST0001", {"pages": 256.0}, {"read.bytes": float("nan")}, void="the clock"),
        ),
        tallies=Tallies(
            knob_changes={("scratch", "OST0000", "pages"): 7, ("scratch", "OST00ff", "pages"): 1},
            changes={"try": 5, "guard.revert": 2},
            refusals={"dwell": 40},
            voids={"restarted": 1},
            guarded_now={"breaker": 1},
        ),
    )
