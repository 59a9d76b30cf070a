"""How large a cluster can be simulated, and at what cost? 100 clients x 8 OSTs, 5 clients x 1,008 OSTs.

usage: ./run bench cluster_scale [--seconds 10]

Prints one JSON document. Each row: events and RPCs per second of processor time, simulated seconds per second of
processor time, microseconds per RPC, the time to build the world, and memory. The operating system's share
(clearing memory that a stream touches for the first time) is counted apart, as `system_s`: it depends on how
much of the files was visited, not on the number of RPCs. `linear` compares the cost of an
RPC between clusters that differ tenfold in size. Every OSC of the second cluster is busy: one stream per OST and
client, on files of 64 MiB. `together` measures several processes, a shard each, at the same time: they share the
machine's memory, so each is slower than alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace

from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.units import MIB
from penstock.workload import parse_workload

# Clients, OSTs, workload, streams per client.
CASES = (
    (10, 8, "f_rd_rn_1m", 5),
    (100, 8, "f_rd_rn_1m", 5),
    (10, 8, "f_wr_sq_1m", 5),
    (100, 8, "f_wr_sq_1m", 5),
    (5, 101, "f_rd_rn_1m", 101),
    (5, 1008, "f_rd_rn_1m", 1008),
    (5, 101, "f_wr_sq_1m", 101),
    (5, 1008, "f_wr_sq_1m", 1008),
)
SETTING = Setting(pages=64, flight=8, dirty=32)
WARMUP_S = 2.0


Row = dict[str, float | str]


def begin_at_once() -> None:
    """Wait for nobody."""


def begin_together() -> None:
    """Tell whoever started this process that it is ready, and wait for the word to begin."""
    print("ready", flush=True)
    sys.stdin.readline()


def measure(case: tuple[int, int, str, int], seconds: float, begin: Callable[[], None]) -> Row:
    clients, osts, name, streams = case
    cluster = builtin_cluster("c220g5").override({"ost_count": str(osts)})
    work = replace(parse_workload(name), streams=streams)
    if streams > 5:
        work = replace(work, file_bytes=64 * MIB, cache_bytes=32 * MIB * streams)
    began_s = time.process_time()
    made = Simulation(Plan(cluster, tuple(Job(work, client) for client in range(clients)), clients, 1))
    made.set_all(SETTING)
    built_s = time.process_time() - began_s
    made.run_until(WARMUP_S)
    before = made.totals()
    begin()
    began = resource.getrusage(resource.RUSAGE_SELF)
    made.run_until(WARMUP_S + seconds)
    ended = resource.getrusage(resource.RUSAGE_SELF)
    spent_s = ended.ru_utime - began.ru_utime
    moved = made.totals() - before
    return {
        "clients": clients,
        "osts": osts,
        "workload": name,
        "streams": clients * streams,
        "build_s": round(built_s, 2),
        "rpcs": moved.rpcs,
        "events_per_s": round(moved.events / spent_s),
        "rpcs_per_s": round(moved.rpcs / spent_s),
        "us_per_rpc": round(1e6 * spent_s / moved.rpcs, 2),
        "simulated_s_per_s": round(seconds / spent_s, 3),
        "system_s": round(ended.ru_stime - began.ru_stime, 2),
        "memory_mib": round(ended.ru_maxrss / 1024),
    }


def command(number: int, seconds: float) -> list[str]:
    """What measures one case in a process of its own."""
    return [sys.executable, "-m", "benchmarks.cluster_scale", "--one", str(number), "--seconds", str(seconds)]


def together(number: int, seconds: float, processes: int) -> list[Row]:
    """The same case in several processes, all measured at the same time."""
    running = [
        subprocess.Popen(
            [*command(number, seconds), "--together"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    for one in running:
        assert one.stdout is not None
        one.stdout.readline()
    for one in running:
        assert one.stdin is not None
        one.stdin.write("begin\n")
        one.stdin.flush()
    return [json.loads(one.communicate()[0]) for one in running]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--together", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one is not None:
        begin = begin_together if chosen.together else begin_at_once
        print(json.dumps(measure(CASES[chosen.one], chosen.seconds, begin)))
        return 0
    rows = []
    for number in range(len(CASES)):
        # A process each, so that memory is the case's own.
        words = command(number, chosen.seconds)
        rows.append(json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout))
        print(rows[-1], file=sys.stderr)
    linear = {
        f"{large['workload']}, {large['clients']} x {large['osts']}": large["us_per_rpc"]
        / small["us_per_rpc"]
        for small, large in zip(rows[0::2], rows[1::2], strict=True)
    }
    print(json.dumps({"rows": rows, "linear": linear}, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
