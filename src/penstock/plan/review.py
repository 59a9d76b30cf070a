"""A reviewer's reading of a job: what its log shows, why it matters, what to set.

Findings carry a stable id, the evidence from the log and what to do. Rules are one function each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from penstock.plan.darshan import JobFacts, LayerFacts
from penstock.units import GIB, KIB, MIB, format_size

SMALL_WRITE_BYTES = 64 * KIB
MANY_WRITES = 1000
RANDOM_BELOW = 0.7
DENSE_RATIO = 0.5


@dataclass(frozen=True, slots=True)
class Finding:
    """One observation: an id to refer to, how grave it is, the evidence, and what to do."""

    id: str
    severity: str
    evidence: str
    advice: str


@dataclass(frozen=True, slots=True)
class WriteShape:
    """How the largest file is written: one typical call of every rank."""

    pattern: str
    collective: bool
    calls: int
    bytes_per_call: int
    block_bytes: int


def shape(facts: JobFacts) -> WriteShape | None:
    """The typical write of the job; None where it writes nothing."""
    layer = facts.mpiio or facts.posix
    if layer is None or not layer.writes:
        return None
    ranks = facts.ranks if facts.shared else 1
    per_rank = max(1, layer.bytes_written // ranks)
    collective = layer.collective_writes * 2 > layer.writes or _moved_collectively(layer)
    if facts.mpiio is not None and collective:
        calls = max(1, round(layer.collective_writes / ranks))
        size = max(1, min(per_rank, layer.common_bytes if layer.common_bytes > KIB else per_rank // calls))
        calls = max(1, round(per_rank / size))
    else:
        calls, size = 1, per_rank
    pattern, block = _pattern(facts, size)
    return WriteShape(pattern, collective, calls, size, min(block, size))


def _moved_collectively(layer: LayerFacts) -> bool:
    """Few collective calls may move nearly all bytes beside many tiny independent ones."""
    return (
        layer.collective_writes > 0 and layer.collective_writes * layer.common_bytes * 2 > layer.bytes_written
    )


def _pattern(facts: JobFacts, size: int) -> tuple[str, int]:
    posix = facts.posix
    if posix is None or not facts.shared:
        return "contiguous", size
    if posix.sequential_ratio < RANDOM_BELOW:
        return "random", max(1, posix.common_bytes)
    if posix.stride_ratio > DENSE_RATIO and posix.stride_bytes and posix.common_bytes < size:
        return "strided", max(1, posix.common_bytes)
    return "contiguous", size


def review(facts: JobFacts) -> list[Finding]:
    """Every rule's findings, gravest first."""
    found = [finding for rule in RULES for finding in rule(facts)]
    order = {"high": 0, "medium": 1, "info": 2}
    return sorted(found, key=lambda finding: order[finding.severity])


def _nothing(facts: JobFacts) -> Iterator[Finding]:
    if facts.bytes_written == 0:
        read = format_size(facts.bytes_read)
        yield Finding("W000", "info", f"the job writes nothing (it reads {read})", "no write hints to set")


def _stdio(facts: JobFacts) -> Iterator[Finding]:
    if facts.bytes_written and facts.posix is None and facts.mpiio is None:
        evidence = f"only buffered stdio writes, {format_size(facts.bytes_written)} in all"
        yield Finding("W002", "info", evidence, "MPI-IO hints do not reach stdio; nothing to set")


def _serial(facts: JobFacts) -> Iterator[Finding]:
    if facts.bytes_written and facts.ranks == 1:
        yield Finding(
            "W001", "info", "one rank", "collective buffering has nothing to gather; leave it alone"
        )


