"""The reads and writes of a job by file and direction, from its Darshan log.

Times of a record that all ranks share are sums over ranks. What a job waits for is its slowest rank: where one
aggregator writes for a thousand ranks, the mean over ranks is a thousandth of the time that passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.observe.darshan_log import RawLog, Rows
from penstock.plan.job.file_details import FileDetail, file_details
from penstock.units import MIB

SMALL_BYTES = MIB
SMALL_BINS = ("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M")
WORDS = {
    "read": ("READS", "BYTES_READ", "MAX_BYTE_READ", "F_READ_TIME", "READ"),
    "write": ("WRITES", "BYTES_WRITTEN", "MAX_BYTE_WRITTEN", "F_WRITE_TIME", "WRITE"),
}


@dataclass(frozen=True, slots=True)
class FileTraffic:
    """One file's reads or writes through POSIX calls.

    `seconds` are what the job waits: those of a shared file's slowest rank, or the mean over all ranks of a file
    that one rank has for itself. `total_s` is the sum over ranks; zero stands for equal ranks.
    """

    name: str
    op: str
    shared: bool
    calls: int
    moved_bytes: int
    small_calls: int
    consecutive: int
    forward: int
    highest_byte: int
    seconds: float
    total_s: float = 0.0

    @property
    def mean_bytes(self) -> float:
        """The average size of a call."""
        return self.moved_bytes / self.calls if self.calls else 0.0

    @property
    def random_calls(self) -> int:
        """Calls that neither continue the last one nor move forward."""
        return max(0, self.calls - self.forward)

    @property
    def small_seconds(self) -> float:
        """The time of small calls, estimated by their share of the calls."""
        return self.seconds * self.small_calls / self.calls if self.calls else 0.0


@dataclass(frozen=True, slots=True)
class RankSpread:
    """How unequally ranks used one file: seconds and bytes of the slowest and of the fastest rank, and the means.

    `ranks` is the number of ranks that took part. `gap` is the difference between the rank that moved most and the
    one that moved least, in either direction, as a share of the most. It is known if the log keeps ranks apart.
    """

    name: str
    slowest_s: float
    fastest_s: float
    slowest_bytes: int
    fastest_bytes: int
    mean_s: float
    mean_bytes: float
    ranks: int
    gap: float = 0.0

    @property
    def seconds_apart(self) -> float:
        """The difference in time between the slowest and the fastest rank, as a share of the time of all ranks."""
        total = self.mean_s * self.ranks
        return abs(self.slowest_s - self.fastest_s) / total if total else 0.0

    @property
    def bytes_apart(self) -> float:
        """The difference in bytes between the slowest and the fastest rank, as a share of all bytes."""
        total = self.mean_bytes * self.ranks
        return abs(self.slowest_bytes - self.fastest_bytes) / total if total else 0.0


@dataclass(frozen=True, slots=True)
class OwnShares:
    """How unequally ranks used files of their own: the busiest rank and the mean."""

    op: str
    ranks: int
    most_bytes: int
    mean_bytes: float
    most_s: float
    mean_s: float


@dataclass(frozen=True, slots=True)
class CollectiveUse:
    """MPI-IO calls of one direction, by kind."""

    op: str
    independent: int
    collective: int
    nonblocking: int

    @property
    def mostly_collective(self) -> bool:
        """Whether most calls that wait are collective: hints reach no others."""
        return self.collective > self.independent


@dataclass(frozen=True, slots=True)
class JobTraffic:
    """All files of a job, inequality between ranks, and the cost of metadata operations."""

    ranks: int
    run_s: float
    files: tuple[FileTraffic, ...]
    spreads: tuple[RankSpread, ...]
    mpiio: tuple[CollectiveUse, ...]
    misaligned: int
    misaligned_memory: int
    calls: int
    alignment_bytes: int
    metadata_s: float
    worst_metadata_s: float
    opens: int
    stdio_bytes: int
    own: tuple[OwnShares, ...] = ()
    aggregators: int | None = None
    details: tuple[FileDetail, ...] = ()

    def detail(self, name: str) -> FileDetail | None:
        """What else the log tells of a file."""
        return next((one for one in self.details if one.name == name), None)

    def stripes(self, one: FileTraffic) -> int | None:
        """The Lustre targets of a file, where the log names them."""
        detail = self.detail(one.name)
        return None if detail is None else detail.stripes

    @property
    def hdf5(self) -> bool:
        """Whether the job uses HDF5; netCDF-4 files are HDF5 files."""
        return any(one.hdf5 for one in self.details)

    def of(self, op: str) -> tuple[FileTraffic, ...]:
        """The files of one direction, the costliest first."""
        return tuple(sorted((one for one in self.files if one.op == op), key=lambda one: -one.seconds))

    def through_mpiio(self, op: str) -> bool:
        """Whether the job makes MPI-IO calls of a direction: hints reach no others."""
        return any(use.op == op and use.independent + use.collective + use.nonblocking for use in self.mpiio)

    @property
    def io_s(self) -> float:
        """The seconds the job waits for reads, writes and metadata."""
        return min(self.run_s, sum(one.seconds for one in self.files) + self.metadata_s)

    @property
    def mean_io_s(self) -> float:
        """The same of a typical rank, which may write nothing while another writes for it."""
        return sum(self.rank_seconds(one) for one in self.files) / max(1, self.ranks) + self.metadata_s

    def rank_seconds(self, one: FileTraffic) -> float:
        """The sum over ranks of the time they spent on a file."""
        return one.total_s or one.seconds * self.ranks

    def best_rate(self, op: str) -> float | None:
        """The best bytes per second of a rank in calls of at least 1 MiB, or None without such calls."""
        rates = [
            one.moved_bytes / self.rank_seconds(one)
            for one in self.of(op)
            if one.mean_bytes >= SMALL_BYTES and one.seconds > 0
        ]
        return max(rates, default=None)


def traffic(raw: RawLog) -> JobTraffic:
    """Reduce a log's records. Pure."""
    rows = raw.modules.get("POSIX", [])
    by_file: dict[int, Rows] = {}
    for row in rows:
        by_file.setdefault(int(row["id"]), []).append(row)
    files = [
        found
        for key, own in by_file.items()
        for op in WORDS
        if (found := _file(raw, (key, own), op)) is not None
    ]
    return JobTraffic(
        ranks=raw.ranks,
        run_s=raw.run_s,
        files=tuple(files),
        spreads=tuple(_spreads(raw, by_file)),
        mpiio=tuple(_collective(raw.modules.get("MPI-IO", []))),
        misaligned=_sum(rows, "POSIX_FILE_NOT_ALIGNED"),
        misaligned_memory=_sum(rows, "POSIX_MEM_NOT_ALIGNED"),
        calls=_sum(rows, "POSIX_READS") + _sum(rows, "POSIX_WRITES"),
        alignment_bytes=max([int(row.get("POSIX_FILE_ALIGNMENT", 0)) for row in rows], default=0),
        metadata_s=_seconds(rows, "POSIX_F_META_TIME") / max(1, raw.ranks),
        worst_metadata_s=max([float(row.get("POSIX_F_META_TIME", 0)) for row in rows], default=0.0),
        opens=_sum(rows, "POSIX_OPENS"),
        stdio_bytes=sum(
            _sum(raw.modules.get("STDIO", []), f"STDIO_{word}") for word in ("BYTES_WRITTEN", "BYTES_READ")
        ),
        own=tuple(_own_shares(by_file)),
        aggregators=_whole(raw.hints.get("cb_nodes", "")),
        details=file_details(raw),
    )


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _own_shares(by_file: Mapping[int, Rows]) -> list[OwnShares]:
    """Each rank's sums over the files that no other rank touched."""
    own = [rows[0] for rows in by_file.values() if len(rows) == 1 and int(rows[0]["rank"]) >= 0]
    found = []
    for op, (_, moved, _, spent, _) in WORDS.items():
        by_rank: dict[int, Rows] = {}
        for row in own:
            if _sum([row], f"POSIX_{moved}"):
                by_rank.setdefault(int(row["rank"]), []).append(row)
        if len(by_rank) < 2:
            continue
        sizes = [_sum(rows, f"POSIX_{moved}") for rows in by_rank.values()]
        seconds = [_seconds(rows, f"POSIX_{spent}") for rows in by_rank.values()]
        count = len(by_rank)
        found.append(OwnShares(op, count, max(sizes), sum(sizes) / count, max(seconds), sum(seconds) / count))
    return found


