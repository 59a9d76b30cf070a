"""What tuning one OSC costs, in the three columns of CARAT's Table VIII: snapshot, inference, end to end.

usage: ./run bench overhead [--passes 40] [--write]

Plain files in a 2.15 client's layout, eight OSCs that read or write; CPU time of the loop, divided by the OSCs. A
snapshot is reading and parsing all counters of an OSC; inference is the probabilities of all 99 candidates; end to
end is everything after the snapshot: windows, inference, choice, guard, journal and writes. The first third of the
passes is left out. `--write` leaves docs/explanation/cost/overhead.json and the table in cost.md.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.agent import predictor_of
from benchmarks.made_part import replace_part
from benchmarks.plain_tree import Tree

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.agent.clock import MonotonicClock
from penstock.agent.footprint import settling
from penstock.agent.loop import Loop
from penstock.agent.plugins import find_policy
from penstock.decide.budget import CacheBudget
from penstock.decide.guard import Guard, GuardLimits
from penstock.decide.tuner import Tuner
from penstock.decision import Outlook
from penstock.knobs import Candidates
from penstock.observe.collector import LustreObserver
from penstock.ports import Ports, Predictor
from penstock.snapshot import NodeSnapshot
from penstock.window import Window

DOCS = Path(__file__).parent.parent / "docs" / "explanation"
PAGE, FIGURES = DOCS / "cost.md", DOCS / "cost" / "overhead.json"
OSCS = 8
POLICIES = ("carat", "weir")
COLUMNS = ("snapshot", "inference", "end_to_end")
#: CARAT, Table VIII, and DIAL, Table III: milliseconds an OSC.
PAPER_MS = {"read": (0.33, 10.06, 24.64), "write": (0.85, 13.51, 28.82)}


@dataclass(slots=True)
class Stopwatch:
    """CPU seconds spent in something, pass by pass."""

    spent_s: float = 0.0
    passes_s: list[float] = field(default_factory=list)

    def measure(self, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        try:
            return work()
        finally:
            self.spent_s += time.process_time() - started

    def lap(self) -> None:
        self.passes_s.append(self.spent_s)
        self.spent_s = 0.0

    def ms_per_osc(self) -> float:
        """The mean over the last two thirds of the passes."""
        return 1e3 * statistics.fmean(self.passes_s[len(self.passes_s) // 3 :]) / OSCS


@dataclass(slots=True)
class TimedObserver:
    """An observer whose work is timed."""

    inner: LustreObserver
    watch: Stopwatch

    def observe(self) -> NodeSnapshot:
        found: NodeSnapshot = self.watch.measure(self.inner.observe)
        return found


@dataclass(slots=True)
class TimedPredictor:
    """A predictor whose work is timed."""

    inner: Predictor
    watch: Stopwatch

    @property
    def history(self) -> int:
        return self.inner.history

    @property
    def digest(self) -> str:
        return self.inner.digest

    @property
    def spaces(self) -> Collection[str]:
        return self.inner.spaces

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> Sequence[Outlook]:
        found: Sequence[Outlook] = self.watch.measure(
            lambda: self.inner.outlooks(direction, histories, candidates)
        )
        return found


def measure(policy: str, direction: str, passes: int) -> dict[str, float]:
    """The three columns of one policy and direction, in CPU milliseconds an OSC."""
    watches = {name: Stopwatch() for name in COLUMNS}
    with tempfile.TemporaryDirectory() as directory:
        root, state = Path(directory) / "root", Path(directory) / "state"
        state.mkdir()
        tree = Tree(root, OSCS, direction=direction)
        (root / "proc").mkdir(exist_ok=True)
        (root / "proc/meminfo").write_text("MemTotal: 201326592 kB\nMemAvailable: 150000000 kB\n")
        observer = LustreObserver(root, peek=True)
        inner = predictor_of(policy)
        predictor = None if inner is None else TimedPredictor(inner, watches["inference"])
        loop = Loop(
            Ports(
                MonotonicClock(),
                TimedObserver(observer, watches["snapshot"]),
                LustreActuator(root, Journal(state, owner_of(root))),
            ),
            Tuner(find_policy(policy), 0, predictor, CacheBudget(40000)),
            0.5,
            Guard(GuardLimits(), 0),
        )
        loop.tick()
        list(settling(inner, [space.candidates() for space in loop.spaces_in_scope()]))
        for _ in range(passes):
            tree.move_on()
            watches["end_to_end"].measure(loop.tick)
            watches["end_to_end"].spent_s -= watches["snapshot"].spent_s
            for watch in watches.values():
                watch.lap()
        observer.close()
    return {name: watch.ms_per_osc() for name, watch in watches.items()}


def table(rows: dict[str, dict[str, dict[str, float]]]) -> str:
    lines = ["| | operation | snapshot, ms | inference, ms | end to end, ms |", "|---|---|---|---|---|"]
    for direction, said in PAPER_MS.items():
        lines.append(f"| *CARAT, DIAL: their hardware* | {direction} | " + " | ".join(map(str, said)) + " |")
    for policy, each in rows.items():
        for direction, found in each.items():
            cells = " | ".join(f"{found[name]:.3f}" for name in COLUMNS)
            lines.append(f"| `{policy}` | {direction} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--passes", type=int, default=40)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    rows = {
        policy: {direction: measure(policy, direction, given.passes) for direction in PAPER_MS}
        for policy in POLICIES
    }
    print(table(rows))
    if given.write:
        FIGURES.parent.mkdir(exist_ok=True)
        rounded = {
            policy: {
                direction: {name: round(ms, 4) for name, ms in found.items()}
                for direction, found in each.items()
            }
            for policy, each in rows.items()
        }
        FIGURES.write_text(json.dumps({"oscs": OSCS, "rows": rounded}, indent=1) + "\n", encoding="utf-8")
        replace_part(PAGE, "overhead", table(rows))


if __name__ == "__main__":
    main()