def _small_writes(facts: JobFacts) -> Iterator[Finding]:
    posix = facts.posix
    if posix is None or posix.mean_bytes >= SMALL_WRITE_BYTES or posix.writes < MANY_WRITES:
        return
    evidence = (
        f"{posix.writes} POSIX writes of {format_size(posix.mean_bytes)} on average reach the file system"
    )
    if facts.mpiio is not None and facts.mpiio.collective_writes * 2 > facts.mpiio.writes:
        advice = "two-phase I/O did not gather them: set romio_cb_write=enable and keep the file type's view"
    elif facts.shared and facts.mpiio is not None:
        advice = "they come from independent MPI-IO writes: make them collective, so aggregators gather them"
    elif facts.shared:
        advice = "write the shared file collectively (MPI_File_write_all), so that aggregators gather them"
    else:
        advice = f"buffer in the application: write at least {format_size(MIB)} at a time"
    yield Finding("W010", "high", evidence, advice)


def _independent(facts: JobFacts) -> Iterator[Finding]:
    mpiio = facts.mpiio
    if mpiio is None or not facts.shared or mpiio.collective_writes * 2 > mpiio.writes:
        return
    evidence = f"{mpiio.writes - mpiio.collective_writes} of {mpiio.writes} MPI-IO writes are independent"
    yield Finding(
        "W011",
        "high" if mpiio.mean_bytes < SMALL_WRITE_BYTES else "medium",
        evidence,
        "use collective writes (HDF5: H5FD_MPIO_COLLECTIVE); hints cannot help independent ones",
    )


def _no_mpiio(facts: JobFacts) -> Iterator[Finding]:
    if facts.shared and facts.mpiio is None and facts.posix is not None:
        evidence = f"{facts.ranks} ranks write one file by POSIX calls"
        yield Finding(
            "W012", "medium", evidence, "ROMIO's hints take effect only through MPI-IO (IOR: -a MPIIO -c)"
        )


def _random(facts: JobFacts) -> Iterator[Finding]:
    posix = facts.posix
    if posix is not None and posix.writes >= MANY_WRITES and posix.sequential_ratio < RANDOM_BELOW:
        evidence = f"only {posix.sequential_ratio:.0%} of the writes go forward in the file"
        yield Finding(
            "W013", "high", evidence, "sort or gather before writing: collective writes order the data"
        )


def _narrow(facts: JobFacts) -> Iterator[Finding]:
    if not facts.shared or facts.stripe_count is None or facts.posix is None:
        return
    wanted = stripe_count(facts)
    if facts.stripe_count * 2 <= wanted:
        size = format_size(facts.posix.bytes_written)
        evidence = f"{size} in one file on {facts.stripe_count} of Lustre's targets"
        yield Finding(
            "W020", "high", evidence, f"stripe wider: lfs setstripe -c {wanted} before the file is made"
        )


def _misaligned(facts: JobFacts) -> Iterator[Finding]:
    posix = facts.posix
    if (
        posix is not None
        and facts.shared
        and posix.writes >= MANY_WRITES
        and posix.misaligned_ratio > DENSE_RATIO
    ):
        evidence = f"{posix.misaligned_ratio:.0%} of accesses are not aligned to the file system's unit"
        yield Finding(
            "W021", "medium", evidence, "set striping_unit, so that file domains end on stripe borders"
        )


def _many_files(facts: JobFacts) -> Iterator[Finding]:
    if facts.file_per_process and facts.files_written >= MANY_WRITES:
        evidence = f"{facts.files_written} files, one a process"
        yield Finding("W030", "medium", evidence, "metadata servers feel this: subfile or aggregate per node")


RULES: tuple[Callable[[JobFacts], Iterator[Finding]], ...] = (
    _nothing,
    _stdio,
    _serial,
    _small_writes,
    _independent,
    _no_mpiio,
    _random,
    _narrow,
    _misaligned,
    _many_files,
)


def stripe_count(facts: JobFacts, osts: int = 64) -> int:
    """About one target a GiB of a shared file, at least four for more than 256 MiB, never fewer than now."""
    layer = facts.posix or facts.mpiio
    now = facts.stripe_count or 1
    if layer is None or not facts.shared:
        return now
    by_size = -(-layer.bytes_written // GIB)
    wanted = max(by_size, 4 if layer.bytes_written > 256 * MIB else 1)
    wanted = min(wanted, osts, facts.ranks)
    return max(now, 1 << (wanted - 1).bit_length() if wanted < osts else osts)
