"""What tuning readahead brings: the shipped policy beside held settings, for workloads that read.

usage: ./run bench readahead [--clusters emulated-10ms,emulated-2ms] [--seconds 300] [--seeds 2] [--with-data-path]

A line a workload: MB/s and bytes on the wire for each byte read, at the default, at the best of the listed settings
and under `weir` (the mean over the seeds, and the worst of them), and which share of the best one's gain it got, in
logarithms. `--with-data-path` lets it turn the data path's two knobs too.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace

from penstock.evaluate.reading_runs import ReadingRun, run_reading
from penstock.knobs import Setting
from penstock.simulate.cluster import Cluster, find_cluster
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.simulate.reading.reading_workloads import ReadingWorkload, parse_reading

NAMES = (
    "ra_seq_64k_1",
    "ra_seq_1m_1",
    "ra_seq_1m_4",
    "ra_rand_1m_1",
    "ra_rand_1m_4",
    "ra_stride_1m_1",
    "ra_back_1m_1",
    "ra_files_1m_4",
)
# (MiB of all files, of one file), as recorded on the real client.
LISTED = ((122, 1), (122, 4), (16, 16), (122, 61), (122, 122), (488, 244))
WARMUP_S = 5.0
# From this gain on, in logarithms, there is something to be had.
WORTH = 0.03


def workloads() -> list[ReadingWorkload]:
    """Those by name, and programs that read only the first part of each file, some with a pause after each call."""
    heads = parse_reading("ra_heads_1m_1")
    sizes = ((128, 0.0), (1024, 0.0), (1024, 15000.0), (4096, 8000.0))
    named = [parse_reading(name) for name in NAMES]
    return named + [
        replace(
            heads,
            name=f"heads of {blocks // 16} MiB, {us / 1e3:.0f} ms a call",
            head_blocks=blocks,
            think_us=us,
        )
        for blocks, us in sizes
    ]


def line(cluster: Cluster, work: ReadingWorkload, asked: argparse.Namespace) -> str:
    """One workload's figures."""
    times = (asked.seconds, WARMUP_S)

    def held(setting: Setting) -> ReadingRun:
        return run_reading(ReadingClient(cluster, work, setting=setting), times)

    default = held(Setting())
    listed = {limits: held(Setting(ahead_total=limits[0], ahead_file=limits[1])) for limits in LISTED}
    best = max(listed, key=lambda limits: listed[limits].app_bytes_per_s)
    tuned = [
        run_reading(ReadingClient(cluster, work, seed), times, "weir", with_data_path=asked.with_data_path)
        for seed in range(1, asked.seeds + 1)
    ]
    ratios = [run.app_bytes_per_s / default.app_bytes_per_s for run in tuned]
    there = math.log(listed[best].app_bytes_per_s / default.app_bytes_per_s)
    share = statistics.fmean(math.log(ratio) for ratio in ratios) / there if there > WORTH else math.nan
    return (
        f"| {work.name} | {_said(default)} | {best[0]}:{best[1]} {_said(listed[best])} "
        f"| {statistics.fmean(run.app_bytes_per_s for run in tuned) / 1e6:.1f} "
        f"({max(run.carried_ratio for run in tuned):.2f}) | {statistics.fmean(ratios):.3f} | {min(ratios):.3f} "
        f"| {'-' if math.isnan(share) else f'{share:.2f}'} |"
    )


def _said(run: ReadingRun) -> str:
    return f"{run.app_bytes_per_s / 1e6:.1f} ({run.carried_ratio:.2f})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run bench readahead", description=__doc__)
    parser.add_argument("--clusters", default="emulated-10ms,emulated-2ms")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--with-data-path", action="store_true")
    asked = parser.parse_args(arguments)
    for name in asked.clusters.split(","):
        print(f"{name}: MB/s (bytes on the wire for each byte read)")
        print("| workload | default | best listed | weir | mean ratio | worst | share of the gain |")
        print("|---|---|---|---|---|---|---|")
        for work in workloads():
            print(line(find_cluster(name), work, asked), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
