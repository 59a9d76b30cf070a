"""The facts about a job's writes that advice needs, from its Darshan log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import DataError
from penstock.observe.darshan_log import RawLog, Rows

MODULES = {"POSIX": "POSIX_", "MPI-IO": "MPIIO_", "STDIO": "STDIO_"}


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """The counters of one interface for the file with most bytes. Missing counters are zero."""

    writes: int
    collective_writes: int
    bytes_written: int
    common_bytes: int
    consecutive_ratio: float
    sequential_ratio: float
    misaligned_ratio: float
    stride_bytes: int
    stride_ratio: float
    span_s: float

    @property
    def mean_bytes(self) -> int:
        """The average size of a write."""
        return self.bytes_written // self.writes if self.writes else 0


@dataclass(frozen=True, slots=True)
class JobFacts:
    """A job's writing, by its log. `posix` and `mpiio` describe its largest written file."""

    log: str
    program: str
    ranks: int
    run_s: float
    bytes_written: int
    bytes_read: int
    files_written: int
    writers: int
    shared: bool
    posix: LayerFacts | None
    mpiio: LayerFacts | None
    stripe_count: int | None
    stripe_bytes: int | None

    @property
    def file_per_process(self) -> bool:
        """Whether the ranks mostly write files of their own."""
        return not self.shared and self.files_written > 1 and 2 * self.files_written >= self.ranks > 1


def facts(raw: RawLog) -> JobFacts:
    """Reduce a log to what advice needs. Pure."""
    if raw.ranks < 1:
        raise DataError(f"{raw.name}: the log names {raw.ranks} ranks")
    by_module = {module: _by_file(rows, MODULES[module]) for module, rows in raw.modules.items()}
    # Bytes of MPI-IO pass through POSIX too: the lowest layer that saw any counts them once.
    lowest = by_module.get("POSIX", {}) | {
        key: rows for key, rows in by_module.get("STDIO", {}).items() if key not in by_module.get("POSIX", {})
    }
    prefix = {key: "POSIX_" if key in by_module.get("POSIX", {}) else "STDIO_" for key in lowest}
    written = {key: _total(rows, prefix[key] + "BYTES_WRITTEN") for key, rows in lowest.items()}
    for key, rows in by_module.get("MPI-IO", {}).items():
        written[key] = max(written.get(key, 0), _total(rows, "MPIIO_BYTES_WRITTEN"))
    largest = max(written, key=lambda key: written[key]) if any(written.values()) else None
    main = [] if largest is None else lowest.get(largest, by_module.get("MPI-IO", {}).get(largest, []))
    stripes = _stripes(raw.striping, largest)
    return JobFacts(
        log=raw.name,
        program=raw.program.split(" ")[0].rsplit("/", 1)[-1] or "unknown",
        ranks=raw.ranks,
        run_s=raw.run_s,
        bytes_written=sum(written.values()),
        bytes_read=sum(_total(rows, prefix[key] + "BYTES_READ") for key, rows in lowest.items()),
        files_written=sum(size > 0 for size in written.values()),
        writers=len({row["rank"] for row in main}),
        shared=raw.ranks > 1 and (any(int(row["rank"]) < 0 for row in main) or len(main) > 1),
        posix=None if largest is None else _layer(by_module.get("POSIX", {}).get(largest, []), "POSIX_"),
        mpiio=None if largest is None else _layer(by_module.get("MPI-IO", {}).get(largest, []), "MPIIO_"),
        stripe_count=stripes[0],
        stripe_bytes=stripes[1],
    )


def _by_file(rows: Rows, prefix: str) -> dict[int, Rows]:
    found: dict[int, Rows] = {}
    for row in rows:
        if prefix + "BYTES_WRITTEN" in row:
            found.setdefault(int(row["id"]), []).append(row)
    return found


def _total(rows: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(max(0, int(row.get(name, 0))) for row in rows)


def _layer(rows: Rows, prefix: str) -> LayerFacts | None:
    if not rows or not _total(rows, prefix + "BYTES_WRITTEN"):
        return None
    kinds = (
        ("WRITES",) if prefix == "POSIX_" else ("INDEP_WRITES", "COLL_WRITES", "SPLIT_WRITES", "NB_WRITES")
    )
    writes = sum(_total(rows, prefix + kind) for kind in kinds)
    reads = _total(rows, prefix + "READS")
    row = max(rows, key=lambda one: int(one[prefix + "BYTES_WRITTEN"]))
    strides = _total(rows, prefix + "STRIDE1_COUNT")
    return LayerFacts(
        writes=writes,
        collective_writes=_total(rows, prefix + "COLL_WRITES"),
        bytes_written=_total(rows, prefix + "BYTES_WRITTEN"),
        common_bytes=int(row.get(prefix + "ACCESS1_ACCESS", 0)),
        consecutive_ratio=_total(rows, prefix + "CONSEC_WRITES") / max(1, writes),
        sequential_ratio=_total(rows, prefix + "SEQ_WRITES") / max(1, writes),
        misaligned_ratio=_total(rows, prefix + "FILE_NOT_ALIGNED") / max(1, writes + reads),
        stride_bytes=max(0, int(row.get(prefix + "STRIDE1_STRIDE", 0))),
        stride_ratio=strides / max(1, writes),
        span_s=_span(rows, prefix),
    )


def _span(rows: Rows, prefix: str) -> float:
    """From the first write's start to the last one's end."""
    starts = [float(row.get(prefix + "F_WRITE_START_TIMESTAMP", 0)) for row in rows]
    ends = [float(row.get(prefix + "F_WRITE_END_TIMESTAMP", 0)) for row in rows]
    begun = [start for start in starts if start > 0]
    return max(0.0, max(ends) - min(begun)) if begun else 0.0


def _stripes(striping: Rows, file: int | None) -> tuple[int | None, int | None]:
    for row in striping:
        if file is not None and int(row["id"]) == file:
            count = row.get("LUSTRE_COMP_STRIPE_COUNT", row.get("LUSTRE_STRIPE_WIDTH"))
            size = row.get("LUSTRE_COMP_STRIPE_SIZE", row.get("LUSTRE_STRIPE_SIZE"))
            if count is not None and size is not None and int(count) > 0 and int(size) > 0:
                return int(count), int(size)
    return None, None
