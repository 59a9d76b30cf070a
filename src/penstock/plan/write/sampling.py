"""The benchmark that a model is fitted to: which patterns to write, as a job script or run until they converge."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby

import numpy as np

from penstock.plan.storage import StorageSystem
from penstock.plan.write.location import check_nodes
from penstock.units import MIB, format_size

# Burst sizes in 10^6 bytes, from Tables IV and V; the large ones are written by up to 128 nodes only.
BURST_RANGES = ((1, 5), (6, 25), (25, 100), (101, 250), (251, 500), (501, 1024), (1025, 2560))
LARGE_BURST_RANGES = ((2561, 5120), (5121, 7680), (7681, 10240))
STRIPE_RANGES = ((1, 4), (5, 8), (9, 16), (17, 32), (33, 64))
LARGEST_TRAINING_NODES = 128
# What production codes write at the largest scales.
PRODUCTION_BURSTS = (4, 23, 59, 69, 121, 376, 750, 1024, 1280)
PRODUCTION_NODES = 1000


TRANSFER_BYTES = MIB
# What IOR is told to do. A read follows a write of the same data, by other processes than wrote it (-C).
LETTERS = {"write": ("-w",), "read": ("-w", "-r", "-C")}
DEFAULT_LAUNCHER = "mpirun -n {tasks} --map-by ppr:{cores}:node"
# Inside a job of Slurm its own launcher starts processes of any MPI.
SLURM_START = """\
start() { # NODES PROCESSES-A-NODE COMMAND
local m=$1 n=$2
shift 2
if [ -n "${SLURM_JOB_ID:-}" ]; then
    srun --nodes="$m" --ntasks=$((m * n)) --ntasks-per-node="$n" "$@"
elif mpirun --version 2>&1 | grep -q "Open MPI"; then
    mpirun -n $((m * n)) --map-by "ppr:$n:node" "$@"
else
    mpirun -n $((m * n)) -ppn "$n" "$@"
fi
}
"""


@dataclass(frozen=True, slots=True)
class SamplePattern:
    """One write to time."""

    nodes: int
    cores: int
    burst_bytes: int
    stripes: int

    @property
    def total_bytes(self) -> int:
        """What one run writes."""
        return self.nodes * self.cores * self.burst_bytes


@dataclass(frozen=True, slots=True)
class Template:
    """One experiment at one scale: every combination of the three lists is written. Bursts in MiB."""

    nodes: int
    cores: tuple[int, ...]
    bursts_mib: tuple[int, ...]
    stripes: tuple[int, ...]

    def patterns(self) -> list[SamplePattern]:
        """Every combination."""
        return [
            SamplePattern(self.nodes, cores, burst * MIB, stripes)
            for cores in self.cores
            for burst in self.bursts_mib
            for stripes in self.stripes
        ]


def templates(system: StorageSystem, nodes: int, rng: np.random.Generator) -> list[Template]:
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


def _cores(system: StorageSystem, count: int, rng: np.random.Generator) -> tuple[int, ...]:
    most = system.compute.cores_per_node
    if system.kind == "gpfs":
        return tuple(1 << power for power in range(most.bit_length()))
    drawn = rng.choice(np.arange(1, most + 1), min(count, most), replace=False)
    return tuple(sorted(int(value) for value in drawn))


def _stripes(system: StorageSystem, rng: np.random.Generator) -> tuple[int, ...]:
    if system.lustre is None:
        return (1,)
    osts = system.lustre.osts
    ranges = [(low, min(high, osts)) for low, high in STRIPE_RANGES if low <= osts]
    return tuple(int(rng.integers(low, high, endpoint=True)) for low, high in ranges)


def ior_command(pattern: SamplePattern, launcher: str, operation: str = "write") -> list[str]:
    """One write of every process to a file of its own in `$DIR`, flushed before its time is taken, then the reads."""
    m, n = pattern.nodes, pattern.cores
    start = [word.format(tasks=m * n, cores=n, nodes=m) for word in shlex.split(launcher)]
    size = f"{pattern.burst_bytes // MIB}m"
    flags = ["-a", "POSIX", *LETTERS[operation], "-F", "-e", "-i", "1", "-t", "1m", "-b", size]
    return [*start, "ior", *flags, "-o", "$DIR/penstock.ior", "-O", "summaryFormat=JSON"]


@dataclass(frozen=True, slots=True)
class ScriptStyle:
    """How a script starts IOR, how often, whether it sets stripes first, and what it times.

    Without a launcher it takes srun in a job of Slurm and mpirun elsewhere.
    """

    launcher: str | None
    rounds: int
    striped: bool
    operation: str = "write"


def job_script(patterns: Sequence[SamplePattern], style: ScriptStyle) -> str:
    """A job script that runs as it is, or under Slurm's sbatch; submit it again until samples converge."""
    return _header(patterns, style) + "\n".join(_scale(group, style) for group in by_nodes(patterns).values())


