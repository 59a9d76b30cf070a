"""Which OSTs may take new files, and how busy they are, from `lfs df` and `lctl get_param`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.errors import DataError, PenstockError
from penstock.schedule.lfs import run_tool

DF_LINE = re.compile(
    r"^(\S+)-OST([0-9a-fA-F]{4})_UUID\s+(\d+)\s+(\d+)\s+(\d+)\s+\S+\s+\S+\[OST:(\d+)\]\s*(\S*)"
)
INACTIVE = re.compile(r"^(?:\S+-)?OST([0-9a-fA-F]{4})\S*\s*:\s*inactive device")
PARAMETER = re.compile(r"^(\S+?)=(.*)$")
TARGET = re.compile(r"OST([0-9a-fA-F]{4})")
#: Flags of `lfs df` that keep new files away: degraded, no precreate, read-only, out of space, out of inodes.
CLOSED_FLAGS = {"D": "degraded", "N": "no-precreate", "R": "read-only", "S": "full", "I": "out of inodes"}
CONNECTED = ("FULL", "IDLE")


@dataclass(frozen=True, slots=True)
class Health:
    """The OSTs that get no new files, with reasons; and for the others the share of time they are busy, if known."""

    unusable: Mapping[int, str] = field(default_factory=dict)
    load: Mapping[int, float] = field(default_factory=dict)


UNKNOWN_HEALTH = Health()
"""Nobody asked: every OST is taken to be fit, and only as busy as the known jobs make it."""


def read_health(mount: str, resources: int, min_free: float) -> Health:
    """Ask the file system: `lfs df`, then `lctl` about imports. Without permission `lctl` reports nothing."""
    unusable = parse_df(run_tool(["lfs", "df", "-v", mount]), resources, min_free)
    try:
        states = run_tool(["lctl", "get_param", "osc.*.active", "osc.*.state"])
    except PenstockError:
        return Health(unusable)
    return Health({**parse_imports(states), **unusable})


def parse_df(text: str, resources: int, min_free: float) -> dict[int, str]:
    """OSTs that `lfs df -v` shows as closed, too full, or absent."""
    reasons = dict.fromkeys(range(resources), "not listed by lfs df")
    rows = 0
    for line in text.splitlines():
        inactive, row = INACTIVE.match(line.strip()), DF_LINE.match(line.strip())
        if inactive:
            reasons[int(inactive.group(1), 16)] = "inactive"
        elif row:
            rows += 1
            index, total, available = int(row.group(6)), int(row.group(3)), int(row.group(5))
            closed = [CLOSED_FLAGS[flag] for flag in row.group(7) if flag in CLOSED_FLAGS]
            if total and available < min_free * total:
                closed.append(f"{100 * available / total:.0f} % free")
            reasons.pop(index, None)
            if closed:
                reasons[index] = ", ".join(closed)
    if not rows:
        raise DataError("lfs df: lists no OST")
    return {index: reason for index, reason in sorted(reasons.items()) if index < resources}


def parse_parameters(text: str) -> dict[str, str]:
    """`lctl get_param` output by parameter name; values of several lines follow their name."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        match = PARAMETER.match(line)
        if match and "." in match.group(1):
            name = match.group(1)
            found[name] = match.group(2)
        elif name:
            found[name] += "\n" + line
    return found


def parse_imports(text: str) -> dict[int, str]:
    """OSTs whose client side is deactivated or not connected."""
    reasons = {}
    for name, value in parse_parameters(text).items():
        target = TARGET.search(name)
        if target is None or "-MDT" in name:
            continue
        if name.endswith(".active") and value.strip() == "0":
            reasons[int(target.group(1), 16)] = "inactive on this client"
        state = re.search(r"current_state:\s*(\S+)", value)
        if name.endswith(".state") and state and state.group(1) not in CONNECTED:
            reasons[int(target.group(1), 16)] = f"connection {state.group(1)}"
    return reasons


def parse_bytes(text: str) -> dict[int, float]:
    """Bytes that each OST has read and written so far, from `lctl get_param obdfilter.*.stats` (or osc)."""
    moved: dict[int, float] = {}
    for name, value in parse_parameters(text).items():
        target = TARGET.search(name)
        if target is None:
            continue
        index = int(target.group(1), 16)
        for line in value.splitlines():
            words = line.split()
            if len(words) >= 7 and words[0] in ("read_bytes", "write_bytes"):
                moved[index] = moved.get(index, 0.0) + float(words[6])
    return moved


def read_load(
    ost_bytes_per_s: float, sample_s: float, sleep: Callable[[float], None] = time.sleep
) -> dict[int, float]:
    """The busy share of each OST over `sample_s`: bytes moved relative to its capacity. It works on a server only."""
    command = ["lctl", "get_param", "obdfilter.*.stats"]
    first_s, first = time.monotonic(), parse_bytes(run_tool(command))
    sleep(sample_s)
    last_s, last = time.monotonic(), parse_bytes(run_tool(command))
    span_s = max(last_s - first_s, 1e-9)
    return {
        index: min(max(last[index] - first.get(index, 0.0), 0.0) / span_s / ost_bytes_per_s, 1.0)
        for index in last
        if index in first
    }
