"""What starting the agent costs: CPU seconds from exec to the first counters read, and to the first window.

The agent runs on a plain tree in a 2.15 client's layout. A watch on the counters' file sees it read; what the
process and its threads had used until then is the kernel's own account. Nothing of the agent takes part in the
measurement, so any version can be measured: `--python` names the interpreter of another environment.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import select
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.rigs.served import served

from penstock.decide.policies import POLICY_NAMES

_IN_ACCESS = 1
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """User and system time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def measure(python: str, policy: str, root: Path) -> tuple[float, float]:
    """CPU seconds at the first read of a target's counters and at the second, which makes the first window."""
    libc = ctypes.CDLL(None, use_errno=True)
    watch = libc.inotify_init1(os.O_NONBLOCK)
    stats = next(root.glob("proc/fs/lustre/osc/*-OST0000-*/stats"), None) or next(
        root.glob("sys/kernel/debug/lustre/osc/*-OST0000-*/stats")
    )
    libc.inotify_add_watch(watch, os.fsencode(stats), _IN_ACCESS)
    with tempfile.TemporaryDirectory() as state:
        command = [
            python,
            "-m",
            "penstock",
            "agent",
            "run",
            "--root",
            str(root),
            "--state-dir",
            f"{state}/agent",
        ]
        with subprocess.Popen(
            [*command, "--policy", policy, "--interval", "1s"], stderr=subprocess.DEVNULL
        ) as agent:
            try:
                seen = [_next_read(watch, agent.pid) for _ in range(2)]
            finally:
                agent.terminate()
                agent.wait()
    os.close(watch)
    return seen[0], seen[1]


def _next_read(watch: int, pid: int) -> float:
    """The CPU time at the next read that comes at least half an interval after the last one."""
    if not select.select([watch], [], [], 120)[0]:
        raise TimeoutError("the agent never read the counters")
    used = cpu_s(pid)
    while select.select([watch], [], [], 0.4)[0]:
        os.read(watch, 65536)
    return used


def main() -> None:
    """Print a line per policy: the median of several starts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", action="append", choices=POLICY_NAMES)
    parser.add_argument("--python", default=sys.executable, help="Interpreter of the environment to measure.")
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--targets", type=int, default=8)
    asked = parser.parse_args()
    print(f"{'policy':<16}{'first look':>12}{'first window':>14}   CPU s, median of {asked.starts}")
    with (
        tempfile.TemporaryDirectory() as directory,
        served(Path(directory), layout="2.15", osts=asked.targets, plain=True) as client,
    ):
        for policy in asked.policy or POLICY_NAMES:
            runs = [measure(asked.python, policy, client.root) for _ in range(asked.starts)]
            look, window = (statistics.median(column) for column in zip(*runs, strict=True))
            print(f"{policy:<16}{look:>12.2f}{window:>14.2f}", flush=True)


if __name__ == "__main__":
    main()
