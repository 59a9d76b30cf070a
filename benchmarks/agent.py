"""What the agent costs on a client of a large system: CPU per interval and memory, with few or all targets busy.

Plain files in the layout of a 2.15 client. Each case runs in a process of its own, as an agent would; only the
loop's own work is counted, not that of moving the counters on. Beside it, the papers' cost per OSC (CARAT,
section IV: 24.64 ms for reads, 28.82 ms for writes, end to end).

    ./run bench agent [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from benchmarks.plain_tree import Tree

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.agent.clock import MonotonicClock
from penstock.agent.footprint import page_out_compiler, settling
from penstock.agent.loop import Loop
from penstock.agent.plugins import find_policy
from penstock.decide.budget import CacheBudget
from penstock.decide.guard import Guard, GuardLimits
from penstock.decide.tuner import Tuner
from penstock.observe.collector import LustreObserver
from penstock.ports import Ports, Predictor

INTERVAL_S = 0.5
PAPER_MS = (24.64, 28.82)
CASES = (
    *((oscs, oscs, "dial") for oscs in (126, 252, 504, 1008)),
    (1008, 64, "dial"),
    (1008, 1008, "weir"),
    (1008, 64, "weir"),
)
WITHOUT_NUMBA = ((1008, 64, "dial"),)


def case(oscs: int, busy: int, policy: str, passes: int) -> dict[str, float | str]:
    """One configuration, measured in this process."""
    with tempfile.TemporaryDirectory() as directory:
        root, state = Path(directory) / "root", Path(directory) / "state"
        state.mkdir()
        move_on = _client(root, oscs, busy)
        (root / "proc/meminfo").write_text("MemTotal: 201326592 kB\nMemAvailable: 150000000 kB\n")
        observer = LustreObserver(root, peek=True)
        actuator = LustreActuator(root, Journal(state, owner_of(root)))
        predictor = predictor_of(policy)
        loop = Loop(
            Ports(MonotonicClock(), observer, actuator),
            Tuner(find_policy(policy), 0, predictor, CacheBudget(40000)),
            INTERVAL_S,
            Guard(GuardLimits(), 0),
        )
        loop.tick()
        list(settling(predictor, [space.candidates() for space in loop.spaces_in_scope()]))
        page_out_compiler()
        cpu_ms: list[float] = []
        for _ in range(passes):
            move_on()
            start_s = time.process_time()
            loop.tick()
            cpu_ms.append(1e3 * (time.process_time() - start_s))
        observer.close()
    median = statistics.median(cpu_ms[passes // 3 :])
    return {
        "oscs": oscs,
        "busy": busy,
        "policy": policy,
        "numba": "no" if os.environ.get("PENSTOCK_NUMPY") or find_spec("numba") is None else "yes",
        "tick_ms": median,
        "longest_ms": max(cpu_ms[1:], default=0.0),
        "core_percent": median / (10 * INTERVAL_S),
        "us_per_busy_target": 1e3 * median / busy,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _client(root: Path, oscs: int, busy: int) -> Callable[[], None]:
    """A client in a process of its own, whose memory is not the agent's; returns what moves it on."""
    ask_read, ask_write = os.pipe()
    done_read, done_write = os.pipe()
    if os.fork() == 0:
        os.close(ask_write)
        tree = Tree(root, oscs, busy)
        os.write(done_write, b".")
        while os.read(ask_read, 1):
            tree.move_on()
            os.write(done_write, b".")
        os._exit(0)
    os.close(ask_read)
    os.read(done_read, 1)

    def move_on() -> None:
        os.write(ask_write, b".")
        os.read(done_read, 1)

    return move_on


def predictor_of(policy: str) -> Predictor | None:
    """The model that a policy asks, as it ships."""
    made = find_policy(policy)
    if not made.uses_model:
        return None
    from penstock.predict.kinds import default_predictor
    from penstock.predict.model import ForestPredictor

    predictor = default_predictor(made.model_kind)
    if isinstance(predictor, ForestPredictor) and os.environ.get("PENSTOCK_NUMPY"):
        predictor.compiled_walk = False
    return predictor


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passes", type=int, default=30)
    parser.add_argument("--case", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.case:
        oscs, busy, policy = options.case
        print(json.dumps(case(int(oscs), int(busy), policy, options.passes)))
        return
    rows = []
    for numpy_only in (False, True):
        for oscs, busy, policy in WITHOUT_NUMBA if numpy_only else CASES:
            rows.append(apart(oscs, busy, policy, options.passes, numpy_only=numpy_only))
    if options.json:
        print(json.dumps({"rows": rows, "paper_ms_per_osc": PAPER_MS}, indent=2))
        return
    print(
        f"{'OSCs':>6} {'busy':>6} {'policy':>6} {'numba':>6} {'ms/tick':>9} {'longest':>9} {'% core':>8} "
        f"{'us/busy':>9} {'RSS MB':>8}"
    )
    for row in rows:
        print(
            f"{row['oscs']:6} {row['busy']:6} {row['policy']:>6} {row['numba']:>6} {row['tick_ms']:9.1f} "
            f"{row['longest_ms']:9.1f} {row['core_percent']:8.1f} {row['us_per_busy_target']:9.1f} "
            f"{row['rss_mb']:8.0f}"
        )
    print(
        f"the papers' cost per OSC: {PAPER_MS[0] * 1000:.0f} us for reads, {PAPER_MS[1] * 1000:.0f} us for writes"
    )


def apart(oscs: int, busy: int, policy: str, passes: int, *, numpy_only: bool = False) -> dict[str, float]:
    """One configuration in a process of its own, as an agent would be."""
    command = [sys.executable, "-m", "benchmarks.agent", "--passes", str(passes)]
    command += ["--case", str(oscs), str(busy), policy]
    # As `penstock agent run` sets it.
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment = {**one_thread, **({"PENSTOCK_NUMPY": "1"} if numpy_only else {})}
    found: dict[str, float] = json.loads(subprocess.check_output(command, env=environment, text=True))
    return found


if __name__ == "__main__":
    main()