def _file(raw: RawLog, records: tuple[int, Rows], op: str) -> FileTraffic | None:
    key, rows = records
    calls, moved, highest, spent, sizes = (f"POSIX_{word}" for word in WORDS[op])
    if not _sum(rows, calls):
        return None
    word = WORDS[op][0]
    return FileTraffic(
        name=raw.names.get(str(key), str(key)),
        op=op,
        shared=raw.ranks > 1 and (any(int(row["rank"]) < 0 for row in rows) or len(rows) > 1),
        calls=_sum(rows, calls),
        moved_bytes=_sum(rows, moved),
        small_calls=sum(
            _sum(rows, f"POSIX_SIZE_{sizes.removeprefix('POSIX_')}_{size}") for size in SMALL_BINS
        ),
        consecutive=_sum(rows, f"POSIX_CONSEC_{word}"),
        forward=_sum(rows, f"POSIX_SEQ_{word}"),
        highest_byte=max(int(row.get(highest, 0)) for row in rows),
        seconds=_waited(rows, spent, max(1, raw.ranks)),
        total_s=_seconds(rows, spent),
    )


def _waited(rows: Rows, spent: str, ranks: int) -> float:
    """The slowest rank's seconds; a merged record tells them for all its calls together, shared out by time."""
    mean = _seconds(rows, spent) / ranks
    merged = next((row for row in rows if int(row["rank"]) < 0), None)
    if merged is not None:
        share = _seconds([merged], spent) / max(_io_seconds(merged), 1e-12)
        return max(mean, share * _seconds([merged], "POSIX_F_SLOWEST_RANK_TIME"))
    return max(_seconds([row], spent) for row in rows) if len(rows) > 1 else mean


