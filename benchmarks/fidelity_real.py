"""The real side of the comparison: measured surfaces and what the real clients' counters averaged to."""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from pathlib import Path

Row = dict[str, str]


def surface(traces: Path, name: str) -> dict[tuple[int, int], float]:
    """Application throughput by (pages, flight), MB/s."""
    with (traces / "response_surface.csv").open(newline="", encoding="utf-8") as lines:
        return {
            (int(row["max_pages_per_rpc"]), int(row["max_rpcs_in_flight"])): float(row["app_mbps_mean"])
            for row in csv.DictReader(lines)
            if row["workload"] == name
        }


def emergent(traces: Path, name: str) -> dict[str, float]:
    """Means over active rows: strictly between first and last application byte, busiest OST, longer than .2 s."""
    way = "read" if "_r_" in name else "write"
    rows = _active(traces, name, way)
    seconds = sum(float(row["actual_record_duration"]) for row in rows)
    usec = _sum(rows, f"ost_{way}_rpc_usec_data.samples_sum")
    size = _sum(rows, f"ost_{way}_rpc_bytes_data.samples_sum")
    count = _sum(rows, f"ost_{way}_rpc_bytes_data.no_of_samples")
    timed = _sum(rows, f"ost_{way}_rpc_usec_data.no_of_samples")
    return {
        "in_flight": usec / 1e6 / seconds,
        "dirty_mb": _sum(rows, "cur_dirty_bytes") / len(rows) / 1e6,
        "pages_per_rpc": size / 4096 / count,
        "latency_us": usec / timed,
        "wire_mbps": size / seconds / 1e6,
        "app_mbps": _sum(rows, f"llite_stats_{way}_bytes.samples_sum") / seconds / 1e6,
    }


def _sum(rows: list[Row], column: str) -> float:
    return sum(float(row[column]) for row in rows)


def _active(traces: Path, name: str, way: str) -> list[Row]:
    found = [row for rows in iterations(traces, name, way) for row in rows]
    return [row for row in found if float(row["actual_record_duration"]) > 0.2]


def iterations(traces: Path, name: str, way: str) -> list[list[Row]]:
    """The rows of every iteration in time order: the busiest OST, between first and last application byte."""
    series: dict[tuple[str, str], list[Row]] = defaultdict(list)
    with gzip.open(traces / f"{name}.csv.gz", "rt", newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            series[row["iteration"], row["ost"]].append(row)
    moved = {key: _sum(rows, f"ost_{way}_rpc_bytes_data.samples_sum") for key, rows in series.items()}
    busiest = {i: max((k for k in moved if k[0] == i), key=lambda k: moved[k]) for i, _ in moved}
    found: list[list[Row]] = []
    for key in busiest.values():
        rows = sorted(series[key], key=lambda row: int(row["observation_no"]))
        busy = [n for n, row in enumerate(rows) if float(row[f"llite_stats_{way}_bytes.samples_sum"]) > 0]
        if len(busy) > 2:
            found.append(rows[busy[0] + 1 : busy[-1]])
    return found
