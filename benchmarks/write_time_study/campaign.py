"""A synthetic measuring campaign: the sampling method of the paper run against a simulated write path.

Every stage of a system description serves at its rate; the stage that finishes last decides, with a part of
its neighbours' time on top. Other jobs slow the shared stages down by a random factor, another in every run.
What comes out tests the method (does it find what was planted?), not any real machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from penstock.plan.storage import STAGES, StorageSystem
from penstock.plan.write.convergence import ConvergenceRule, RepeatedWrite, draw
from penstock.plan.write.location import in_use
from penstock.plan.write.parameters import heaviest_share_bytes, stripe_width, subblocks
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.sampling import templates
from penstock.plan.write.write_samples import SHORTEST_S, WriteSamples, tabulate

Ints = npt.NDArray[np.int64]
TRAINING_SCALES = (1, 2, 4, 8, 16, 32, 64, 128)
TEST_SCALES = (200, 256, 400, 512, 800, 1000, 2000)
# Stages overlap: the time is the norm of this order of the stage times, near their maximum.
OVERLAP_NORM = 4.0
# Now and then another job takes most of a shared stage for the length of a write.
STORM_CHANCE = 0.04
STORM_FACTOR = 3.0


@dataclass(frozen=True, slots=True)
class WritePath:
    """A system that writes take time on."""

    system: StorageSystem

    def stage_seconds(self, pattern: WritePattern, rng: np.random.Generator) -> dict[str, float]:
        """The time each stage needs for its share of one write, undisturbed; striping is drawn anew."""
        rates = self.system.service
        node_bytes = float(pattern.cores * pattern.burst_bytes)
        found = {
            "node": node_bytes / rates.node_bytes_per_s,
            "network": pattern.total_bytes / rates.network_bytes_per_s,
        }
        for stage in STAGES[self.system.kind]:
            most = in_use(self.system, stage, pattern.locations)[1]
            rate = rates.stage_bytes_per_s.get(stage, rates.server_bytes_per_s)
            found[stage] = most * node_bytes / rate
        target, server = _busiest_bytes(self.system, pattern, rng)
        found["server"] = server / rates.server_bytes_per_s
        found["target"] = target / rates.target_bytes_per_s
        return found

    def metadata_seconds(self, pattern: WritePattern) -> float:
        """Opening and closing every file, and placing its subblocks."""
        operations = 2.0 * pattern.bursts
        if self.system.gpfs is not None:
            operations += 0.1 * pattern.bursts * subblocks(self.system.gpfs, pattern.burst_bytes)
        return operations / self.system.service.metadata_ops_per_s

    def run(self, pattern: WritePattern, rng: np.random.Generator) -> float:
        """The time of one write amid other jobs."""
        spread = self.system.service.interference
        total = 0.0
        for name, seconds in self.stage_seconds(pattern, rng).items():
            slowed = 1.0 if name == "node" else float(np.exp(rng.normal(0.0, spread)))
            total += (seconds * slowed) ** OVERLAP_NORM
        storm = STORM_FACTOR if rng.random() < STORM_CHANCE * min(1.0, spread / 0.1) else 1.0
        meta = self.metadata_seconds(pattern) * float(np.exp(rng.normal(0.0, spread)))
        return float(self.system.service.startup_s + meta + storm * total ** (1 / OVERLAP_NORM))

    def mean(self, pattern: WritePattern, runs: int, rng: np.random.Generator) -> float:
        """The mean of many runs: the truth an adaptation is judged by."""
        return float(np.mean([self.run(pattern, rng) for _ in range(runs)]))


def _busiest_bytes(
    system: StorageSystem, pattern: WritePattern, rng: np.random.Generator
) -> tuple[float, float]:
    """What the busiest target and the busiest server get when every burst draws its own start."""
    if system.lustre is not None:
        width = stripe_width(system.lustre, pattern.burst_bytes, pattern.stripes)
        share = heaviest_share_bytes(system.lustre, pattern.burst_bytes, pattern.stripes)
        targets, servers = system.lustre.osts, system.lustre.osses
    else:
        assert system.gpfs is not None
        width = min(system.gpfs.nsds, -(-pattern.burst_bytes // system.gpfs.block_size))
        share = pattern.burst_bytes // width
        targets, servers = system.gpfs.nsds, system.gpfs.servers
    loads = _loads(rng.integers(0, targets, pattern.bursts), width, targets)
    owners = np.arange(targets) % servers
    return float(share * loads.max()), float(share * np.bincount(owners, loads).max())


def _loads(starts: Ints, width: int, ring: int) -> Ints:
    """How many runs of `width` cover each place of a ring."""
    counts = np.bincount(starts, minlength=ring)
    sums = np.concatenate([[0], np.cumsum(np.concatenate([counts, counts]))])
    place = np.arange(ring) + ring + 1
    return np.asarray(sums[place] - sums[place - min(width, ring)], dtype=np.int64)


def allocate(system: StorageSystem, nodes: int, rng: np.random.Generator) -> Ints:
    """Nodes as a busy machine gives them: a few runs of neighbours at random places."""
    pieces = int(min(nodes, 1 + rng.geometric(0.25)))
    while True:
        cuts = (
            np.sort(rng.choice(np.arange(1, nodes), pieces - 1, replace=False))
            if pieces > 1
            else np.array([], int)
        )
        lengths = np.diff(np.concatenate([[0], cuts, [nodes]])).astype(np.int64)
        gaps = rng.multinomial(system.compute.nodes - nodes, rng.dirichlet(np.ones(pieces + 1)))
        begins = np.cumsum(gaps[:-1]) + np.concatenate([[0], np.cumsum(lengths)[:-1]])
        found = np.concatenate(
            [np.arange(begin, begin + length) for begin, length in zip(begins, lengths, strict=True)]
        )
        if np.unique(found).size == nodes:
            return found.astype(np.int64)


@dataclass(frozen=True, slots=True)
class Campaign:
    """What was measured: the table of samples, the patterns behind it and every single run."""

    samples: WriteSamples
    patterns: tuple[WritePattern, ...]
    runs: tuple[RepeatedWrite, ...]


def measure_campaign(
    path: WritePath,
    scales: Sequence[int],
    per_scale: int,
    seed: int,
    tick: Callable[[], None] = lambda: None,
) -> Campaign:
    """`per_scale` converged samples of 5 s or more at every scale, and unconverged ones met on the way."""
    rng = np.random.default_rng(seed)
    rule = ConvergenceRule()
    patterns: list[WritePattern] = []
    drawn: list[RepeatedWrite] = []
    for scale in scales:
        kept = tried = 0
        while kept < per_scale and tried < 60 * per_scale:
            place = allocate(path.system, scale, rng)
            for pattern in _patterns(path.system, place, rng):
                tried += 1
                if kept >= per_scale or path.run(pattern, rng) < 4.0:
                    continue
                sample = draw(partial(path.run, pattern, rng), rule)
                if sample.mean_s >= SHORTEST_S:
                    patterns.append(pattern)
                    drawn.append(sample)
                    kept += sample.converged
        tick()
    means = np.array([sample.mean_s for sample in drawn])
    settled = np.array([sample.converged for sample in drawn])
    return Campaign(tabulate(path.system, patterns, means, settled), tuple(patterns), tuple(drawn))


def _patterns(system: StorageSystem, place: Ints, rng: np.random.Generator) -> list[WritePattern]:
    chosen = [
        WritePattern(place, one.cores, one.burst_bytes, one.stripes)
        for template in templates(system, place.size, rng)
        for one in template.patterns()
    ]
    keep = rng.permutation(len(chosen))[: max(8, len(chosen) // 10)]
    return [chosen[index] for index in keep]
