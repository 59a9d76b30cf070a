"""What the table of performance measures: each function answers some lines, with a baseline taken in the same run."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks import agent as agent_cost
from benchmarks import cluster_scale, herd, observe, schedule, simulator_speed

from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table. A goal is met by values at least, or at most, as large."""

    what: str
    value: float
    unit: str
    more_is_better: bool = True
    goal: float | None = None
    baseline: str = ""
    baseline_value: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is reached; None where there is none."""
        if self.goal is None:
            return None
        return self.value >= self.goal if self.more_is_better else self.value <= self.goal

    @property
    def ratio(self) -> float | None:
        """How many times better than the baseline; below 1 it is worse."""
        if not self.baseline_value:
            return None
        ratio = self.value / self.baseline_value
        return ratio if self.more_is_better else 1 / ratio


def simulator() -> list[Line]:
    """One client on 8 OSTs: the single-stream cells of the grid, every fortieth."""
    from penstock.knobs import Setting
    from penstock.spaces import LUSTRE
    from penstock.workload import SINGLE_STREAM

    cells = [(name, setting) for name in SINGLE_STREAM for setting in LUSTRE.candidates()][::40]
    speeds = [1 / simulator_speed.cell(name, setting, 0.5)[0] for name, setting in cells]
    name, setting = "s_rd_rn_1m", Setting(pages=8, flight=32)
    slow = 1 / simulator_speed.uncompiled(name, setting, 0.05)
    one = 1 / simulator_speed.cell(name, setting, 5.0)[0]
    mean = math.exp(sum(map(math.log, speeds)) / len(speeds))
    unit = "simulated s per CPU s"
    return [
        Line(f"simulator, geometric mean of {len(cells)} cells", mean, unit),
        Line(
            "simulator, one cell, compiled", one, unit, baseline="the same, not compiled", baseline_value=slow
        ),
    ]


def large_clusters() -> list[Line]:
    """Many clients, and many OSTs: in one process, and in one process a core at the same time."""
    goals = {1: 150.0, 3: 150.0, 5: 30.0, 7: 30.0}
    cores = os.cpu_count() or 1
    unit = "simulated s per CPU s"
    lines = []
    for number, goal in goals.items():
        clients, osts, workload, _ = cluster_scale.CASES[number]
        what = f"simulator, {clients} clients x {osts} OSTs, {workload}"
        # The smaller worlds are so fast that 4 s of them could not be measured.
        seconds = 4.0 if osts > 100 else 20.0
        alone, *both = (
            sum(float(row["simulated_s_per_s"]) for row in cluster_scale.together(number, seconds, processes))
            for processes in sorted({1, cores})
        )
        lines.append(Line(f"{what}, one process", alone, unit, goal=goal))
        lines += [
            Line(f"{what}, {cores} processes, sum", total, unit, baseline="one process", baseline_value=alone)
            for total in both
        ]
    return lines


def scheduling() -> list[Line]:
    """Exact against stepped simulation; allocating 1,000 jobs on 1,008 OSTs."""
    from penstock.schedule.plan import allocate
    from penstock.schedule.setfile import parse_set

    case = schedule.scheduled(0)
    exact = schedule.best_of(5, *case, None)
    stepped = schedule.best_of(2, *case, 0.03125)
    rng = Random(1)
    running, _ = schedule.large_site()
    applications = [
        {
            "name": job.name,
            "compute_nodes": min(job.compute_nodes, 18),
            "bandwidth": {str(n): job.curve.at(n) for n in (1, 2, 4, 8, 16, 32)},
            "phases": [{"compute_s": job.compute_s, "io_bytes": job.io_bytes}],
        }
        for job in running
        if job.curve is not None
    ]
    text = json.dumps({"resources": 1008, "compute_nodes": 18688, "applications": applications})
    workload = parse_set(text, "large")
    spent = {}
    for name in ("balance", "tcpu"):
        began_s = time.process_time()
        allocate(workload, name, rng)
        spent[name] = time.process_time() - began_s
    return [
        Line("schedule, 60 applications played exactly", 1e3 * exact, "CPU ms", False, None,
             "in steps of 31 ms", 1e3 * stepped),
        Line("schedule, tcpu for 1,000 jobs x 1,008 OSTs", spent["tcpu"], "CPU s", False, 1.0,
             "balance", spent["balance"]),
    ]  # fmt: skip


def commands() -> list[Line]:
    """What typing a command costs before it does anything."""

    def cpu_s(*words: str) -> float:
        best = math.inf
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return 1e3 * best

    nothing = cpu_s("-c", "pass")
    return [
        Line(
            "import penstock",
            cpu_s("-c", "import penstock"),
            "CPU ms",
            False,
            100.0,
            "python -c pass",
            nothing,
        ),
        Line(
            "penstock --help",
            cpu_s("-m", "penstock", "--help"),
            "CPU ms",
            False,
            300.0,
            "python -c pass",
            nothing,
        ),
    ]


def looking() -> list[Line]:
    """One pass over all targets of a large client."""
    row = observe.measure(1008, 10)
    each = observe.lctl_ms_per_osc()
    peer = ("an lctl call for each, as captured", each * 1008) if each is not None else ("", None)
    return [
        Line("observe, 1,008 targets, all busy", row["pass_ms"], "CPU ms", False, observe.BUDGET_MS, *peer)
    ]


def agent() -> list[Line]:
    """The whole agent on a large client, guard and journal included."""
    goals = {1008: 30.0, 64: 10.0}
    lines = []
    for busy, goal in goals.items():
        command = [
            sys.executable,
            "-m",
            "benchmarks.agent",
            "--passes",
            "10",
            "--case",
            "1008",
            str(busy),
            "weir",
        ]
        row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        paper = 100 * agent_cost.PAPER_MS[0] * busy / 500
        lines.append(
            Line(f"agent, weir, 1,008 targets, {busy:,} busy", row["core_percent"], "% of a core", False, goal,
                 "CARAT, 24.64 ms an OSC as stated", paper)
        )  # fmt: skip
    return lines


def herding() -> list[Line]:
    """Forty clients that share 8 OSTs and all tune."""
    default, tuned = (herd.case(40, "f_rd_rn_1m", 20.0, who) for who in ((), None))
    return [
        Line("herd, 40 clients x 8 OSTs, all tune", tuned["app_mbps"], "MB/s", True, 0.97 * default["app_mbps"],
             "nobody tunes", default["app_mbps"])
    ]  # fmt: skip


def campaigns() -> list[Line]:
    """Shards of two simulations each, with everything around them, against the bare simulations."""
    from penstock.campaign.engines import LocalEngine
    from penstock.campaign.runner import run_campaign
    from penstock.campaign.spec import load_specification

    with tempfile.TemporaryDirectory() as place:
        spec = Path(place) / "spec.toml"
        table = 'workloads = ["s_rd_rn_1m"]\nseconds = 1\nwarmup = 0.5\nsettings_per_shard = 2\n'
        spec.write_text(f'kind = "surface"\nout = "out"\n[surface]\n{table}')
        asked = load_specification(spec)
        for shard in asked.shards[:2]:
            asked.kind.perform(shard.work)
        began_s = time.process_time()
        for shard in asked.shards:
            asked.kind.perform(shard.work)
        bare_s = time.process_time() - began_s
        standing = run_campaign(asked, LocalEngine(1, 0), lambda ledger: None)
        if standing.done != len(asked.shards):
            raise PenstockError("a shard failed")
    shards = len(asked.shards)
    return [
        Line(f"campaign, {shards} small shards on one process", 1e3 * standing.cpu_s / shards, "CPU ms a shard",
             False, None, "the bare simulations", 1e3 * bare_s / shards)
    ]  # fmt: skip


MEASURES: dict[str, Callable[[], list[Line]]] = {
    "simulator": simulator,
    "large-clusters": large_clusters,
    "schedule": scheduling,
    "commands": commands,
    "observe": looking,
    "agent": agent,
    "herd": herding,
    "campaign": campaigns,
}
