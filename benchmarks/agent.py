"""What the agent costs on a client of a large system: CPU per interval and memory, with few or all targets busy.

Plain files in the layout of a 2.15 client. Each case runs in a process of its own, as an agent would; only the
loop's own work is counted, not that of moving the counters on. Beside it, the papers' cost per OSC (CARAT,
section IV: 24.64 ms for reads, 28.82 ms for writes, end to end).

    ./run bench agent [--json] [--metadata BUSY]
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
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from benchmarks.plain_tree import Tree

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.agent.footprint import page_out_compiler, settling
from penstock.agent.loop import Loop
from penstock.agent.plugins import find_policy
from penstock.decide.budget import CacheBudget
from penstock.decide.guard import Guard, GuardLimits
from penstock.decide.tuner import Tuner
from penstock.errors import PenstockError
from penstock.knobs.target_kind import DATA, METADATA
from penstock.observe.collector import LustreObserver
from penstock.ports import Ports, Predictor

INTERVAL_S = 0.5
# A file that is cut and written again is flushed when it is closed: 3,000 of them take a busy disk minutes.
IN_MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
PAPER_MS = (24.64, 28.82)


class Node(NamedTuple):
    """How many OSCs a client has, how many of them are busy, who tunes, and busy connections to metadata servers."""

    oscs: int
    busy: int
    policy: str
    mdcs: int = 0


CASES = (
    *(Node(oscs, oscs, "dial") for oscs in (126, 252, 504, 1008)),
    Node(1008, 64, "dial"),
    Node(1008, 1008, "weir"),
    Node(1008, 64, "weir"),
)
MDCS = 4
WITHOUT_NUMBA = (Node(1008, 64, "dial"),)


@dataclass(slots=True)
class PassClock:
    """A clock that goes on by an interval a pass, however fast passes follow each other."""

    now_s: float = 0.0

    def now(self) -> float:
        return self.now_s

    def sleep_until(self, t_s: float) -> None:
        self.now_s = t_s


class Agent:
    """The loop of an agent beside a client of its own, below a directory. It tunes metadata too, if `metadata`."""

    def __init__(self, directory: Path, node: Node, *, metadata: bool = False) -> None:
        root, state = directory / "root", directory / "state"
        state.mkdir(parents=True)
        self.move_on = _client(root, node)
        (root / "proc/meminfo").write_text("MemTotal: 201326592 kB\nMemAvailable: 150000000 kB\n")
        sections = frozenset({DATA, METADATA} if metadata else {DATA})
        self.clock = PassClock()
        self.observer = LustreObserver(root, peek=True, clock=self.clock.now)
        self.observer.kinds = sections
        actuator = NodeActuator(root, Journal(state, owner_of(root)), Reach(sections=sections))
        predictor = predictor_of(node.policy)
        self.loop = Loop(
            Ports(self.clock, self.observer, actuator),
            Tuner(find_policy(node.policy), 0, predictor, CacheBudget(40000)),
            INTERVAL_S,
            Guard(GuardLimits(), 0),
        )
        self.loop.tick()
        list(settling(predictor, [space.candidates() for space in self.loop.spaces_in_scope()]))
        self.cpu_ms: list[float] = []

    def tick(self) -> None:
        """One interval, timed."""
        self.move_on()
        self.clock.now_s += INTERVAL_S
        start_s = time.process_time()
        self.loop.tick()
        self.cpu_ms.append(1e3 * (time.process_time() - start_s))

    @property
    def median_ms(self) -> float:
        """The median without the first third."""
        return statistics.median(self.cpu_ms[len(self.cpu_ms) // 3 :])


def case(node: Node, passes: int) -> dict[str, float | str]:
    """One configuration, measured in this process."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
        agent = Agent(Path(directory), node, metadata=node.mdcs > 0)
        page_out_compiler()
        for _ in range(passes):
            agent.tick()
        agent.observer.close()
    median = agent.median_ms
    return {
        **node._asdict(),
        "numba": "no" if os.environ.get("PENSTOCK_NUMPY") or find_spec("numba") is None else "yes",
        "tick_ms": median,
        "longest_ms": max(agent.cpu_ms[1:], default=0.0),
        "core_percent": median / (10 * INTERVAL_S),
        "us_per_busy_target": 1e3 * median / node.busy,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def metadata_ratio(oscs: int, busy: int, passes: int) -> float:
    """What tuning four metadata servers' connections too costs, relative to without, on equal clients.

    Two agents take turns.
    """
    with tempfile.TemporaryDirectory(dir=IN_MEMORY) as directory:
        node = Node(oscs, busy, "weir", MDCS)
        agents = [Agent(Path(directory) / str(both), node, metadata=both) for both in (False, True)]
        for number in range(passes):
            for agent in agents[:: 1 if number % 2 else -1]:
                agent.tick()
        for agent in agents:
            agent.observer.close()
    without, both = agents
    return both.median_ms / without.median_ms


def _client(root: Path, node: Node) -> Callable[[], None]:
    """A client in a process of its own, whose memory is not the agent's; returns what moves it on.

    Where that process fails, its answer ends: an error instead of waiting for ever.
    """
    ask_read, ask_write = os.pipe()
    done_read, done_write = os.pipe()
    if os.fork() == 0:
        os.close(ask_write)
        try:
            tree = Tree(root, node.oscs, node.busy, mdcs=node.mdcs)
            os.write(done_write, b".")
            while os.read(ask_read, 1):
                tree.move_on()
                os.write(done_write, b".")
        except Exception:  # noqa: BLE001 - said here, and told by the pipe that ends
            traceback.print_exc()
        os._exit(0)
    os.close(ask_read)
    os.close(done_write)

    def wait() -> None:
        if not os.read(done_read, 1):
            raise PenstockError("the client's process ended")

    def move_on() -> None:
        os.write(ask_write, b".")
        wait()

    wait()
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
    parser.add_argument("--case", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--metadata", type=int, metavar="BUSY", help="what 4 MDCs add with so many busy OSCs")
    options = parser.parse_args()
    if options.metadata:
        print(f"{metadata_ratio(1008, options.metadata, options.passes):.3f}")
        return
    if options.case:
        oscs, busy, policy, mdcs = options.case
        node = Node(int(oscs), int(busy), policy, int(mdcs))
        print(json.dumps(case(node, options.passes)))
        return
    rows = []
    for numpy_only in (False, True):
        for node in WITHOUT_NUMBA if numpy_only else CASES:
            rows.append(apart(node, options.passes, numpy_only=numpy_only))
    if options.json:
        print(json.dumps({"rows": rows, "paper_ms_per_osc": PAPER_MS}, indent=2))
        return
    print(
        f"{'OSCs':>6} {'MDCs':>6} {'busy':>6} {'policy':>6} {'numba':>6} {'ms/tick':>9} {'longest':>9} {'% core':>8} "
        f"{'us/busy':>9} {'RSS MB':>8}"
    )
    for row in rows:
        print(
            f"{row['oscs']:6} {row['mdcs']:6} {row['busy']:6} {row['policy']:>6} {row['numba']:>6} "
            f"{row['tick_ms']:9.1f} {row['longest_ms']:9.1f} {row['core_percent']:8.1f} "
            f"{row['us_per_busy_target']:9.1f} {row['rss_mb']:8.0f}"
        )
    print(
        f"the papers' cost per OSC: {PAPER_MS[0] * 1000:.0f} us for reads, {PAPER_MS[1] * 1000:.0f} us for writes"
    )


def apart(node: Node, passes: int, *, numpy_only: bool = False) -> dict[str, float]:
    """One configuration in a process of its own, as an agent would be."""
    command = [sys.executable, "-m", "benchmarks.agent", "--passes", str(passes)]
    command += ["--case", *map(str, node)]
    # As `penstock agent run` sets it.
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment = {**one_thread, **({"PENSTOCK_NUMPY": "1"} if numpy_only else {})}
    found: dict[str, float] = json.loads(subprocess.check_output(command, env=environment, text=True))
    return found


if __name__ == "__main__":
    main()
