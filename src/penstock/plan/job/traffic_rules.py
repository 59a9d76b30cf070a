"""Rules about a job's traffic: small, random, misaligned, redundant, unequal, metadata, collectives, blocking.

Each rule is a function of the traffic alone and covers reads and writes. An id begins with R for reads, W for writes,
B for both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from penstock.plan.job.causes import ONE_FOR_ALL, TRY_AGGREGATORS, fill_values
from penstock.plan.job.findings import JobFinding, grade
from penstock.plan.job.traffic import SMALL_BYTES, FileTraffic, JobTraffic, RankSpread
from penstock.units import counted, format_size

LETTER = {"read": "R", "write": "W"}
PAST = {"read": "read", "write": "written"}
SMALL_SHARE, MANY_CALLS = 0.1, 1000
RANDOM_SHARE = 0.2
MISALIGNED_SHARE = 0.1
REDUNDANT = 1.05
STRAGGLER, UNEQUAL = 1.15, 1.3
# Thresholds: how much two ranks of a file may differ, and how much less than the most the least may move.
FAR_APART, WIDE_GAP = 0.15, 0.3
METADATA_SHARE, METADATA_S = 0.3, 30.0
SHOWN_FILES = 3


def _names(files: Sequence[FileTraffic]) -> tuple[str, ...]:
    return tuple(one.name for one in files[:SHOWN_FILES])


def _merged_gain(job: JobTraffic, files: Sequence[FileTraffic]) -> float:
    """What the job saves if small calls become calls of 1 MiB.

    The time shrinks with the number of calls, but not below the time at the log's best rate of large calls.
    """
    gain = 0.0
    for one in files:
        moved = one.moved_bytes * one.small_calls / one.calls
        after = one.small_seconds * min(1.0, moved / SMALL_BYTES / max(1, one.small_calls))
        rate = job.best_rate(one.op)
        if rate:
            after = max(after, moved * one.seconds / max(job.rank_seconds(one), 1e-12) / rate)
        gain += max(0.0, one.small_seconds - after)
    return gain


def _small(job: JobTraffic) -> Iterator[JobFinding]:
    """Reports small calls if they are many among all calls of the job or among those to shared files."""
    for op, letter in LETTER.items():
        files = [one for one in job.of(op) if one.small_calls]
        shared = [one for one in files if one.shared and job.ranks > 1]
        if _many_small(files, job.of(op)) or _many_small(shared, [one for one in job.of(op) if one.shared]):
            yield _small_finding(job, letter, files, shared)


def _many_small(files: Sequence[FileTraffic], among: Sequence[FileTraffic]) -> bool:
    small, calls = sum(one.small_calls for one in files), sum(one.calls for one in among)
    return small > MANY_CALLS and small > SMALL_SHARE * calls


def _small_finding(
    job: JobTraffic, letter: str, files: Sequence[FileTraffic], shared: Sequence[FileTraffic]
) -> JobFinding:
    op = files[0].op
    small, calls = sum(one.small_calls for one in files), sum(one.calls for one in job.of(op))
    mean = sum(one.moved_bytes for one in files) / max(1, sum(one.calls for one in files))
    to_shared = f", {sum(one.small_calls for one in shared)} of them to shared files" if shared else ""
    gain, spent = _merged_gain(job, files), sum(one.small_seconds for one in files)
    collective = job.ranks > 1 and any(use.op == op and use.mostly_collective for use in job.mpiio)
    return JobFinding(
        letter + "010",
        grade(gain, spent, job.run_s),
        f"{small} of {calls} POSIX {op}s move 1 MiB or less, {format_size(mean)} on average{to_shared}; the job "
        f"waits {spent:.3g} s for them",
        _gather_advice(op, collective, bool(shared)),
        _gather_check(op, collective) if shared else "",
        gain,
        spent,
        _names(files),
    )


def _gather_advice(op: str, collective: bool, shared: bool) -> str:
    if collective:
        return f"two-phase I/O did not gather them: set romio_cb_{op}=enable and keep the file type's view"
    if shared:
        return f"make them collective (MPI_File_{op}_all), so that aggregators gather them"
    return f"buffer in the application: {op} at least 1 MiB at a time"


def _gather_check(op: str, collective: bool) -> str:
    command = f"penstock run --compare 5 --hint romio_cb_{op}=enable -- COMMAND"
    return command if collective else f"once they are: {command}"


def _random(job: JobTraffic) -> Iterator[JobFinding]:
    for op, letter in LETTER.items():
        files = job.of(op)
        calls, astray = sum(one.calls for one in files), sum(one.random_calls for one in files)
        if astray > MANY_CALLS and astray > RANDOM_SHARE * calls:
            spent = sum(one.seconds * one.random_calls / one.calls for one in files)
            advice = (
                "sort or gather before writing: collective writes order the data"
                if op == "write"
                else "sort the reads, or read collectively: aggregators read whole ranges (romio_cb_read=enable)"
            )
            yield JobFinding(
                letter + "013",
                grade(None, spent, job.run_s),
                f"{astray} of {calls} {op}s go neither forward nor on from the last one",
                advice,
                at_stake_s=spent,
                files=_names(sorted(files, key=lambda one: -one.random_calls)),
            )


def _misaligned(job: JobTraffic) -> Iterator[JobFinding]:
    moving = sum(one.seconds for one in job.files)
    if job.calls and job.misaligned > MISALIGNED_SHARE * job.calls:
        spent = moving * min(1.0, job.misaligned / job.calls)
        unit = format_size(job.alignment_bytes)
        advice = (
            f"start and end requests at multiples of {unit}; collectives: striping_unit={job.alignment_bytes}"
        )
        if job.hdf5:
            advice += f"; HDF5: H5Pset_alignment(fapl, {SMALL_BYTES}, {job.alignment_bytes})"
        evidence = f"{job.misaligned / job.calls:.0%} of requests are not aligned to the file system's {unit}"
        yield JobFinding("B021", grade(None, spent, job.run_s), evidence, advice, at_stake_s=spent)
    if job.calls and job.misaligned_memory > MISALIGNED_SHARE * job.calls:
        spent = moving * min(1.0, job.misaligned_memory / job.calls)
        evidence = f"{job.misaligned_memory / job.calls:.0%} of requests use memory that is not aligned"
        advice = "allocate buffers with posix_memalign; it matters for direct I/O only"
        yield JobFinding("B022", "low", evidence, advice, at_stake_s=spent)


def _redundant(job: JobTraffic) -> Iterator[JobFinding]:
    for op, letter in LETTER.items():
        files = [
            one
            for one in job.of(op)
            if one.moved_bytes > REDUNDANT * (one.highest_byte + 1) and not fill_values(one, job)
        ]
        again = sum(one.moved_bytes - one.highest_byte - 1 for one in files)
        if not files or again < SMALL_BYTES:
            continue
        gain = sum(one.seconds * (1 - (one.highest_byte + 1) / one.moved_bytes) for one in files)
        advice = (
            "read once and share the data (MPI_Bcast), or read collectively"
            if op == "read"
            else "the same bytes are written again: keep them in memory until they are final"
        )
        yield JobFinding(
            letter + "040",
            grade(gain, gain, job.run_s),
            f"{format_size(sum(one.moved_bytes for one in files))} {PAST[op]} in {counted(len(files), 'file')} of "
            f"{format_size(sum(one.highest_byte + 1 for one in files))}: {format_size(again)} more than once",
            advice,
            gain_s=gain,
            at_stake_s=sum(one.seconds for one in files),
            files=_names(files),
        )


def _unequal(job: JobTraffic) -> Iterator[JobFinding]:
    """Reports unequal ranks: the others wait for the slowest one."""
    slow = [
        one
        for one in job.spreads
        if one.mean_s > 0 and (one.slowest_s > STRAGGLER * one.mean_s or one.seconds_apart > FAR_APART)
    ]
    if slow:
        gain = sum(one.slowest_s - one.mean_s for one in slow)
        worst = max(slow, key=lambda one: one.slowest_s - one.mean_s)
        yield JobFinding(
            "B051",
            grade(gain, gain, job.run_s),
            f"ranks wait for stragglers in {counted(len(slow), 'shared file')}: in one the slowest took "
            f"{worst.slowest_s:.3g} s, the mean is {worst.mean_s:.3g} s",
            _share_advice(worst),
            TRY_AGGREGATORS if any(use.collective for use in job.mpiio) else "",
            gain,
            sum(one.slowest_s for one in slow),
            (worst.name,),
        )
    uneven = [one for one in job.spreads if _uneven(one)]
    if uneven:
        worst = max(uneven, key=lambda one: one.mean_bytes)
        gain = sum(max(0.0, one.slowest_s - one.mean_s) for one in uneven)
        yield JobFinding(
            "B050",
            grade(gain, gain, job.run_s),
            f"ranks move unequal shares of {counted(len(uneven), 'shared file')}: in one the slowest and the fastest "
            f"moved {format_size(worst.slowest_bytes)} and {format_size(worst.fastest_bytes)}, the mean is "
            f"{format_size(worst.mean_bytes)}",
            _share_advice(worst),
            TRY_AGGREGATORS if any(use.collective for use in job.mpiio) else "",
            gain,
            sum(one.slowest_s for one in uneven),
            (worst.name,),
        )


def _share_advice(one: RankSpread) -> str:
    """Unequal by design, where aggregators move the others' data, or by the program."""
    if max(one.slowest_bytes, one.fastest_bytes) > ONE_FOR_ALL * one.mean_bytes * one.ranks:
        more = "let more ranks aggregate (cb_nodes), and stripe the file as wide"
        return f"one rank moves the data of all {one.ranks}: {more}"
    return "give ranks equal shares; where some ranks aggregate for the others, raise cb_nodes"


