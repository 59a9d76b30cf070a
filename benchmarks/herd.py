"""Does a herd of tuning clients oscillate? Up to 500 simulated clients that share 8 OSTs, under the shipped policy.

usage: python -m benchmarks.herd [--clients 8,40,100,500] [--seconds 60] [--workload NAME]... [--out FILE.json]

Every client runs the same workload on files of its own. Each case is run three times with the same random numbers:
nobody tunes, one client tunes, all tune. Printed for each: throughput of all clients and of the first one, Jain's
index of fairness over clients, knob changes per tuning client and minute over the whole time and over its second
half, and how much throughput in the second half differs from interval to interval.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from penstock.evaluate.drivers import Course
from penstock.evaluate.trial import WARMUP_S, Measured, Trial, perform
from penstock.evaluate.tuners import shipped_policy
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.workload import parse_workload

OSTS = 8
WORKLOADS = ("f_rd_rn_1m", "s_wr_sq_1m")
CLIENTS = (8, 40, 100, 500)
RESULT = Path(__file__).parent / "results" / "herd.json"


def case(
    clients: int, workload: str, seconds: float, tuned: tuple[int, ...] | None, seed: int = 1
) -> dict[str, Any]:
    """One run; `tuned` are the clients that tune, None is all of them, an empty tuple nobody."""
    cluster = builtin_cluster("c220g5").override({"ost_count": str(OSTS)})
    plan = Plan(cluster, tuple(Job(parse_workload(workload), one) for one in range(clients)), clients, seed)
    course = Course(seconds, WARMUP_S)
    if tuned != ():
        course = Course(seconds, WARMUP_S, policy=shipped_policy(), tuned=tuned)
    began_s = time.process_time()
    found = perform(Trial(plan, course))
    tuning = clients if tuned is None else len(tuned)
    return {
        "clients": clients,
        "osts": OSTS,
        "workload": workload,
        "tuning": tuning,
        **figures(found, seconds, tuning),
        "cpu_s": round(time.process_time() - began_s, 1),
    }


def figures(found: Measured, seconds: float, tuning: int) -> dict[str, Any]:
    """What one run came to."""
    rates = [read + write for read, write in found.clients]
    late = found.series[len(found.series) // 2 :]
    minutes = seconds / 60 * max(tuning, 1)
    return {
        "app_mbps": round(found.app_mbps, 1),
        "first_client_mbps": round(rates[0], 2),
        "fairness": round(sum(rates) ** 2 / (len(rates) * sum(rate * rate for rate in rates)), 4),
        "changes_per_client_minute": round(found.changes / minutes, 2),
        "late_changes_per_client_minute": round(found.late_moves / (minutes / 2), 2),
        "late_variation": round(statistics.pstdev(late) / statistics.fmean(late), 4),
    }


def herd(clients: list[int], workloads: list[str], seconds: float) -> list[dict[str, Any]]:
    rows = []
    for workload in workloads:
        for count in clients:
            for tuned in ((), (0,), None):
                rows.append(case(count, workload, seconds, tuned))
                print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """As Markdown, three rows to a case."""
    lines = [
        "| workload | clients | tuning | MB/s | of the default | first client, of the default | fairness | "
        "changes per client and minute | in the second half | variation |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for default, *others in zip(rows[0::3], rows[1::3], rows[2::3], strict=True):
        for row in (default, *others):
            whole = row["app_mbps"] / default["app_mbps"]
            first = row["first_client_mbps"] / default["first_client_mbps"]
            lines.append(
                f"| {row['workload']} | {row['clients']} | {row['tuning']} | {row['app_mbps']:.0f} | {whole:.3f} | "
                f"{first:.2f} | {row['fairness']:.3f} | {row['changes_per_client_minute']:.1f} | "
                f"{row['late_changes_per_client_minute']:.1f} | {row['late_variation']:.3f} |"
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", default=",".join(map(str, CLIENTS)))
    parser.add_argument("--workload", action="append")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args()
    counts = [int(word) for word in asked.clients.split(",")]
    rows = herd(counts, asked.workload or list(WORKLOADS), asked.seconds)
    asked.out.parent.mkdir(exist_ok=True)
    asked.out.write_text(json.dumps({"seconds": asked.seconds, "rows": rows}, indent=1) + "\n")
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
