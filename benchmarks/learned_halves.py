"""Measured runs of applications by count of resources, and curves learned from half of them."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from penstock.schedule.application import Curve
from penstock.schedule.learn.pooled import LearnedCurve, Runs, learn_pool
from penstock.units import MB, MIB


@dataclass(frozen=True)
class Source:
    """Runs of every application of a data set, and what makes two of them similar."""

    runs: dict[str, Runs]
    kind: dict[str, str]


def ost_runs(data: Path) -> Source:
    """IOR on Lustre: an application is nodes x processes x size x operation; every repetition is a run."""
    runs: dict[str, dict[int, list[float]]] = {}
    for row in csv.DictReader((data / "ost-curves" / "ior_results.csv").open()):
        if row["group"].endswith("Fig 10. OST"):
            shape, _, osts = row["file"].rpartition("_")
            name = f"{row['op']}-{shape}"
            runs.setdefault(name, {}).setdefault(int(osts), []).append(float(row["bw_mib"]) * MIB)
    return Source(dict(runs), {name: f"shared {name.partition('-')[0]}" for name in runs})


def application_runs(data: Path) -> Source:
    """Nine applications on I/O nodes: bandwidth is the volume of a run, which is not told, over its run time."""
    runs: dict[str, dict[int, list[float]]] = {}
    for row in csv.DictReader((data / "app-curves" / "runtime.csv").open(), delimiter=";"):
        if row["forwarders"] != "0":
            name = f"{row['application']}-{row['clients']}-{row['processes']}"
            runs.setdefault(name, {}).setdefault(int(row["forwarders"]), []).append(
                1e12 / float(row["runtime"])
            )
    return Source(dict(runs), dict.fromkeys(runs, "unknown"))


def io_node_runs(data: Path, points: bool) -> Source:
    """189 patterns on I/O nodes: the smallest, median and largest repetition, or one point for each count."""
    runs: dict[str, dict[int, list[float]]] = {}
    kind = {}
    for row in csv.DictReader((data / "io-node-curves" / "curves_mn4.csv").open()):
        if row["forwarders"] != "0":
            columns = ("max",) if points else ("min", "median_bw_mbps", "max")
            values = [float(row[column]) * MB for column in columns]
            runs.setdefault(row["scenario"], {})[int(row["forwarders"])] = values
            kind[row["scenario"]] = "file-per-process" if row["layout"] == "0" else "shared"
    return Source(dict(runs), kind)


@dataclass(frozen=True)
class Half:
    """Curves learned from half of each application's runs, drawn at random, and the other half."""

    learned: dict[str, LearnedCurve]
    left: dict[str, dict[int, list[float]]]

    @property
    def curves(self) -> dict[str, Curve]:
        return {name: one.curve for name, one in self.learned.items()}


def learn_half(source: Source, rng: Random) -> Half:
    pools: dict[str, dict[str, dict[int, list[float]]]] = {}
    left: dict[str, dict[int, list[float]]] = {}
    for name, runs in source.runs.items():
        every = [(count, value) for count, values in sorted(runs.items()) for value in values]
        rng.shuffle(every)
        middle = max(len(every) // 2, 1)
        pools.setdefault(source.kind[name], {})[name] = _by_count(every[:middle])
        left[name] = _by_count(every[middle:])
    found = {}
    for kind, pool in pools.items():
        found.update(learn_pool(pool, kind.split(" ")[0]))
    return Half(found, left)


def _by_count(runs: Sequence[tuple[int, float]]) -> dict[int, list[float]]:
    counts: dict[int, list[float]] = {}
    for count, value in runs:
        counts.setdefault(count, []).append(value)
    return counts


def true_curve(runs: Runs) -> Curve:
    counts = sorted(runs)
    return Curve(tuple(counts), tuple(math.fsum(runs[n]) / len(runs[n]) for n in counts))