def _uneven(one: RankSpread) -> bool:
    most = max(one.slowest_bytes, one.fastest_bytes)
    return (
        (one.mean_bytes > 0 and most > UNEQUAL * one.mean_bytes)
        or one.bytes_apart > FAR_APART
        or one.gap > WIDE_GAP
    )


def _own_unequal(job: JobTraffic) -> Iterator[JobFinding]:
    """Reports ranks with unequal files of their own: at the next synchronisation everybody waits for the largest."""
    for one in job.own:
        if one.most_bytes <= UNEQUAL * one.mean_bytes:
            continue
        gain = max(0.0, one.most_s - one.mean_s)
        yield JobFinding(
            LETTER[one.op] + "052",
            grade(gain, gain, job.run_s),
            f"{one.ranks} ranks {one.op} unequal amounts in files of their own: one moves "
            f"{format_size(one.most_bytes)} where the mean is {format_size(one.mean_bytes)}",
            "give ranks equal shares; where one rank works for all, use a shared file and collective calls",
            gain_s=gain,
            at_stake_s=one.most_s,
        )


def _metadata(job: JobTraffic) -> Iterator[JobFinding]:
    heavy = job.mean_io_s > 0 and job.metadata_s > METADATA_SHARE * job.mean_io_s
    if job.worst_metadata_s > METADATA_S or heavy:
        advice = "open files once, and by one rank where all read the same"
        if job.hdf5:
            advice += "; HDF5: H5Pset_all_coll_metadata_ops, H5Pset_coll_metadata_write"
        yield JobFinding(
            "B060",
            grade(None, job.metadata_s, job.run_s),
            f"{job.opens} opens; a rank waits {job.metadata_s:.3g} s for metadata, "
            f"{job.metadata_s / max(job.mean_io_s, 1e-9):.0%} of its I/O",
            advice,
            at_stake_s=job.metadata_s,
        )


