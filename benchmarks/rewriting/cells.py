"""Recorded cells of rewriting: one setting held for 18 s, and the seconds of a live switch.

A cell's rate is the mean over its whole seconds from the fifth on, from `seconds.csv`. (`cells.csv` also counts the
fraction of a second in which a run ends, as a whole one; that is 7 % too low.)
"""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

FROM_S = 5.5
# A client that waited longer than this part of every second for its host's processors says little about itself; where
# its own processor is the limit, and not the wire, much less is too much. (Repeats of cells above .3 differ by 1.2 to
# 2 where less than 35 MB/s are sent, and by 5 % where more is.)
MOST_HOST_WAIT, MOST_IF_BUSY = 0.5, 0.3
WIRE_IS_LIMIT_MBPS = 35.0
# Steady: what is dirty in the last third of the seconds that count is within this part of the first third.
STEADY = 0.15


@dataclass(frozen=True, slots=True)
class Second:
    """One second: MB/s of the application and on the wire, MB dirty when it ends."""

    t: float
    app: float
    wire: float
    dirty: float


@dataclass(frozen=True, slots=True)
class Cell:
    """A held setting and what a real client made of it."""

    set: str
    file_mb: int
    streams: int
    pages: int
    flight: int
    limit_mb: int
    app: float = float("nan")
    wire: float = float("nan")
    host_wait: float = 0.0
    drift: float = 0.0
    grant_bytes: int = 0
    kept_back: bool = False

    @staticmethod
    def of(file_mb: int, setting: tuple[int, int], limit_mb: int) -> Cell:
        """A cell that was not recorded."""
        return Cell("", file_mb, 1, *setting, limit_mb)

    @property
    def is_plain(self) -> bool:
        """One stream over 256 MiB, which the limit does not touch."""
        return self.file_mb == 256 and self.streams == 1 and self.limit_mb == 512

    @property
    def is_steady(self) -> bool:
        """Whether what is dirty stayed about the same."""
        return abs(self.drift) <= STEADY

    @property
    def why_not(self) -> str:
        """Why a cell's level is not judged; empty where it is."""
        most = MOST_HOST_WAIT if self.wire >= WIRE_IS_LIMIT_MBPS else MOST_IF_BUSY
        if self.host_wait > most:
            return f"host_wait {self.host_wait:.2f}"
        return "" if self.is_steady else f"not steady (dirty {self.drift:+.0%})"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def _seconds(data: Path) -> dict[tuple[str, str], list[Second]]:
    """Whole seconds of every cell, by set and name."""
    found: dict[tuple[str, str], list[Second]] = defaultdict(list)
    before: dict[tuple[str, str], float] = {}
    for row in _rows(data / "seconds.csv"):
        key, t = (row["set"], row["cell"]), float(row["t"])
        if key in before and t - before[key] > 0.9:
            second = Second(t, float(row["app_mbps"]), float(row["wire_mbps"]), float(row["dirty_mb"]))
            found[key].append(second)
        before[key] = t
    return found


def _grants(data: Path) -> dict[tuple[str, str], int]:
    rows = _rows(data / "seconds.csv")
    return {(r["set"], r["cell"]): round(1e6 * float(r["grant_mb"])) for r in rows if float(r["t"]) == 0.0}


def _drift(late: list[Second]) -> float:
    third = max(1, len(late) // 3)
    first = mean(second.dirty for second in late[:third])
    return mean(second.dirty for second in late[-third:]) / max(first, 1.0) - 1.0


def read_cells(data: Path) -> list[Cell]:
    """Every cell in the file's order. Half of them are kept back: no parameter was set by these.

    In the file `flight` changes from line to line; every second line, shifted by one with every change of `pages`
    and of the file's size, keeps back both values of every knob.
    """
    seconds, grants = _seconds(data), _grants(data)
    cells = []
    for number, row in enumerate(_rows(data / "cells.csv")):
        names = (f"s{row['file_mb']}", f"n{row['streams']}", f"p{row['pages']}", f"f{row['flight']}")
        name = "_".join([*names, f"d{row['dirty_limit_mb']}", *filter(None, [row["tag"]])])
        late = [second for second in seconds[row["set"], name] if second.t >= FROM_S]
        cells.append(
            Cell(
                set=row["set"],
                file_mb=int(row["file_mb"]),
                streams=int(row["streams"]),
                pages=int(row["pages"]),
                flight=int(row["flight"]),
                limit_mb=int(row["dirty_limit_mb"]),
                app=mean(second.app for second in late),
                wire=mean(second.wire for second in late),
                host_wait=float(row["host_wait"]),
                drift=_drift(late),
                grant_bytes=grants[row["set"], name],
                kept_back=(number + number // 2 + number // 8) % 2 == 1,
            )
        )
    return cells


def read_switch(data: Path) -> list[Second]:
    """The seconds of the live switch."""
    return next(of for (name, _), of in _seconds(data).items() if name == "Rsw")
