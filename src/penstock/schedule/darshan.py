"""Volume and times of a past run, from its Darshan log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import DataError, MissingError, require_extra

MODULES = ("POSIX", "STDIO")


@dataclass(frozen=True, slots=True)
class PastRun:
    """What a log says of a run: `io_s` is the time an average process spent in I/O."""

    processes: int
    run_s: float
    io_s: float
    io_bytes: float

    @property
    def compute_s(self) -> float:
        """Everything that was not I/O."""
        return max(self.run_s - self.io_s, 0.0)

    @property
    def bytes_per_s(self) -> float | None:
        """The bandwidth the run had, on however many resources it used."""
        return self.io_bytes / self.io_s if self.io_s > 0 and self.io_bytes > 0 else None


def read_darshan(path: Path) -> PastRun:
    """Read a log with the Darshan library; MPI-IO is counted where it ends up, in POSIX."""
    try:
        import darshan  # type: ignore[import-untyped, unused-ignore]
    except ImportError as error:
        raise require_extra("darshan", error) from error
    if not path.is_file():
        raise MissingError(f"{path}: no such Darshan log")
    try:
        report = darshan.DarshanReport(str(path), read_all=False)
        job = report.metadata["job"]
        io_bytes = busy_s = 0.0
        for module in MODULES:
            if module in report.modules:
                report.mod_read_all_records(module, dtype="pandas")
                moved, spent = _totals(report.records[module][0], module)
                io_bytes, busy_s = io_bytes + moved, busy_s + spent
        processes, run_s = int(job["nprocs"]), float(job["run_time"])
    except (RuntimeError, KeyError, ValueError, IndexError) as error:
        raise DataError(f"{path}: not a Darshan log that can be read: {error}") from None
    return PastRun(processes, run_s, min(busy_s / max(processes, 1), run_s), io_bytes)


def _totals(tables: dict[str, Any], module: str) -> tuple[float, float]:
    counters, times = tables["counters"], tables["fcounters"]
    moved = sum(float(counters[f"{module}_BYTES_{way}"].sum()) for way in ("READ", "WRITTEN"))
    kinds = ("READ", "WRITE", "META")
    return moved, sum(float(times[f"{module}_F_{kind}_TIME"].sum()) for kind in kinds)
