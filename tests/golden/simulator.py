"""Simulated runs whose every counter is known: a spread of workloads, clusters, seeds, clients and events.

A digest covers all counters of all OSCs and clients, every 50 ms of virtual time. Whoever changes the simulator,
or anything it stands on, without meaning to change its behaviour must leave every digest as it is.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.catalogue import APPLICATION_NAMES, named_plan
from penstock.simulate.cluster import CLUSTER_NAMES, Cluster, builtin_cluster, parse_cluster
from penstock.simulate.faults import parse_fault
from penstock.simulate.simulation import Simulation
from penstock.workload import NAMES, parse_workload

NEARLINE = Path(__file__).parents[2] / "examples" / "cluster" / "nearline.toml"
STEP_S = 0.05
# The pages, RPCs in flight and dirty limits that a run goes through, a new one every fifth of its time.
PAGES, FLIGHT, DIRTY = (1, 16, 64, 256, 1024), (1, 2, 8, 32, 256), (32, 256, 2000)


@dataclass(frozen=True, slots=True)
class Golden:
    """One run: everything that determines it."""

    name: str
    workload: str
    cluster: str = "c220g5"
    clients: int = 1
    seconds: float = 1.0
    seed: int = 1
    shared: bool = False
    events: tuple[str, ...] = ()
    changes: Mapping[str, str] | None = None
    fsync_bytes: int = 0
    close_bytes: int = 0
    read_elsewhere: bool = False


def _spread() -> list[Golden]:
    rng = Random("golden")
    clusters = ("c220g5", "c6525-25g")
    return [
        Golden(f"{work}-{cluster}", work, cluster, seed=rng.randrange(1000))
        for number, work in enumerate(NAMES)
        for cluster in clusters[number % 2 :][:1]
    ]


# One core a node, and a long way between them.
ONE_CORE = {
    "client.cores": "1",
    "server.cores": "1",
    "client.message_us": "200",
    "server.message_us": "200",
    "client.receive_us_per_page": "20",
    "server.receive_us_per_page": "20",
    "client.send_us_per_page": "10",
    "write_new_us_per_page": "30",
    "bulk_acknowledged": "1",
    "round_trip_us": "5000",
    "window_mib": "2",
}
# Its data in order, and a daemon for its replies.
DAEMON = {**ONE_CORE, "reads_in_order": "1", "writes_in_order": "1", "ahead_mib": "3", "replies_in_turn": "1"}
CASES = [
    *_spread(),
    Golden("disk-reads", "f_rd_rn_1m", "nearline", seconds=2.0, seed=5),
    Golden("disk-writes", "f_wr_rn_8k", "nearline", seconds=2.0, seed=6),
    Golden("four-clients", "f_wr_rn_1m", clients=4, seed=7, changes={"ost_count": "2"}),
    Golden("shared-file", "s_wr_sq_1m", clients=3, shared=True, seconds=2.0, changes={"ost_count": "1"}),
    Golden("shared-reads", "s_rd_sq_1m", clients=3, shared=True, changes={"ost_count": "1"}),
    Golden("version-2.17", "s_wr_rn_8k", "c6525-25g", changes={"version": "2.17"}),
    Golden("small-grant", "s_wr_sq_8k", changes={"grant_initial_bytes": "2000000"}),
    Golden("one-credit", "s_rd_sq_16m", changes={"peer_credits": "1", "threads": "2"}),
    Golden("slow-ost", "s_rd_sq_1m", events=("slow:ost=0:at=0.2:for=0.4:factor=4",)),
    Golden("busy-ost", "s_wr_sq_1m", events=("load:ost=0:at=0.2:for=0.5:mbps=150:write=1",)),
    Golden("evicted", "s_wr_rn_1m", events=("evict:client=0:ost=0:at=0.4",), seconds=1.5),
    Golden("failed-ost", "f_wr_sq_1m", events=("fail:ost=0:at=1:for=3",), seconds=9.0, seed=9),
    Golden("bert", "dlio-bert:files=4,samples=2000,every=500,model=2m,threads=2,osts=2", clients=2),
    Golden("checkpoint", "checkpoint:compute=0.3,bytes=64m", clients=2, seconds=2.0),
    Golden("webserver", "webserver", seconds=2.0),
    Golden("one-core-reads", "f_rd_rn_1m", seconds=2.0, changes=ONE_CORE),
    Golden("one-core-writes", "s_wr_rn_8k", seconds=2.0, changes=ONE_CORE),
    Golden("fsyncs", "f_wr_rn_1m", clients=2, seconds=2.0, fsync_bytes=20_000_000),
    Golden("closes", "s_rd_sq_1m", close_bytes=50_000_000),
    Golden("database", "f_wr_rn_8k", shared=True, fsync_bytes=1_000_000, close_bytes=3_000_000),
    Golden("read-elsewhere", "s_wr_sq_1m", seconds=2.0, read_elsewhere=True),
]

# Devices and processors so slow that a run of some length touches few pages: these can run uncompiled too.
SLOW = {
    "write_new_us_per_page": "150",
    "write_over_us_per_page": "80",
    "read_copy_us_per_page": "50",
    "read_submit_us_per_page": "50",
    "read_us_per_page": "100",
    "write_us_per_page": "100",
    "grant_initial_bytes": "20000000",
}
ONE_OST = {**SLOW, "ost_count": "1"}
CHEAP = [
    Golden("reads", "s_rd_rn_1m", seconds=0.3, changes=SLOW),
    Golden("ahead", "f_rd_sq_8k", seconds=0.3, changes=SLOW),
    Golden("large", "s_rd_sq_16m", "c6525-25g", seconds=0.7, changes=SLOW),
    Golden("small", "f_rd_rn_8k", seconds=0.1, changes=SLOW),
    Golden("writes", "s_wr_sq_1m", seconds=0.2, changes=SLOW),
    Golden("scattered", "s_wr_rn_8k", "c6525-25g", seconds=0.2, changes=SLOW),
    Golden("five", "f_wr_rn_1m", seconds=0.05, changes=SLOW),
    Golden("two-clients", "s_wr_rn_1m", clients=2, seconds=0.5, changes=ONE_OST),
    Golden("shared", "s_wr_sq_1m", clients=3, shared=True, seconds=0.6, changes=ONE_OST),
    Golden("disk", "s_rd_rn_1m", "nearline", seconds=0.3, changes={"read_copy_us_per_page": "50"}),
    Golden("disk-written", "s_wr_rn_8k", "nearline", seconds=0.3, changes={"write_new_us_per_page": "150"}),
    Golden("slow", "s_rd_sq_1m", seconds=0.3, events=("slow:at=0.1:for=0.1:factor=4",), changes=SLOW),
    Golden("busy", "s_wr_sq_1m", seconds=0.3, events=("load:at=0.1:for=0.1:mbps=90:write=1",), changes=SLOW),
    Golden("evict", "s_wr_rn_1m", seconds=0.5, events=("evict:client=0:ost=0:at=0.2",), changes=SLOW),
    Golden(
        "fail", "s_wr_sq_1m", seconds=1.5, events=("fail:at=.1:for=.8",), changes={**SLOW, "timeout_s": "0.5"}
    ),
    Golden(
        "threads", "dlio-bert:files=4,samples=2000,every=500,model=2m,threads=2", seconds=0.1, changes=SLOW
    ),
    Golden("gates", "checkpoint:compute=0.1,bytes=1m,ranks=2", seconds=0.4, changes=SLOW),
    Golden("core", "f_rd_sq_1m", seconds=0.3, changes={**SLOW, **ONE_CORE}),
    Golden("core-writes", "s_wr_rn_1m", seconds=0.3, changes={**SLOW, **ONE_CORE}),
    Golden("daemon", "f_rd_sq_1m", seconds=0.3, changes={**SLOW, **DAEMON}),
    Golden("fsync", "f_wr_rn_1m", shared=True, seconds=0.3, fsync_bytes=3_000_000, changes=SLOW),
    Golden("close", "s_rd_sq_1m", seconds=0.3, close_bytes=3_000_000, changes=SLOW),
    Golden("reader", "s_wr_sq_1m", seconds=0.3, fsync_bytes=9_000_000, read_elsewhere=True, changes=SLOW),
]


def cluster_of(case: Golden) -> Cluster:
    """The description a run needs."""
    if case.cluster in CLUSTER_NAMES:
        found = builtin_cluster(case.cluster)
    else:
        found = parse_cluster(NEARLINE.read_text("utf-8"), NEARLINE.name)
    return found.override(case.changes or {})


def plan_of(case: Golden) -> Plan:
    """The plan of a run."""
    cluster, faults = cluster_of(case), tuple(map(parse_fault, case.events))
    if case.workload.partition(":")[0] in APPLICATION_NAMES:
        return replace(named_plan(cluster, case.workload, case.clients, case.seed), traced=True)
    work = parse_workload(case.workload)
    shared = "one" if case.shared else ""
    ends = (case.fsync_bytes, case.close_bytes)
    jobs = [
        Job(work, client, shared=shared, fsync_bytes=ends[0], close_bytes=ends[1])
        for client in range(case.clients)
    ]
    if case.read_elsewhere:
        jobs.append(Job(parse_workload("s_rd_sq_1m"), case.clients, reads_of=0))
    return Plan(
        cluster, tuple(jobs), 1 + max(job.client for job in jobs), case.seed, traced=True, faults=faults
    )


def _fold(made: Simulation, mark: hashlib._Hash) -> None:
    w = made.world
    made.totals()
    for array in (w.sums, w.pages_histogram, w.flight_histogram):
        mark.update(array.tobytes())
    for name in ("read_calls", "read_bytes", "write_calls", "write_bytes", "cached", "dirty"):
        mark.update(w.client[name].tobytes())
    for name in ("grant_bytes", "dirty", "reads", "writes", "flight_integral", "dirty_integral", "state"):
        mark.update(w.osc[name].tobytes())


def run(case: Golden) -> dict[str, object]:
    """The run's digest, and figures that tell a reader what changed when it does."""
    made = Simulation(plan_of(case))
    least_pages = 16 if made.plan.cluster.lustre.version == "2.17" else 1
    rng, mark = Random(case.name), hashlib.sha256()
    steps = round(case.seconds / STEP_S)
    for step in range(steps):
        if step % max(1, steps // 5) == 0:
            pages = max(rng.choice(PAGES), least_pages)
            made.set_all(Setting(pages=pages, flight=rng.choice(FLIGHT), dirty=rng.choice(DIRTY)))
        made.run_until((step + 1) * STEP_S)
        _fold(made, mark)
    totals = made.totals()
    return {
        "counters": mark.hexdigest()[:24],
        "events": int(made.world.trace[0]),
        "app_bytes": int(totals.app_bytes),
        "rpcs": int(totals.rpcs),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps({case.name: run(case) for case in CHEAP}))
