"""The causes that experts look for behind a slow log. Each names the line to change and the evidence for it.

Other rules describe traffic (small, random, unequal). These say where it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from penstock.plan.job.file_details import FileDetail
from penstock.plan.job.findings import JobFinding, grade, try_stripes
from penstock.plan.job.traffic import SMALL_BYTES, FileTraffic, JobTraffic, RankSpread
from penstock.units import GIB, MIB, counted, format_size

# Fill values once and data once: between one and a half and a little more than two times the file.
FILLED = (1.5, 2.2)
ONE_FOR_ALL = 0.9
# Tiny writes are metadata where they cannot be more than this share of the bytes, and are felt from this share of
# the calls or this many.
METADATA_BYTES, METADATA_CALLS, MANY_TINY = 0.1, 0.1, 1000
RANDOM_SHARE, MANY_CALLS = 0.2, 1000
OPENS_EACH, MANY_OPENS = 10, 100
FEW_STRIPES, MOST_STRIPES = 4, 64
NO_FILL = (
    "H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER)   "
    "[h5py: fill_time='never'; netCDF: nc_set_fill(id, NC_NOFILL, 0)]"
)
READ_TOGETHER = (
    "MPI_File_read_at_all(...), with `romio_cb_read enable` in the file that ROMIO_HINTS names   "
    "[HDF5: H5Pset_dxpl_mpio(dxpl, H5FD_MPIO_COLLECTIVE)]"
)
WRITE_TOGETHER = "MPI_File_write_at_all(file, offset_of_rank, data, count, type, &status)   [on every rank]"
# The numbers are filled in once it is known how many aggregators are advised, and where.
TRY_AGGREGATORS = "penstock run --compare 5 --cb-nodes {cb_nodes} -- COMMAND"
MORE_AGGREGATORS = "cb_nodes {cb_nodes}; cb_config_list {places}   [in the file that ROMIO_HINTS names]"


def fill_values(one: FileTraffic, job: JobTraffic) -> bool:
    """Whether a file looks as if HDF5 had written fill values under all of its data."""
    detail = job.detail(one.name)
    ratio = one.moved_bytes / (one.highest_byte + 1)
    return one.op == "write" and detail is not None and detail.hdf5 and FILLED[0] <= ratio <= FILLED[1]


def _filled(job: JobTraffic) -> Iterator[JobFinding]:
    files = [one for one in job.of("write") if one.moved_bytes > MIB and fill_values(one, job)]
    if not files:
        return
    gain = sum(one.seconds * (1 - (one.highest_byte + 1) / one.moved_bytes) for one in files)
    first = files[0]
    ratio = first.moved_bytes / (first.highest_byte + 1)
    spread = next((one for one in job.spreads if one.name == first.name), None)
    alone = "" if spread is None else _heaviest(spread)
    yield JobFinding(
        "W041",
        grade(gain, gain, job.run_s),
        f"{counted(len(files), 'HDF5 file')} written about twice: {format_size(first.moved_bytes)} into "
        f"{format_size(first.highest_byte + 1)}, {ratio:.2f} times{alone}; so does HDF5 that fills new datasets "
        "before their data come",
        "do not fill what is written in full anyway",
        gain_s=gain,
        at_stake_s=sum(one.seconds for one in files),
        files=tuple(one.name for one in files[:3]),
        change=NO_FILL,
    )


def _heaviest(spread: RankSpread) -> str:
    most = max(spread.slowest_bytes, spread.fastest_bytes)
    return f", {format_size(most)} of it by one rank" if most > 2 * spread.mean_bytes else ""


def _metadata_writes(job: JobTraffic) -> Iterator[JobFinding]:
    files = [one for one in job.details if one.hdf5 and _tiny_metadata(one)]
    if not files:
        return
    tiny, writes = sum(one.tiny_writes for one in files), sum(one.writes for one in files)
    spent = 0.0
    for one in files:
        there = [each for each in job.of("write") if each.name == one.name]
        spent += sum(each.seconds * one.tiny_writes / max(1, one.writes) for each in there)
    unit = job.alignment_bytes or MIB
    yield JobFinding(
        "B061",
        grade(None, spent, job.run_s),
        f"{tiny} of {writes} writes to {counted(len(files), 'HDF5 file')} move 10 KiB or less, "
        f"{format_size(sum(one.tiny_bytes for one in files))} at most, and "
        f"{sum(one.misaligned for one in files)} requests are not aligned: metadata between the data",
        "gather metadata in blocks and let one rank write them for all; start datasets at whole stripes",
        at_stake_s=spent,
        files=tuple(one.name for one in files[:3]),
        change=f"H5Pset_meta_block_size(fapl, {MIB}); H5Pset_coll_metadata_write(fapl, 1); "
        f"H5Pset_alignment(fapl, {SMALL_BYTES}, {unit})",
    )


def _tiny_metadata(one: FileDetail) -> bool:
    felt = one.tiny_writes >= MANY_TINY or one.tiny_writes >= METADATA_CALLS * one.writes > 0
    return felt and bool(one.misaligned) and one.tiny_bytes <= METADATA_BYTES * one.written_bytes


def _one_rank(job: JobTraffic) -> Iterator[JobFinding]:
    shared = [one for one in job.spreads if _does_all(one)]
    if shared:
        worst = max(shared, key=lambda one: one.slowest_s)
        gain = sum(max(0.0, one.slowest_s - one.mean_s) for one in shared)
        yield JobFinding(
            "B053",
            grade(gain, gain, job.run_s),
            f"one rank of {worst.ranks} moves {format_size(max(worst.slowest_bytes, worst.fastest_bytes))} of a "
            f"file's {format_size(worst.mean_bytes * worst.ranks)} in {worst.slowest_s:.3g} s; the others wait",
            "let several ranks write: aggregators where calls are collective, else no gathering on one rank",
            check=TRY_AGGREGATORS if any(use.collective for use in job.mpiio) else "",
            gain_s=gain,
            at_stake_s=sum(one.slowest_s for one in shared),
            files=(worst.name,),
            change=_more_writers(job),
        )
    yield from _only_rank(job)


def _does_all(one: RankSpread) -> bool:
    total = one.mean_bytes * one.ranks
    return total >= MIB and max(one.slowest_bytes, one.fastest_bytes) > ONE_FOR_ALL * total


def _more_writers(job: JobTraffic) -> str:
    """The hint, where collective calls already reach ROMIO; otherwise the call."""
    if any(use.collective for use in job.mpiio):
        return MORE_AGGREGATORS
    return WRITE_TOGETHER


def _only_rank(job: JobTraffic) -> Iterator[JobFinding]:
    """Files of one rank that hold nearly all of the job's bytes."""
    total = sum(one.moved_bytes for one in job.details)
    by_rank: dict[int, int] = {}
    for one in job.details:
        if one.only_rank is not None and one.only_rank >= 0:
            by_rank[one.only_rank] = by_rank.get(one.only_rank, 0) + one.moved_bytes
    rank = max(by_rank, key=lambda key: by_rank[key], default=None)
    if rank is None or job.ranks < 2 or total < MIB or by_rank[rank] <= ONE_FOR_ALL * total:
        return
    mine = [one for one in job.details if one.only_rank == rank]
    # A rank's own file counts with the mean over ranks, but here all of them wait for that one.
    spent = min(
        job.run_s, sum(job.rank_seconds(each) for one in mine for each in job.files if each.name == one.name)
    )
    gain = spent * (1 - 1 / job.ranks)
    yield JobFinding(
        "B053",
        grade(gain, spent, job.run_s),
        f"rank {rank} of {job.ranks} alone moves {format_size(by_rank[rank])} of {format_size(total)} in "
        f"{spent:.3g} s",
        "let every rank move its own part of a shared file",
        gain_s=gain,
        at_stake_s=spent,
        files=tuple(one.name for one in mine[:3]),
        change=WRITE_TOGETHER,
    )


