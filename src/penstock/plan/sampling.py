"""The benchmark a model is fitted on: which patterns to write, as a script or run until they converge."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from penstock.plan.location import check_nodes
from penstock.plan.system import System
from penstock.units import MIB

# Burst sizes in 10^6 bytes, from Tables IV and V; the large ones are written by up to 128 nodes only.
BURST_RANGES = ((1, 5), (6, 25), (25, 100), (101, 250), (251, 500), (501, 1024), (1025, 2560))
LARGE_BURST_RANGES = ((2561, 5120), (5121, 7680), (7681, 10240))
STRIPE_RANGES = ((1, 4), (5, 8), (9, 16), (17, 32), (33, 64))
LARGEST_TRAINING_NODES = 128
# What production codes write at the largest scales.
PRODUCTION_BURSTS = (4, 23, 59, 69, 121, 376, 750, 1024, 1280)
PRODUCTION_NODES = 1000


@dataclass(frozen=True, slots=True)
class Template:
    """One experiment at one scale: every combination of the three lists is written. Bursts in MiB."""

    nodes: int
    cores: tuple[int, ...]
    bursts_mib: tuple[int, ...]
    stripes: tuple[int, ...]

    def patterns(self) -> list[tuple[int, int, int]]:
        """(cores, burst in bytes, stripe count) of every combination."""
        return [(n, k * MIB, w) for n in self.cores for k in self.bursts_mib for w in self.stripes]


def templates(system: System, nodes: int, rng: np.random.Generator) -> list[Template]:
    """The experiments for one scale: common burst sizes, and large ones where they are affordable.

    GPFS systems vary cores over powers of two. Lustre systems draw eight core counts (four for large bursts)
    and one stripe count from each range.
    """
    check_nodes(system, nodes)
    if nodes >= PRODUCTION_NODES:
        cores = _cores(system, 8, rng) if system.kind == "gpfs" else (1, 4)
        return [Template(nodes, cores, _mebibytes(PRODUCTION_BURSTS), _stripes(system, rng))]
    found = [Template(nodes, _cores(system, 8, rng), _bursts(BURST_RANGES, rng), _stripes(system, rng))]
    if nodes <= LARGEST_TRAINING_NODES:
        large = _bursts(LARGE_BURST_RANGES, rng)
        found.append(Template(nodes, _cores(system, 4, rng), large, _stripes(system, rng)))
    return found


def _bursts(ranges: Sequence[tuple[int, int]], rng: np.random.Generator) -> tuple[int, ...]:
    return _mebibytes([int(rng.integers(low, high, endpoint=True)) for low, high in ranges])


def _mebibytes(megabytes: Sequence[int]) -> tuple[int, ...]:
    return tuple(max(1, round(size * 1e6 / MIB)) for size in megabytes)


def _cores(system: System, count: int, rng: np.random.Generator) -> tuple[int, ...]:
    most = system.compute.cores_per_node
    if system.kind == "gpfs":
        return tuple(1 << power for power in range(most.bit_length()))
    drawn = rng.choice(np.arange(1, most + 1), min(count, most), replace=False)
    return tuple(sorted(int(value) for value in drawn))


def _stripes(system: System, rng: np.random.Generator) -> tuple[int, ...]:
    if system.lustre is None:
        return (1,)
    osts = system.lustre.osts
    ranges = [(low, min(high, osts)) for low, high in STRIPE_RANGES if low <= osts]
    return tuple(int(rng.integers(low, high, endpoint=True)) for low, high in ranges)


def ior_command(cores: int, burst_bytes: int, nodes: int, launcher: str) -> list[str]:
    """One write of every process to a file of its own in `$DIR`, flushed before it is timed."""
    tasks = nodes * cores
    start = [word.format(tasks=tasks, cores=cores, nodes=nodes) for word in shlex.split(launcher)]
    size = f"{burst_bytes // MIB}m"
    flags = ["-a", "POSIX", "-w", "-F", "-e", "-i", "1", "-t", "1m", "-b", size]
    return [*start, "ior", *flags, "-o", "$DIR/penstock.ior", "-O", "summaryFormat=JSON"]


def script(template: Template, launcher: str, rounds: int) -> str:
    """A job script in nested loops; submit it again at other times until `plan fit` has converged samples."""
    m = template.nodes
    start = launcher.replace("{tasks}", f"$(({m} * n))").replace("{cores}", "$n").replace("{nodes}", str(m))
    lists = {
        "n": template.cores,
        "K": template.bursts_mib,
        "W": template.stripes,
    }
    opening = "".join(f"for {name} in {' '.join(map(str, values))}; do\n" for name, values in lists.items())
    striping = len(template.stripes) > 1
    body = (
        'mkdir -p "$DIR/W$W"\n'
        + ('lfs setstripe -c "$W" "$DIR/W$W"\n' if striping else "")
        + (
            f'{start} ior -a POSIX -w -F -e -i 1 -t 1m -b "${{K}}m" -o "$DIR/W$W/penstock.ior" \\\n'
            '    -O summaryFormat=JSON -O summaryFile="$OUT/ior-$(date +%s%N)-m'
            f'{m}-n$n-K$K-W$W.json"\n'
        )
    )
    return (
        f"# {m} nodes: K in MiB, W stripes. DIR is on the file system, OUT keeps the results.\n"
        f': "${{DIR:?}}" "${{OUT:?}}"\nfor round in $(seq {rounds}); do\n{opening}{body}' + "done\n" * 4
    )
