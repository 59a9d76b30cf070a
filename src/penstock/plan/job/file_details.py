"""What a log tells of each file beside its traffic: stripes, opens, who uses it, and its smallest writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.observe.darshan_log import RawLog, Rows
from penstock.units import KIB

HDF5_ENDINGS = (".h5", ".hdf5", ".he5", ".nc", ".nc4")
# Darshan's smallest bins of sizes, with the most bytes that a call in each may move.
TINY_BINS = {"0_100": 100, "100_1K": KIB, "1K_10K": 10 * KIB}


@dataclass(frozen=True, slots=True)
class FileDetail:
    """One file. `ranks` opened it; `only_rank` is set where that is a single one. `stripes` is None off Lustre.

    `tiny_bytes` is the most that the `tiny_writes` of up to 10 KiB can have moved.
    """

    name: str
    hdf5: bool
    ranks: int
    only_rank: int | None
    stripes: int | None
    opens: int
    metadata_s: float
    moved_bytes: int
    writes: int
    written_bytes: int
    tiny_writes: int
    tiny_bytes: int
    misaligned: int

    @property
    def opens_each(self) -> float:
        """How often each of its ranks opened it."""
        return self.opens / max(1, self.ranks)


def file_details(raw: RawLog) -> tuple[FileDetail, ...]:
    """Every file that POSIX calls opened."""
    by_file: dict[int, Rows] = {}
    for row in raw.modules.get("POSIX", []):
        by_file.setdefault(int(row["id"]), []).append(row)
    stripes = {int(row["id"]): _stripes(row) for row in raw.striping}
    everywhere = any(layer in {"H5F", "H5D"} for layer in raw.layers)
    return tuple(_detail(raw, key, rows, (stripes.get(key), everywhere)) for key, rows in by_file.items())


def _detail(raw: RawLog, key: int, rows: Rows, known: tuple[int | None, bool]) -> FileDetail:
    name = raw.names.get(str(key), str(key))
    merged = any(int(row["rank"]) < 0 for row in rows)
    tiny = {size: _sum(rows, f"POSIX_SIZE_WRITE_{size}") for size in TINY_BINS}
    return FileDetail(
        name=name,
        hdf5=known[1] or name.endswith(HDF5_ENDINGS),
        ranks=raw.ranks if merged else len(rows),
        only_rank=None if merged or len(rows) > 1 else int(rows[0]["rank"]),
        stripes=known[0],
        opens=_sum(rows, "POSIX_OPENS"),
        metadata_s=sum(max(0.0, float(row.get("POSIX_F_META_TIME", 0))) for row in rows),
        moved_bytes=_sum(rows, "POSIX_BYTES_READ") + _sum(rows, "POSIX_BYTES_WRITTEN"),
        writes=_sum(rows, "POSIX_WRITES"),
        written_bytes=_sum(rows, "POSIX_BYTES_WRITTEN"),
        tiny_writes=sum(tiny.values()),
        tiny_bytes=sum(count * TINY_BINS[size] for size, count in tiny.items()),
        misaligned=_sum(rows, "POSIX_FILE_NOT_ALIGNED"),
    )


def _stripes(row: Mapping[str, Any]) -> int | None:
    count = row.get("LUSTRE_COMP_STRIPE_COUNT", row.get("LUSTRE_STRIPE_WIDTH"))
    return int(count) if count is not None and int(count) > 0 else None


def _sum(rows: Rows, name: str) -> int:
    return sum(max(0, int(row.get(name, 0))) for row in rows)