def _one_stripe(job: JobTraffic) -> Iterator[JobFinding]:
    """Shared files on a single target: all ranks wait for one server."""
    for op, letter in (("read", "R"), ("write", "W")):
        files = [one for one in job.of(op) if one.shared and one.moved_bytes >= MIB and job.stripes(one) == 1]
        if not files:
            continue
        spent = sum(one.seconds for one in files)
        wide = max(FEW_STRIPES, min(MOST_STRIPES, *(-(-one.moved_bytes // GIB) for one in files)))
        name = files[0].name
        how = (
            f"lfs migrate -c {wide} {name}"
            if op == "read"
            else f"lfs setstripe -c {wide} {name.rsplit('/', 1)[0]}"
        )
        yield JobFinding(
            f"{letter}020",
            grade(None, spent, job.run_s),
            f"{job.ranks} ranks {op} {counted(len(files), 'shared file')} on one Lustre target, "
            f"{format_size(files[0].moved_bytes)} in the first; the job waits {spent:.3g} s for that",
            "spread the file over several targets; no log tells what that gains",
            # A file that is read has its stripes already.
            check="" if op == "read" else try_stripes(wide, job.through_mpiio("write")),
            at_stake_s=spent,
            files=tuple(one.name for one in files[:3]),
            change=how,
        )


def _random_small_reads(job: JobTraffic) -> Iterator[JobFinding]:
    files = [
        one
        for one in job.of("read")
        if one.shared and one.random_calls > RANDOM_SHARE * one.calls and 2 * one.small_calls > one.calls
    ]
    astray = sum(one.random_calls for one in files)
    if job.ranks < 2 or astray <= MANY_CALLS:
        return
    spent = sum(one.seconds for one in files)
    moved, calls = sum(one.moved_bytes for one in files), sum(one.calls for one in files)
    yield JobFinding(
        "R016",
        grade(None, spent, job.run_s),
        f"{calls} reads of {format_size(moved / calls)} on average jump about in "
        f"{counted(len(files), 'shared file')}, {astray} of them backwards; {format_size(moved)} in all",
        "read collectively: aggregators fetch whole ranges and hand out the pieces",
        check="once they are: penstock run --compare 5 --hint romio_cb_read=enable -- COMMAND",
        at_stake_s=spent,
        files=tuple(one.name for one in files[:3]),
        change=READ_TOGETHER,
    )


def _opens_in_loops(job: JobTraffic) -> Iterator[JobFinding]:
    files = [one for one in job.details if one.opens >= MANY_OPENS and one.opens_each >= OPENS_EACH]
    if not files:
        return
    worst = max(files, key=lambda one: one.opens_each)
    spent = min(job.run_s, sum(one.metadata_s / max(1, one.ranks) for one in files))
    gain = sum(one.metadata_s / max(1, one.ranks) * (1 - 1 / one.opens_each) for one in files)
    yield JobFinding(
        "B062",
        grade(gain, spent, job.run_s),
        f"{counted(len(files), 'file')} opened again and again: one {worst.opens} times by "
        f"{counted(worst.ranks, 'rank')}, {worst.opens_each:.0f} times each; a rank waits {spent:.3g} s for that",
        "open before the loop and close after it; keep the handle",
        gain_s=gain,
        at_stake_s=spent,
        files=tuple(one.name for one in files[:3]),
        change="move open()/MPI_File_open()/H5Fopen() and its close out of the loop",
    )


Cause = Callable[[JobTraffic], Iterator[JobFinding]]
CAUSES: tuple[Cause, ...] = (
    _filled,
    _metadata_writes,
    _one_rank,
    _one_stripe,
    _random_small_reads,
    _opens_in_loops,
)
