"""Reviews a job: its typical write, the findings of all rules, and the stripe count for its file."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.plan.job.causes import CAUSES
from penstock.plan.job.findings import DENSE_RATIO, RANDOM_BELOW, JobFinding
from penstock.plan.job.job_facts import JobFacts, LayerFacts
from penstock.plan.job.setup_rules import SETUP_RULES, aggregators
from penstock.plan.job.traffic import JobTraffic
from penstock.plan.job.traffic_rules import TRAFFIC_RULES
from penstock.units import GIB, KIB, MIB


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
    """Whether collective calls moved nearly all bytes, even if there are many tiny independent calls."""
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


def review(facts: JobFacts, traffic: JobTraffic, nodes: int | None = None) -> list[JobFinding]:
    """The findings of all rules, the most severe first, then by expected gain.

    `nodes` is the number of nodes of the job, if known. The rule on aggregators needs it.
    """
    found = [finding for rule in SETUP_RULES for finding in rule(facts, stripe_count(facts), traffic)]
    found += [finding for each in (*TRAFFIC_RULES, *CAUSES) for finding in each(traffic)]
    found += aggregators(traffic, nodes)
    found = [_capped(finding, traffic.io_s) for finding in found]
    order = {"high": 0, "medium": 1, "low": 2, "info": 3}
    return sorted(found, key=lambda one: (order[one.severity], -(one.gain_s or 0.0), -one.at_stake_s))


def _capped(finding: JobFinding, io_s: float) -> JobFinding:
    """A change of its I/O saves a job no more than the time it waits for I/O.

    Seconds of a rank include metadata calls that others do not wait for, so a rule may find more.
    """
    return finding if finding.gain_s is None else replace(finding, gain_s=min(finding.gain_s, io_s))


def stripe_count(facts: JobFacts, osts: int = 64) -> int:
    """About one target a GiB of a shared file, at least four from 64 MiB on, never fewer than now."""
    layer = facts.posix or facts.mpiio
    now = facts.stripe_count or 1
    if layer is None or not facts.shared:
        return now
    by_size = -(-layer.bytes_written // GIB)
    wanted = max(by_size, 4 if layer.bytes_written >= 64 * MIB else 1)
    wanted = min(wanted, osts, facts.ranks)
    return max(now, 1 << (wanted - 1).bit_length() if wanted < osts else osts)