def by_nodes(patterns: Sequence[SamplePattern]) -> dict[int, list[SamplePattern]]:
    """The patterns of each number of nodes, the smallest first."""
    ordered = sorted(patterns, key=lambda one: one.nodes)
    return {nodes: list(group) for nodes, group in groupby(ordered, key=lambda one: one.nodes)}


def _header(patterns: Sequence[SamplePattern], style: ScriptStyle) -> str:
    """What the script asks Slurm for and what it will write."""
    written = format_size(sum(one.total_bytes for one in patterns) * style.rounds)
    largest = format_size(max(one.total_bytes for one in patterns))
    start = SLURM_START if style.launcher is None else ""
    return (
        f"#!/bin/bash\n#SBATCH --nodes={max(one.nodes for one in patterns)}\n"
        f"#SBATCH --ntasks-per-node={max(one.cores for one in patterns)}\n"
        f"# Writes {written} in {len(patterns) * style.rounds} runs of IOR, up to {largest} at a time.\n"
        "# DIR is where it writes, on the file system to measure. OUT keeps the results, a file for each run:\n"
        '#     penstock plan fit --data "$OUT"/*.json --out mine.json\n'
        "set -euo pipefail\n"
        'DIR="${DIR:-$PWD/penstock-sample}"\nOUT="${OUT:-$PWD/penstock-results}"\n'
        f'mkdir -p "$DIR" "$OUT"\n{start}\n'
    )


def _scale(patterns: Sequence[SamplePattern], style: ScriptStyle) -> str:
    """The runs of one scale."""
    m = patterns[0].nodes
    launcher, letters = style.launcher, " ".join(LETTERS[style.operation])
    if launcher is None:
        start = f'start {m} "$n"'
    else:
        named = {"{tasks}": f"$(({m} * n))", "{cores}": "$n", "{nodes}": str(m)}
        start = reduce(lambda text, one: text.replace(*one), named.items(), launcher)
    setstripe = 'lfs setstripe -c "$W" "$DIR/W$W"\n' if style.striped else ""
    lines = "".join(f"{one.cores} {one.burst_bytes // MIB} {one.stripes}\n" for one in patterns)
    return (
        f"# {m} {'node' if m == 1 else 'nodes'}, {len(patterns)} patterns: processes a node, K in MiB, W stripes.\n"
        f"for round in $(seq {style.rounds}); do\nwhile read -r n K W; do\n"
        'mkdir -p "$DIR/W$W"\n'
        f'{setstripe}{start} ior -a POSIX {letters} -F -e -i 1 -t 1m -b "${{K}}m" -o "$DIR/W$W/penstock.ior" \\\n'
        '    -O summaryFormat=JSON -O summaryFile="$OUT/ior-$(date +%s%N)-m'
        f'{m}-n$n-K$K-W$W.json" </dev/null\n'
        f"done <<'PATTERNS'\n{lines}PATTERNS\ndone\n"
    )
