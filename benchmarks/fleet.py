"""What a fleet that learns together is worth: everyone alone, with one shared folder, and with a liar in it.

usage: python -m benchmarks.fleet [--clients 8,40,100] [--seconds 120] [--seeds 1,2,3] [--workload NAME,...]
                                  [--arms alone,shared,lying] [--out FILE.json] [--write]

As many simulated clients as OSTs run one job, or jobs in turn where several workloads are named; two OSTs share a
server. Every case is run with the same random numbers: at the default, everyone alone, and with a shared folder. The
best setting is found by holding each of all candidates on eight such clients: as pairs of OSTs share nothing with
others, more clients are more of the same. Kept of each run is

- the price: seconds of work that settings other than the original cost, summed over all nodes. Each stay at a setting
  counts by itself, against what that client gets untuned.
- when 90 % of the nodes held a setting that brings all of them at least .95 of the best; also since the first proof.
- the throughput of all and of the worst client, of the default; Jain's index.

--write makes docs/explanation/fleet-learning.md from the results.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from benchmarks.shared_fleet import FleetLoops

from penstock.evaluate.drivers import Course, Hold, Loops
from penstock.evaluate.figures import jain
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.evaluate.trial import WARMUP_S
from penstock.evaluate.tuners import shipped_policy
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.workload import parse_workload

RESULT = Path(__file__).parent / "results" / "fleet.json"
# What every candidate brings, by jobs; found once.
STATIC = Path(__file__).parent / "results" / "fleet_static.json"
CLIENTS, SEEDS, SECONDS = (8, 40, 100), (1,), 120.0
WORKLOADS = ("s_rd_rn_1m",)
ARMS = ("alone", "shared", "lying")
# A setting is as good as the best one where it brings all nodes so much of it.
NEAR = 0.95
MOST_NODES = 0.9
STATIC_CLIENTS, STATIC_S, STATIC_WARMUP_S = 8, 6.0, 2.0
# To hold a setting means for so long; a trial or a look at the original is shorter.
HOLD_S = 10.0
# What the liar praises: within the guard's reach, and bad.
LIES = tuple(Setting(pages=pages, flight=1) for pages in (32, 64, 128, 256, 512))

#: By candidate, what each job gets of its default.
StaticRates = dict[Setting, dict[str, float]]


@dataclass(frozen=True, slots=True)
class FleetCase:
    """One world."""

    clients: int
    seed: int
    seconds: float
    workloads: tuple[str, ...]

    def plan(self) -> Plan:
        cluster = builtin_cluster("c220g5").override({"ost_count": str(self.clients)})
        jobs = (Job(parse_workload(self.workload(one)), one) for one in range(self.clients))
        return Plan(cluster, tuple(jobs), self.clients, self.seed)

    def workload(self, client: int) -> str:
        return self.workloads[client % len(self.workloads)]


@dataclass(frozen=True, slots=True)
class FleetCourse:
    """What happened in one run: each client's rate and setting by interval, and when something was first proven."""

    rates: tuple[tuple[float, ...], ...]
    settings: tuple[tuple[Setting, ...], ...]
    proved_s: float | None


@dataclass(frozen=True, slots=True)
class FleetRow:
    """One run's figures; see the module's docstring.

    `worst_price_s` is what the dearest node paid, `at_end` the throughput of the last ten seconds.
    """

    clients: int
    seed: int
    seconds: float
    workloads: str
    arm: str
    price_s: float
    worst_price_s: float
    near_s: float | None
    near_since_proof_s: float | None
    near_at_end: float
    throughput: float
    at_end: float
    worst_client: float
    fairness: float
    oracle: float
    cpu_s: float


def drive(case: FleetCase, arm: str) -> FleetCourse:
    """One run of a case."""
    simulation = Simulation(case.plan())
    simulation.run_until(WARMUP_S)
    course = Course(case.seconds, WARMUP_S, policy=shipped_policy())
    with tempfile.TemporaryDirectory() as scratch:
        share, lies = Path(scratch) / "share", LIES if arm == "lying" else ()
        driver: Hold | Loops
        if arm == "default":
            driver = Hold(simulation)
        elif arm == "alone":
            driver = Loops(simulation, course)
        else:
            driver = FleetLoops(simulation, course, share, lies=lies)
        rates, settings = _watched(simulation, driver, case)
    proved_s = driver.proved_s if isinstance(driver, FleetLoops) else None
    return FleetCourse(rates, settings, None if proved_s is None else proved_s - WARMUP_S)


