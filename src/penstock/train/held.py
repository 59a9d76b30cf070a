"""Recordings of held settings: files `LINK-WORKLOAD-REPEAT.jsonl.gz` as in `data/lustre-latency`.

A line is a probe as `penstock replay` reads it, with `link`, `workload`, `pages`, `flight` and whether the program
was `running`. The last line of a cell (one held setting) has the program's own figures in `end` instead of files.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.observe.recorded_windows import Replay
from penstock.observe.recording import RecordedProbe
from penstock.train.intervals import RecordedInterval, RecordedWorkload
from penstock.window import Window

PATTERNS = ("*.jsonl", "*.jsonl.gz")


@dataclass(slots=True)
class HeldCell:
    """One held setting: its probes, which of them were taken while the program ran, and the program's throughput."""

    workload: str
    setting: Setting
    probes: list[RecordedProbe] = field(default_factory=list)
    running: list[bool] = field(default_factory=list)
    mbps: float | None = None

    def windows(self) -> list[Window]:
        """The windows while the program ran, for the target that moved most.

        In a cell with reads, those from the last read on are left out: the readers end in it, and the program only
        waits for what it wrote, or for its own end.
        """
        seen = [item for item in Replay().windows(self.probes) if isinstance(item, Window)]
        ran = {probe.t_s for probe, running in zip(self.probes, self.running, strict=True) if running}
        inside = [item for item in seen if item.t0_s in ran and item.t1_s in ran]
        busiest = max(
            {item.target for item in inside},
            key=lambda target: sum(w.moved_per_s * w.seconds for w in inside if w.target == target),
            default=None,
        )
        found = [item for item in inside if item.target == busiest]
        reading = [at for at, item in enumerate(found) if (item.metrics.get("app.read_bytes") or 0.0) > 0]
        return found[: reading[-1]] if reading else found


def is_held(directory: Path) -> bool:
    """Whether a directory holds such recordings."""
    return any(True for pattern in PATTERNS for _ in directory.glob(pattern))


def read_held(directory: Path) -> list[RecordedWorkload]:
    """All workloads of a directory, separately for each link. Repeats of a cell are combined."""
    cells: dict[str, dict[Setting, list[HeldCell]]] = {}
    for path in sorted(path for pattern in PATTERNS for path in directory.glob(pattern)):
        for cell in read_cells(path):
            cells.setdefault(cell.workload, {}).setdefault(cell.setting, []).append(cell)
    found = [_workload(name, by_setting) for name, by_setting in sorted(cells.items())]
    return [workload for workload in found if workload.intervals]


def _workload(name: str, cells: Mapping[Setting, list[HeldCell]]) -> RecordedWorkload:
    intervals = {
        setting: [
            RecordedInterval(window, tuple(seen[:at]))
            for seen in (cell.windows() for cell in repeats)
            for at, window in enumerate(seen)
            if window.moved_per_s > 0
        ]
        for setting, repeats in cells.items()
    }
    known = {setting: found for setting, found in intervals.items() if found}
    rates = {setting: fmean(cell.mbps or 0.0 for cell in cells[setting]) for setting in known}
    return RecordedWorkload(name, known, rates)


def read_cells(path: Path) -> Iterator[HeldCell]:
    """The finished cells of a file. A cell without an end comes from an interrupted recording and is skipped."""
    open_cells: dict[tuple[str, Setting], HeldCell] = {}
    for number, document in _lines(path):
        try:
            setting = Setting(pages=int(document["pages"]), flight=int(document["flight"]))
            workload = "-".join(str(document[key]) for key in ("link", "workload") if key in document)
            cell = open_cells.setdefault((workload, setting), HeldCell(workload, setting))
            if "end" in document:
                cell.mbps = sum(float(part["mbps"]) for part in document["end"])
                del open_cells[workload, setting]
                yield cell
                continue
            cell.probes.append(RecordedProbe(float(document["t"]), document["files"]))
            cell.running.append(bool(document["running"]))
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}:{number}: not a probe of a held setting: {error!r}") from None


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with (
            gzip.open(path, "rt", encoding="utf-8")
            if path.suffix == ".gz"
            else path.open("rt", encoding="utf-8") as lines
        ):
            for number, line in enumerate(lines, 1):
                document = json.loads(line)
                if not isinstance(document, dict):
                    raise DataError(f"{path}:{number}: not a JSON object")
                yield number, document
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise DataError(f"{path}: cannot be read as JSON lines: {error}") from None
