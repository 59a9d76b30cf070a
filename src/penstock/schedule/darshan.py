"""Volume, times and OSTs of a past run, from its Darshan log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.observe.darshan_log import RawLog, read_log

MODULES = ("POSIX", "STDIO")
MAIN_SHARE = 0.99
"""The largest files that together have this share of the bytes tell on how many OSTs a run was."""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A past run. `io_s` is the time the slowest process spent in I/O, because the others wait for it.

    `osts` is the number of OSTs of the files that carry its bytes. `shared` says whether ranks shared the
    largest file. Both are None if the log does not say.
    """

    program: str
    processes: int
    run_s: float
    io_s: float
    io_bytes: float
    osts: int | None = None
    shared: bool | None = None
    job: str = ""
    """The scheduler's id of its job."""

    @property
    def compute_s(self) -> float:
        """Everything that was not I/O."""
        return max(self.run_s - self.io_s, 0.0)

    @property
    def bytes_per_s(self) -> float | None:
        """The bandwidth of the run, on however many resources it used."""
        return self.io_bytes / self.io_s if self.io_s > 0 and self.io_bytes > 0 else None


def read_darshan(path: Path) -> PastRun:
    """Read a log. A damaged log raises an error and does not crash the process."""
    return past_run(read_log(path))


def past_run(raw: RawLog) -> PastRun:
    """Sum a log up. MPI-IO is counted once, at the POSIX layer. Pure."""
    moved: dict[int, float] = {}
    ranks: dict[int, set[int]] = {}
    for module in MODULES:
        for row in raw.modules.get(module, ()):
            volume = sum(float(row[f"{module}_BYTES_{way}"]) for way in ("READ", "WRITTEN"))
            file = int(row["id"])
            moved[file] = moved.get(file, 0.0) + volume
            ranks.setdefault(file, set()).add(int(row["rank"]))
    files = _main_files(moved)
    largest = max(files, key=lambda file: moved[file]) if files else None
    return PastRun(
        program=raw.program.split(" ")[0].rsplit("/", 1)[-1],
        processes=raw.ranks,
        run_s=raw.run_s,
        io_s=min(_slowest_s(raw), raw.run_s),
        io_bytes=sum(moved.values()),
        osts=_osts(raw.striping, files),
        shared=None
        if largest is None
        else raw.ranks > 1 and (-1 in ranks[largest] or len(ranks[largest]) > 1),
        job=raw.job,
    )


def _main_files(moved: Mapping[int, float]) -> set[int]:
    """The files that carry the bytes. Files as large as the last of them belong to them."""
    wanted, least = MAIN_SHARE * sum(moved.values()), 0.0
    for volume in sorted(moved.values(), reverse=True):
        if wanted <= 0:
            break
        wanted, least = wanted - volume, volume
    return {file for file, volume in moved.items() if volume >= least > 0}


def _slowest_s(raw: RawLog) -> float:
    """Seconds of I/O of the slowest rank.

    A record of all ranks names its slowest rank's time, but not the rank. Where there are several, the times are
    added, as if it were the same rank.
    """
    all_ranks_s = 0.0
    own_s: dict[int, float] = {}
    for module in MODULES:
        for row in raw.modules.get(module, ()):
            busy_s = sum(float(row[f"{module}_F_{kind}_TIME"]) for kind in ("READ", "WRITE", "META"))
            rank = int(row["rank"])
            if rank < 0:
                slowest_s = float(row.get(f"{module}_F_SLOWEST_RANK_TIME", 0.0))
                all_ranks_s += max(slowest_s, busy_s / max(raw.ranks, 1))
            else:
                own_s[rank] = own_s.get(rank, 0.0) + busy_s
    return all_ranks_s + max(own_s.values(), default=0.0)


def _osts(striping: Iterable[Mapping[str, Any]], files: set[int]) -> int | None:
    """How many OSTs the files lie on: those the log names, else the widest stripe count."""
    named: set[int] = set()
    widest = 0
    for row in striping:
        if int(row["id"]) in files:
            named |= {ost for ost in row.get("LUSTRE_OST_IDS", ()) if ost >= 0}
            widest = max(widest, int(row.get("LUSTRE_COMP_STRIPE_COUNT", row.get("LUSTRE_STRIPE_WIDTH", 0))))
    return len(named) or max(widest, 0) or None