def _watched(
    simulation: Simulation, driver: Hold | Loops, case: FleetCase
) -> tuple[tuple[tuple[float, ...], ...], tuple[tuple[Setting, ...], ...]]:
    oscs = {int(osc) // case.clients: int(osc) for osc in simulation.world.file.osc}
    rates: list[tuple[float, ...]] = []
    settings: list[tuple[Setting, ...]] = []
    before = [simulation.totals(client).app_bytes for client in range(case.clients)]
    for _ in range(round(case.seconds / INTERVAL_S)):
        held = tuple(simulation.setting(oscs[one]).only("pages", "flight") for one in range(case.clients))
        driver.advance()
        now = [simulation.totals(client).app_bytes for client in range(case.clients)]
        rates.append(tuple((b - a) / INTERVAL_S for a, b in zip(before, now, strict=True)))
        settings.append(held)
        before = now
    return tuple(zip(*rates, strict=True)), tuple(zip(*settings, strict=True))


def static_rates(workloads: Sequence[str], seed: int) -> StaticRates:
    """What each job gets where all nodes hold a setting, of the default's rate, and so for every candidate."""
    known = json.loads(STATIC.read_text()) if STATIC.exists() else {}
    key = f"{' + '.join(workloads)}, seed {seed}"
    if key not in known:
        case = FleetCase(STATIC_CLIENTS, seed, STATIC_S, tuple(workloads))
        home = _job_rates(case, None)
        known[key] = [
            [
                dict(setting),
                {job: round(rate / home[job], 4) for job, rate in _job_rates(case, setting).items()},
            ]
            for setting in LUSTRE.candidates()
        ]
        STATIC.parent.mkdir(exist_ok=True)
        STATIC.write_text(json.dumps(known, indent=0) + "\n")
    return {Setting(setting): rates for setting, rates in known[key]}


def _job_rates(case: FleetCase, setting: Setting | None) -> dict[str, float]:
    """The sum of each job's clients where all hold a setting; None is the default."""
    simulation = Simulation(case.plan())
    if setting is not None:
        simulation.set_all(setting)
    simulation.run_until(STATIC_WARMUP_S)
    before = [simulation.totals(client).app_bytes for client in range(case.clients)]
    simulation.run_until(STATIC_WARMUP_S + case.seconds)
    found = dict.fromkeys(case.workloads, 0.0)
    for client, then in enumerate(before):
        found[case.workload(client)] += simulation.totals(client).app_bytes - then
    return found


def lost_s(rates: Sequence[float], settings: Sequence[Setting], usual: float, home: Setting) -> float:
    """What stays at other settings than the original cost one client, in seconds of its work."""
    lost = 0.0
    for setting, stay in groupby(zip(settings, rates, strict=True), key=lambda one: one[0]):
        if setting != home:
            lost += max(0.0, sum(1.0 - rate / usual for _, rate in stay) * INTERVAL_S)
    return lost


def figures(case: FleetCase, arms: Sequence[str]) -> Iterator[FleetRow]:
    """All runs of a case."""
    default = drive(case, "default")
    usual = [sum(rates) / len(rates) for rates in default.rates]
    home = default.settings[0][0]
    static = static_rates(case.workloads, case.seed)
    best = {job: max(rates[job] for rates in static.values()) for job in case.workloads}
    oracle = sum(best[case.workload(client)] * rate for client, rate in enumerate(usual)) / sum(usual)
    for arm in arms:
        began_s = time.process_time()
        run = drive(case, arm)
        cpu_s = time.process_time() - began_s
        near = _near(case, run, static, best)
        reached = next((at for at, share in enumerate(_over(near, HOLD_S)) if share >= MOST_NODES), None)
        near_s = None if reached is None else (reached + 1) * INTERVAL_S
        means = [sum(rates) / len(rates) for rates in run.rates]
        shares = [mean / rate for mean, rate in zip(means, usual, strict=True)]
        prices = [lost_s(*one, home) for one in zip(run.rates, run.settings, usual, strict=True)]
        yield FleetRow(
            clients=case.clients,
            seed=case.seed,
            seconds=case.seconds,
            workloads=" + ".join(case.workloads),
            arm=arm,
            price_s=round(sum(prices), 2),
            worst_price_s=round(max(prices), 2),
            near_s=near_s,
            near_since_proof_s=None if near_s is None or run.proved_s is None else near_s - run.proved_s,
            near_at_end=round(sum(near[-20:]) / len(near[-20:]), 3),
            throughput=round(sum(means) / sum(usual), 3),
            at_end=round(sum(sum(rates[-20:]) / 20 for rates in run.rates) / sum(usual), 3),
            worst_client=round(min(shares), 3),
            fairness=round(jain(shares), 4),
            oracle=round(oracle, 3),
            cpu_s=round(cpu_s, 1),
        )


def _near(case: FleetCase, run: FleetCourse, static: StaticRates, best: Mapping[str, float]) -> list[float]:
    """The share of nodes, by interval, whose setting brings their job at least .95 of its best."""
    good = {
        (setting, job)
        for setting, rates in static.items()
        for job in case.workloads
        if rates[job] >= NEAR * best[job]
    }
    jobs = [case.workload(client) for client in range(case.clients)]
    return [
        sum((setting, job) in good for setting, job in zip(now, jobs, strict=True)) / case.clients
        for now in zip(*run.settings, strict=True)
    ]


def _over(shares: Sequence[float], seconds: float) -> list[float]:
    """The mean from each interval on over so many seconds."""
    length = round(seconds / INTERVAL_S)
    return [sum(shares[at : at + length]) / length for at in range(len(shares) - length + 1)]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Runs of one key replace each other."""
    return tuple(row[name] for name in ("clients", "seed", "seconds", "workloads", "arm"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", default=",".join(map(str, CLIENTS)))
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    parser.add_argument("--workload", default=",".join(WORKLOADS))
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--out", type=Path, default=RESULT)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    if asked.write:
        from benchmarks.fleet_page import write

        print(write(json.loads(asked.out.read_text())))
        return 0
    rows = json.loads(asked.out.read_text()) if asked.out.exists() else []
    for clients in map(int, asked.clients.split(",")):
        for seed in map(int, asked.seeds.split(",")):
            case = FleetCase(clients, seed, asked.seconds, tuple(asked.workload.split(",")))
            for row in map(asdict, figures(case, asked.arms.split(","))):
                rows = [one for one in rows if _key(one) != _key(row)] + [row]
                asked.out.parent.mkdir(exist_ok=True)
                asked.out.write_text(json.dumps(rows, indent=1) + "\n")
                print(json.dumps(row), file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
