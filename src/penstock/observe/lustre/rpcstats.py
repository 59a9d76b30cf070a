"""`rpc_stats`: histograms of the RPCs that an OSC sent, counted at sending, cumulative since the last clear.

Only `snapshot_time` is always there. Sections differ between versions, and their rows stop once both directions are
complete. Unknown sections are kept by their title, unknown head lines are ignored. Percent columns are truncated by
the kernel and never used. Note that the in-flight bin 31 means 31 or more, and that the counts of the latency section
(from 2.17) are scaled by 1024/1000 and must not be summed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.observe.lustre.stats import check_whole
from penstock.observe.lustre.values import is_count

PAGES = "pages per rpc"
IN_FLIGHT = "rpcs in flight"


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts by bin, per direction."""

    read: dict[int, int]
    write: dict[int, int]


@dataclass(frozen=True, slots=True)
class RpcStats:
    """A whole `rpc_stats` file."""

    snapshot_time: str
    start_time: str | None
    gauges: Mapping[str, int]
    sections: Mapping[str, Histogram]

    def rpcs(self, direction: str) -> int:
        """How many RPCs were sent, from the section that every version counts exactly."""
        section = self.sections.get(PAGES)
        return sum(_side(section, direction).values()) if section else 0

    def mean_in_flight(self, direction: str) -> float | None:
        """The mean number in flight at sending; a lower bound once the last bin is in use."""
        section = self.sections.get(IN_FLIGHT)
        counts = _side(section, direction) if section else {}
        total = sum(counts.values())
        return sum(bin_ * count for bin_, count in counts.items()) / total if total else None


def _side(section: Histogram, direction: str) -> Mapping[int, int]:
    return section.read if direction == "read" else section.write


def parse_rpc_stats(text: bytes, what: str = "rpc_stats") -> RpcStats:
    """Read every section. Raises `DataError` for text without `snapshot_time` or cut inside a line."""
    check_whole(text, what)
    lines = text.decode("utf-8", "replace").splitlines()
    head: dict[str, str] = {}
    sections: dict[str, Histogram] = {}
    current: Histogram | None = None
    for line in lines:
        if "|" in line and not line.lstrip()[:1].isdigit():
            current = sections.setdefault(_title(line), Histogram({}, {}))
        elif "|" in line and current is not None:
            _count(line, current)
        elif ":" in line:
            name, _, value = line.partition(":")
            head[name.strip()] = value.strip()
    if "snapshot_time" not in head:
        raise DataError(f"{what}: no snapshot_time")
    gauges = {name: int(value) for name, value in head.items() if is_count(value)}
    start = head.get("start_time", "").split()
    return RpcStats(head["snapshot_time"].split(" ")[0], start[0] if start else None, gauges, sections)


def _title(line: str) -> str:
    """The words before the first column, which every version calls `rpcs` or `count`."""
    words = line.split("|", 1)[0].split()
    for column in ("rpcs", "count"):
        if column in words[1:]:
            last = len(words) - 1 - words[::-1].index(column)
            return " ".join(words[:last])
    return " ".join(words)


def _count(line: str, into: Histogram) -> None:
    """Add one row. A row that cannot be parsed is skipped."""
    bin_text, _, columns = line.partition(":")
    left, _, right = columns.partition("|")
    try:
        bin_, read, write = int(bin_text), int(left.split()[0]), int(right.split()[0])
    except (ValueError, IndexError):
        return
    if read >= 0 and write >= 0:
        into.read[bin_] = read
        into.write[bin_] = write