def _independent(job: JobTraffic) -> Iterator[JobFinding]:
    for use in job.mpiio:
        blocking = use.independent + use.collective
        if job.ranks < 2 or use.independent <= MANY_CALLS or use.mostly_collective:
            continue
        files = [one for one in job.of(use.op) if one.shared]
        spent, gain = sum(one.seconds for one in files), _merged_gain(job, files)
        yield JobFinding(
            LETTER[use.op] + "011",
            grade(gain, spent, job.run_s),
            f"{use.independent} of {blocking} MPI-IO {use.op}s are independent",
            f"use collective {use.op}s (HDF5: H5FD_MPIO_COLLECTIVE); hints cannot help independent ones",
            "",
            gain,
            spent,
            _names(files),
        )


def _waiting(job: JobTraffic) -> Iterator[JobFinding]:
    for use in job.mpiio:
        if use.independent + use.collective and not use.nonblocking:
            spent = sum(one.seconds for one in job.of(use.op))
            hidden = min(spent, max(0.0, job.run_s - job.io_s))
            yield JobFinding(
                LETTER[use.op] + "015",
                grade(None, hidden, job.run_s),
                f"every MPI-IO {use.op} waits until it is done, {spent:.3g} s in all",
                f"overlap them with computing: MPI_File_i{use.op}{'_all' if job.ranks > 1 else ''}, or HDF5's "
                "asynchronous connector",
                at_stake_s=hidden,
            )


TrafficRule = Callable[[JobTraffic], Iterator[JobFinding]]
TRAFFIC_RULES: tuple[TrafficRule, ...] = (
    _small,
    _random,
    _misaligned,
    _redundant,
    _unequal,
    _own_unequal,
    _metadata,
    _independent,
    _waiting,
)