def _spreads(raw: RawLog, by_file: Mapping[int, Rows]) -> list[RankSpread]:
    """Files used by several ranks.

    The slowest and fastest rank come from the log's own fields, or from its rows per rank.
    """
    found = []
    for key, rows in by_file.items():
        merged = next((row for row in rows if int(row["rank"]) < 0), None)
        if raw.ranks < 2 or (merged is None and len(rows) < 2):
            continue
        own = [merged] if merged is not None else rows
        total = _sum(own, "POSIX_BYTES_READ") + _sum(own, "POSIX_BYTES_WRITTEN")
        sharers = raw.ranks if merged is not None else len(rows)
        ends = _merged_ends(merged) if merged is not None else _row_ends(rows)
        name = raw.names.get(str(key), str(key))
        means = (sum(map(_io_seconds, own)) / sharers, total / sharers)
        found.append(RankSpread(name, *ends, *means, sharers, 0.0 if merged is not None else _gap(rows)))
    return found


def _gap(rows: Rows) -> float:
    gaps = [0.0]
    for word in ("POSIX_BYTES_READ", "POSIX_BYTES_WRITTEN"):
        moved = [_sum([row], word) for row in rows]
        if max(moved):
            gaps.append(1 - min(moved) / max(moved))
    return max(gaps)


def _merged_ends(row: Mapping[str, Any]) -> tuple[float, float, int, int]:
    seconds = [float(row.get(f"POSIX_F_{which}_RANK_TIME", 0)) for which in ("SLOWEST", "FASTEST")]
    moved = [int(row.get(f"POSIX_{which}_RANK_BYTES", 0)) for which in ("SLOWEST", "FASTEST")]
    return seconds[0], seconds[1], moved[0], moved[1]


def _row_ends(rows: Rows) -> tuple[float, float, int, int]:
    seconds = [_io_seconds(row) for row in rows]
    moved = [_sum([row], "POSIX_BYTES_READ") + _sum([row], "POSIX_BYTES_WRITTEN") for row in rows]
    return max(seconds), min(seconds), max(moved), min(moved)


def _io_seconds(row: Mapping[str, Any]) -> float:
    return sum(_seconds([row], f"POSIX_F_{word}_TIME") for word in ("READ", "WRITE", "META"))


def _collective(rows: Rows) -> list[CollectiveUse]:
    if not rows:
        return []
    return [
        CollectiveUse(
            op,
            _sum(rows, f"MPIIO_INDEP_{word}"),
            _sum(rows, f"MPIIO_COLL_{word}") + _sum(rows, f"MPIIO_SPLIT_{word}"),
            _sum(rows, f"MPIIO_NB_{word}"),
        )
        for op, word in (("read", "READS"), ("write", "WRITES"))
    ]


def _sum(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(max(0, int(row.get(name, 0))) for row in rows)


def _seconds(rows: Sequence[Mapping[str, Any]], name: str) -> float:
    return sum(max(0.0, float(row.get(name, 0))) for row in rows)
