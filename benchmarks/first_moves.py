"""What the first move from the default setting brings in the simulated twins of the slow system.

usage: python benchmarks/first_moves.py [--policy weir] [--seeds 10] [--seconds 60] [--cluster emulated-10ms ...]
       [--only rr_1m_4 ...]

The recorded workloads without an end (`endless_script`), guarded as the agent is. Each run has two twins that are
equal to it until the first move: one stays at the default, the other holds the setting moved to. What applications
get in the next 10 s is compared with the first twin: `tuned` is what the tuner brings (who may be back after a
second), `held` what the setting itself brings. A move is a loss if `tuned` is below .97: of 40 pairs of runs that
differed by one more look at the counters 3 were below (.91 for the mixed workload, .966 and .969), so chance alone
makes a loss now and then. A run without a move loses nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from benchmarks.held import endless_script

from penstock.evaluate.drivers import Course, Decided, Loops
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.tuners import shipped_policy
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation

CLUSTERS = ("emulated-10ms", "emulated-2ms")
WORKLOADS = (
    "rr_1m_4", "rr_64k_16", "sr_1m_1", "sr_64k_1", "sw_1m_1", "rw_1m_4", "rw_64k_4", "mix_rr_sw_1m"
)  # fmt: skip
DEFAULT = Setting(pages=1024, flight=8, dirty=256)
WARMUP_S = 5.0
JUDGED_S = 10.0
LOSS = 0.97


@dataclass(frozen=True, slots=True)
class FirstMove:
    """One run: the first change, if there was one, and what followed, of what the default brings meanwhile."""

    cluster: str
    workload: str
    seed: int
    decided: Decided | None = None
    tuned: float = 1.0
    held: float = 1.0

    @property
    def loses(self) -> bool:
        return self.tuned < LOSS

    @property
    def place(self) -> str:
        """Where it went, in words."""
        wanted = {**DEFAULT, **(self.decided.wanted if self.decided is not None else {})}
        return f"{wanted['pages']} x {wanted['flight']}"


def first_move(cluster: str, workload: str, seed: int, policy: str, seconds: float) -> FirstMove:
    """Run the policy until it moves, then it and its two twins for 10 s more."""
    plan = Plan(builtin_cluster(cluster), (), 1, seed, scripts=(endless_script(workload, seed),))
    simulation, stays, holds = (Simulation(plan) for _ in range(3))
    simulation.set_all(DEFAULT)
    simulation.run_until(WARMUP_S)
    driver = Loops(simulation, Course(seconds, WARMUP_S, policy=policy))
    while simulation.now_s < WARMUP_S + seconds:
        stays.become(simulation)
        driver.advance()
        moved = next((each for each in driver.decided if {"pages", "flight"} & set(each.wanted)), None)
        if moved is not None:
            _pass(stays)
            holds.become(stays)
            holds.set_all(holds.setting(0).replace(moved.wanted))
            tuned, usual, held = (
                _gets(each, advance)
                for each, advance in (
                    (simulation, driver.advance),
                    (stays, partial(_pass, stays)),
                    (holds, partial(_pass, holds)),
                )
            )
            return FirstMove(cluster, workload, seed, moved, tuned / usual, held / usual)
    return FirstMove(cluster, workload, seed)


def _pass(simulation: Simulation) -> None:
    """One interval with a look at its end, which takes the client's time as the agent's look does."""
    simulation.run_until(simulation.now_s + INTERVAL_S)
    simulation.look(0)


def _gets(simulation: Simulation, advance: Callable[[], object]) -> float:
    """The bytes that applications get in the next 10 s."""
    before, end_s = simulation.totals().app_bytes, simulation.now_s + JUDGED_S
    while simulation.now_s < end_s - INTERVAL_S / 2:
        advance()
    return simulation.totals().app_bytes - before


def line(found: FirstMove) -> str:
    """One run in words."""
    start = f"{found.cluster:14} {found.workload:13} {found.seed:3d}"
    if found.decided is None:
        return f"{start}  none"
    sure = "" if found.decided.confidence is None else f", chance {found.decided.confidence:.2f}"
    return (
        f"{start}  {found.place:9}  after {found.decided.t_s - WARMUP_S:4.1f} s  "
        f"tuned {found.tuned:.3f}  held {found.held:.3f}  {found.decided.reason}{sure}"
    )


def summary(found: Sequence[FirstMove]) -> Iterator[str]:
    """A Markdown table with a row for each cluster and workload, and the count that the goal is about."""
    yield "| cluster | workload | runs | moved | losses | next 10 s tuned, mean (least) | held, mean | first moves |"
    yield "|---" * 8 + "|"
    for key in dict.fromkeys((each.cluster, each.workload) for each in found):
        mine = [each for each in found if (each.cluster, each.workload) == key]
        moved = [each for each in mine if each.decided is not None]
        losses = sum(each.loses for each in mine)
        moves = Counter(each.place for each in moved)
        words = ", ".join(f"{move} ({count})" for move, count in moves.most_common())
        tuned = f"{fmean(m.tuned for m in moved):.3f} ({min(m.tuned for m in moved):.3f})" if moved else ""
        held = f"{fmean(m.held for m in moved):.3f}" if moved else ""
        yield f"| {' | '.join(key)} | {len(mine)} | {len(moved)} | {losses} | {tuned} | {held} | {words} |"
    yield ""
    good = sum(not each.loses for each in found)
    yield f"no loss in {good} of {len(found)} runs ({good / len(found):.0%}; the goal is 90 %)"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--policy", default=shipped_policy())
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to wait for a move")
    parser.add_argument("--cluster", nargs="+", choices=CLUSTERS, default=list(CLUSTERS))
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    chosen = parser.parse_args()
    found = []
    for cluster in chosen.cluster:
        for workload in chosen.only:
            for seed in range(chosen.seeds):
                found.append(first_move(cluster, workload, seed, chosen.policy, chosen.seconds))
                print(line(found[-1]), file=sys.stderr, flush=True)
    print("\n".join(summary(found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
