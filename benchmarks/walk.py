"""Counts the functions between a kernel file and a knob: how many a reader passes who follows one figure through.

One target of a plain tree in a client's layout is tuned in virtual time until a knob moves. In that interval the
call stack is taken wherever the figure changes its form: a snapshot, a window, measures, an outlook, a proposal, a
decision, the journal's write and the knob's. The walk is every function of ours
on any of these stacks, each counted once.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

import penstock

HOME = str(Path(penstock.__file__).parent)
OSC = "lustre-OST0000-osc-ff1100010179b000"
FORMS = ("TargetSnapshot", "Window", "Outlook", "Proposal", "Decision")
STEPS = ("measure", "row_features", "outlooks", "propose", "review", "space_of", "_write_beside", "write")
STATS = "snapshot_time {t} secs.nsecs\nstart_time 1.0 secs.nsecs\n"
ROWS = "read_bytes {n} samples [bytes] 1 1 {moved} 1\nost_read {n} samples [usecs] 1 1 {usec} 1\n"


class Walk:
    """A profiler that remembers who was on the stack at the places that count."""

    def __init__(self) -> None:
        self.passed: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, arg: object) -> None:
        if event != "call":
            return
        code = frame.f_code
        made = code.co_name == "__init__" and type(frame.f_locals.get("self")).__name__ in FORMS
        if not made and not (code.co_name in STEPS and code.co_filename.startswith(HOME)):
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
    from penstock.actuate.journal import Journal, owner_of
    from penstock.actuate.lustre import LustreActuator
    from penstock.agent.loop import Loop
    from penstock.evaluate.tuners import make_guard, make_tuner
    from penstock.observe.collector import LustreObserver
    from penstock.ports import Ports
    from penstock.units import GIB

    clock, actuator = Clock(), LustreActuator(root, Journal(state, owner_of(root)))
    ports = Ports(clock, LustreObserver(root, peek=True, clock=clock.now), actuator)
    # As an agent, which always runs its guard.
    loop = Loop(ports, make_tuner(policy, 1, 4 * GIB), 0.5, make_guard(policy, 1, True))
    seen = Walk()
    threading.setprofile(seen)
    for interval in range(400):
        clock.sleep_until(clock.now() + 0.5)
        work(root, clock.now(), 1 + 1000 * interval)
        seen.passed.clear()
        sys.setprofile(seen)
        steps = loop.tick()
        sys.setprofile(None)
        if any(step.receipt is not None and step.receipt.error is None for step in steps):
            return list(seen.passed)
    return []


def main() -> None:
    policy = sys.argv[1] if len(sys.argv) > 1 else "weir"
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        write_tree(root)
        passed = walk(policy, root, Path(place) / "state")
    print(*passed, sep="\n")
    print(f"walk: {policy}: {len(passed)} functions from the kernel's file to the knob")
    sys.exit(not passed)


if __name__ == "__main__":
    main()
