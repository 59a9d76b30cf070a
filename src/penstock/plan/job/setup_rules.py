"""Rules on how a job is set up: nothing to do, MPI-IO, collectives, striping, many files. One function each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.plan.job.findings import JobFinding, grade, try_stripes
from penstock.plan.job.job_facts import JobFacts
from penstock.plan.job.traffic import JobTraffic
from penstock.units import format_size

MANY_FILES = 1000


def _nothing(facts: JobFacts, stripes: int, job: JobTraffic) -> Iterator[JobFinding]:
    if facts.bytes_written == 0 and facts.bytes_read == 0:
        yield JobFinding("W000", "info", "the job neither reads nor writes through files", "nothing to set")


def _stdio(facts: JobFacts, stripes: int, job: JobTraffic) -> Iterator[JobFinding]:
    total = facts.bytes_written + facts.bytes_read
    if total and job.stdio_bytes > 0.1 * total:
        evidence = f"{format_size(job.stdio_bytes)} of {format_size(total)} move through buffered stdio"
        yield JobFinding(
            "S002", "info", evidence, "MPI-IO hints do not reach stdio: write through MPI-IO or POSIX"
        )


def _serial(facts: JobFacts, stripes: int, job: JobTraffic) -> Iterator[JobFinding]:
    if facts.ranks == 1 and (facts.bytes_written or facts.bytes_read):
        yield JobFinding(
            "W001", "info", "one rank", "collective buffering has nothing to gather; leave it alone"
        )


def _no_mpiio(facts: JobFacts, stripes: int, job: JobTraffic) -> Iterator[JobFinding]:
    shared = [one for one in job.files if one.shared]
    if facts.ranks < 2 or not shared or job.mpiio:
        return
    spent = sum(one.seconds for one in shared)
    ops = " and ".join(sorted({one.op for one in shared}))
    yield JobFinding(
        "W012",
        grade(None, spent, job.run_s),
        f"{facts.ranks} ranks {ops} shared files by POSIX calls",
        "use MPI-IO (IOR: -a MPIIO -c): ROMIO's hints take effect only there",
        at_stake_s=spent,
        files=tuple(one.name for one in shared[:3]),
    )


def _narrow(facts: JobFacts, stripes: int, job: JobTraffic) -> Iterator[JobFinding]:
    if (
        not facts.shared
        or facts.stripe_count is None
        or facts.posix is None
        or facts.stripe_count == 1  # that is a cause, with the line to change
        or facts.stripe_count * 2 > stripes
    ):
        return
    spent = sum(one.seconds for one in job.of("write") if one.shared)
    size = format_size(facts.posix.bytes_written)
    yield JobFinding(
        "W020",
        grade(None, spent, job.run_s),
        f"{size} in one file on {facts.stripe_count} of Lustre's targets",
        f"stripe wider: lfs setstripe -c {stripes} before the file is made; no log tells what that gains",
        check=try_stripes(stripes, job.through_mpiio("write")),
        at_stake_s=spent,
    )


def _many_files(facts: JobFacts, stripes: int, job: JobTraffic) -> Iterator[JobFinding]:
    if facts.file_per_process and facts.files_written >= MANY_FILES:
        evidence = f"{facts.files_written} files, one a process"
        severity = grade(None, job.metadata_s, job.run_s)
        advice = "metadata servers feel this: subfile or aggregate per node"
        yield JobFinding("W030", severity, evidence, advice, at_stake_s=job.metadata_s)


def aggregators(job: JobTraffic, nodes: int | None) -> list[JobFinding]:
    """Reports aggregators if the log names them and there are fewer than one or more than two per node.

    More aggregators send more data over the network, fewer leave links idle. No log shows which is better.
    """
    asked = job.aggregators
    collective = {use.op for use in job.mpiio if use.collective}
    if asked is None or nodes is None or nodes <= asked <= 2 * nodes or not collective:
        return []
    spent = sum(one.seconds for one in job.files if one.shared and one.op in collective)
    few = "some nodes' links idle" if asked < nodes else "several a node gather over the network"
    return [
        JobFinding(
            "B070",
            grade(None, spent, job.run_s),
            f"the job asked for cb_nodes={asked} on {nodes} nodes: {few}",
            f"try one or two aggregators a node: cb_nodes={nodes} or {2 * nodes}",
            check=f"penstock run --compare 5 --cb-nodes {nodes} -- COMMAND",
            at_stake_s=spent,
        )
    ]


SetupRule = Callable[[JobFacts, int, JobTraffic], Iterator[JobFinding]]
SETUP_RULES: tuple[SetupRule, ...] = (_nothing, _stdio, _serial, _no_mpiio, _narrow, _many_files)
