"""Making a survey: what every setting brings, for many kinds of work on many kinds of simulated hardware.

Every case holds each setting of the grid on its own. The named cases are the training patterns and sizes
between them on a cluster as it is; drawn ones change the work and the hardware at random, so that a target is
met that is none of them but between some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from random import Random

import numpy as np

from penstock import __version__
from penstock.knobs import Setting
from penstock.predict.features import Floats, row_features, stack_windows
from penstock.predict.surfaces import Case, Survey, columns
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.train.simulated import find_cluster
from penstock.units import GIB
from penstock.window import Window, windows
from penstock.workload import Workload, parse_workload

# Work: sizes around and between those of the training patterns; five streams are left to be judged by.
SIZES = {1: ("8k", "32k", "128k", "512k", "1m", "2m", "4m", "16m"), 3: ("8k", "128k", "1m", "4m", "16m")}
DRAWN_SIZES = ("4k", "8k", "16k", "32k", "64k", "128k", "256k", "512k", "1m", "2m", "4m", "8m", "16m")
DRAWN_STREAMS = (1, 1, 2, 3, 8)
# How much of a written file fits into the cache decides what is updated in place: files of several sizes.
SMALLER = (1, 2, 4)
LEAST_BYTES = GIB // 2
# Hardware: each of these, and what belongs to it, between half and twice as slow.
PARTS = {
    "device": ("read_rpc_us", "read_us_per_page", "random_read_us", "write_rpc_us", "write_us_per_page"),
    "network": ("client_mb_per_s", "server_mb_per_s"),
    "latency": ("round_trip_us", "request_us", "reply_us"),
    "client": ("read_copy_us_per_page", "write_new_us_per_page", "write_over_us_per_page", "write_call_us"),
}
WARMUP_S = {"read": 3.0, "write": 8.0}
# Writes come in waves of seconds (journal commits, the flusher, a cache that fills): they are watched longer.
LONGER = {"read": 1.0, "write": 4.0}


@dataclass(frozen=True, slots=True)
class Draft:
    """A case before it is measured."""

    cluster: str
    workload: str
    streams: int = 1
    smaller: int = 1
    slower: Mapping[str, float] = field(default_factory=dict)
    coarse: bool = False

    @property
    def name(self) -> str:
        """The work, and how the hardware differs from the cluster's."""
        factors = "".join(f" {part}x{factor:.2f}" for part, factor in self.slower.items())
        size = f"/{self.smaller}" if self.smaller > 1 else ""
        return f"{self.streams}x{self.workload}{size}{factors}"

    def work(self) -> Workload:
        """The pattern with its number of streams; written files are as large together as one stream's, or smaller."""
        one = parse_workload(self.workload)
        size = one.file_bytes
        if one.direction == "write":
            size = max(LEAST_BYTES, size // self.streams // self.smaller)
        return replace(one, streams=self.streams, file_bytes=size)

    def hardware(self) -> Cluster:
        """The cluster with its parts as slow as drafted."""
        cluster = find_cluster(self.cluster)
        document = cluster.model_dump()
        changes = {}
        for part, factor in self.slower.items():
            for key in PARTS[part]:
                value = next(
                    section[key]
                    for section in document.values()
                    if isinstance(section, dict) and key in section
                )
                changes[key] = str(value / factor if key.endswith("mb_per_s") else value * factor)
        return cluster.override(changes)


def named(cluster: str) -> list[Draft]:
    """The patterns of one cluster as it is, one stream and three, random writes also into smaller files."""
    return [
        Draft(cluster, f"s_{way}_{order}_{size}", streams, smaller)
        for way in ("rd", "wr")
        for order in ("sq", "rn")
        for streams, sizes in SIZES.items()
        for size in sizes
        for smaller in (SMALLER[:2] if (way, order, streams) == ("wr", "rn", 3) else SMALLER[:1])
    ]


def drawn(cluster: str, count: int, seed: int) -> list[Draft]:
    """Work and hardware at random."""
    rng, files = Random(f"survey/{seed}"), Random(f"survey/{seed}/files")
    found = []
    for number in range(count):
        way = ("rd", "wr")[number % 2]
        work = f"s_{way}_{rng.choice(('sq', 'rn'))}_{rng.choice(DRAWN_SIZES)}"
        slower = {part: round(2.0 ** rng.uniform(-1.0, 1.0), 2) for part in PARTS}
        smaller = files.choice(SMALLER) if way == "wr" else 1
        found.append(Draft(cluster, work, rng.choice(DRAWN_STREAMS), smaller, slower, coarse=True))
    return found


def survey(
    drafts: list[Draft], seconds: float, seed: int, workers: int, say: Callable[[str], None]
) -> Survey:
    """Measure all drafts, side by side in processes; the result does not depend on their number."""
    cases = []
    for case in _measured(drafts, seconds, seed, workers):
        cases.append(case)
        say(f"{len(cases)}/{len(drafts)} {case.cluster} {case.workload}")
    provenance = {
        "made_by": f"penstock {__version__}",
        "source": "penstock simulate",
        "seconds": seconds,
        "seed": seed,
    }
    return Survey(LUSTRE["pages"].values, LUSTRE["flight"].values, tuple(cases), provenance, "")


def _measured(drafts: list[Draft], seconds: float, seed: int, workers: int) -> Iterator[Case]:
    if workers <= 1:
        yield from (measure(draft, seconds, seed) for draft in drafts)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        count = len(drafts)
        yield from pool.map(measure, drafts, [seconds] * count, [seed] * count)


def measure(draft: Draft, seconds: float, seed: int) -> Case:
    """One case: every setting held, its busiest target looked at over one long window.

    A coarse draft holds every other value of each knob; in between its surface is interpolated.
    """
    work, cluster = draft.work(), draft.hardware()
    step = 2 if draft.coarse else 1
    pages, flight = LUSTRE["pages"].values[::step], LUSTRE["flight"].values[::step]
    start_s, seen = WARMUP_S[work.direction], []
    for setting in (Setting(pages=p, flight=f) for p in pages for f in flight):
        simulation = Simulation(Plan(cluster, (Job(work),), 1, seed))
        simulation.set_all(setting)
        probe = Probe(simulation)
        probe.sleep_until(start_s)
        before = probe.observe()
        probe.sleep_until(start_s + LONGER[work.direction] * seconds)
        moved = [w for w in windows(before, probe.observe()) if isinstance(w, Window)]
        seen.append(max(moved, key=lambda window: window.bytes_per_s))
    stack = stack_windows([[window] for window in seen], work.direction, 0)
    features = row_features(stack, work.direction)[:, 0, columns(work.direction)]
    # A setting so slow that nothing was finished in time has no logarithm; it is known to be bad.
    sound = np.where(np.isfinite(features), features, np.nanmin(features, axis=0, initial=0.0))
    whole = _fill(sound.reshape(len(pages), len(flight), -1), pages, flight)
    return Case(draft.cluster, draft.name, work.direction, whole.reshape(-1, sound.shape[1]))


def _fill(table: Floats, pages: tuple[int, ...], flight: tuple[int, ...]) -> Floats:
    """A surface over a coarse grid, interpolated over the whole one along the knobs' logarithms."""
    for axis, (coarse, knob) in enumerate(((pages, "pages"), (flight, "flight"))):
        between = partial(_interpolate, np.log2(LUSTRE[knob].values), np.log2(coarse))
        table = np.apply_along_axis(between, axis, table)
    return table


def _interpolate(wanted: Floats, known: Floats, values: Floats) -> Floats:
    found: Floats = np.interp(wanted, known, values)
    return found
