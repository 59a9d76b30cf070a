"""Counts the functions that a reader passes who follows one figure through: to the knob, or to the page.

usage: ./run bench walk [POLICY]    from a kernel file to a knob
       ./run bench walk --offline   from a workload's name to the report of an experiment

A real agent tunes one target of a plain tree in a client's layout, in virtual time, until a knob moves. In that
interval the call stack is taken wherever the figure is read or written or changes its form: a text, a snapshot, a
window, what the guard and the policy's belief record of it, a prospect, a proposal, a decision, the log's line, the
journal's write and the knob's. The walk is every function of ours on any of these stacks, each counted once. Offline
the forms are a plan, a trial, a simulation, its figures, a contest, a section and the page.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

import penstock

HOME = str(Path(penstock.__file__).parent)
OSC = "lustre-OST0000-osc-ff1100010179b000"
ONLINE_FORMS = (
    "TargetSnapshot",
    "Window",
    "Belief",
    "Prospect",
    "Outlook",
    "Proposal",
    "Decision",
    "DecisionEvent",
    "Receipt",
)
ONLINE_STEPS = (
    "KernelFile.read",
    "Level.take",
    "Measured.take",
    "Knowledge.believe",
    "row_features",
    "WeirPolicy.propose",
    "Guard.review",
    "RotatedFile.append",
    "Journal._write_beside",
    "System.write",
    "KnobFiles.write",
)
OFFLINE_FORMS = ("Plan", "Trial", "Simulation", "Run", "Measured", "Contest", "Section")
OFFLINE_STEPS = ("Simulation.run_until", "render")
WORKLOAD = "s_rd_rn_1m"
STATS = "snapshot_time {t} secs.nsecs\nstart_time 1.0 secs.nsecs\n"
ROWS = "read_bytes {n} samples [bytes] 1 1 {moved} 1\nost_read {n} samples [usecs] 1 1 {usec} 1\n"


class Walk:
    """A profiler that remembers who was on the stack where a form was made or a step was called."""

    def __init__(self, forms: Collection[str], steps: Collection[str]) -> None:
        self.forms, self.steps = forms, steps
        self.passed: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        made = code.co_name == "__init__" and type(frame.f_locals.get("self")).__name__ in self.forms
        if not made and not (code.co_qualname in self.steps and code.co_filename.startswith(HOME)):
            return
        stack: list[str] = []
        at: FrameType | None = frame
        while at is not None:
            name = at.f_code.co_qualname
            if at.f_code.co_filename.startswith(HOME) and "<" not in name.rsplit(".", 1)[-1]:
                stack.append(f"{at.f_code.co_filename[len(HOME) + 1 :]} {name}")
            at = at.f_back
        self.passed.update(dict.fromkeys(reversed(stack)))


class Clock:
    """Virtual time."""

    def __init__(self) -> None:
        self._now_s = 1000.0

    def now(self) -> float:
        return self._now_s

    def sleep_until(self, t_s: float) -> None:
        self._now_s = t_s


def write_tree(root: Path) -> None:
    files = {
        "proc/fs/lustre/osc/{}/max_pages_per_rpc": "1024\n",
        "sys/fs/lustre/osc/{}/max_rpcs_in_flight": "8\n",
        "sys/fs/lustre/osc/{}/max_dirty_mb": "490\n",
        "sys/fs/lustre/osc/{}/cur_dirty_bytes": "0\n",
        "proc/fs/lustre/osc/{}/cur_grant_bytes": "1000\n",
        "sys/fs/lustre/osc/{}/active": "1\n",
        "proc/fs/lustre/osc/{}/import": "import:\n    state: FULL\n    generation: 1\n",
        "proc/meminfo": "MemTotal:        4007120 kB\nMemAvailable:    3007120 kB\n",
    }
    for place, text in files.items():
        path = root / place.format(OSC)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def work(root: Path, now_s: float, requests: int) -> None:
    """Random reads of 1 MiB, 2 ms each, and readahead of which half is wanted."""
    moved = requests << 20
    for place, asked in ((f"osc/{OSC}", moved), ("llite/lustre-ff1100010179b000", moved // 2)):
        path = root / "sys/kernel/debug/lustre" / place / "stats"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(STATS.format(t=now_s) + ROWS.format(n=requests, moved=asked, usec=requests * 2000))


def walk(policy: str, root: Path, state: Path) -> list[str]:
    """The functions passed in the first interval in which the policy moves a knob; empty where it never does."""
    from penstock.agent.service import Agent
    from penstock.agent.settings import AgentConfig, Mode
    from penstock.agent.startup import Places
    from penstock.evaluate.tuners import find_policy, make_guard, make_tuner
    from penstock.observe.collector import LustreObserver
    from penstock.units import GIB

    clock = Clock()
    agent = Agent(AgentConfig(mode=Mode.TUNE), Places(root, state), find_policy(policy))
    observer = LustreObserver(root, peek=True, clock=clock.now)
    agent.loop.ports = replace(agent.loop.ports, clock=clock, observer=observer)
    # With a seed of its own choice no two walks would be alike.
    agent.loop.tuner, agent.loop.guard = make_tuner(policy, 1, 4 * GIB), make_guard(policy, 1, True)
    seen = Walk(ONLINE_FORMS, ONLINE_STEPS)
    threading.setprofile(seen)
    for interval in range(400):
        clock.sleep_until(clock.now() + 0.5)
        work(root, clock.now(), 1 + 1000 * interval)
        seen.passed.clear()
        sys.setprofile(seen)
        agent.tick()
        sys.setprofile(None)
        if agent.ledger.changes:
            return list(seen.passed)
    return []


def publish(policy: str, out: Path) -> list[str]:
    """The functions passed from the name of a workload to the report of its experiment."""
    from penstock.evaluate import static
    from penstock.evaluate.lab import Lab
    from penstock.evaluate.report import write
    from penstock.evaluate.request import Request
    from penstock.evaluate.store import Store
    from penstock.simulate.cluster import builtin_cluster

    request = Request((policy,), 1.0, cluster=builtin_cluster("c220g5"), only=(WORKLOAD,))
    seen = Walk(OFFLINE_FORMS, OFFLINE_STEPS)
    sys.setprofile(seen)
    try:
        with Lab(Store(None), workers=1) as lab:
            write([{**static.evaluate(lab, request), "role": "static"}], out)
    finally:
        sys.setprofile(None)
    return list(seen.passed)


def rooms(passed: list[str]) -> Iterator[str]:
    """How many of the functions each room has, in the order in which the figure comes to them."""
    for room, count in Counter(each.partition(" ")[0].partition("/")[0] for each in passed).items():
        yield f"{room} {count}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("policy", nargs="?", default="weir")
    parser.add_argument("--offline", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        if asked.offline:
            passed = publish("random", Path(place))
        else:
            write_tree(root)
            passed = walk(asked.policy, root, Path(place) / "state")
    print(*passed, sep="\n")
    print(f"walk: {len(passed)} functions: {', '.join(rooms(passed))}")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
