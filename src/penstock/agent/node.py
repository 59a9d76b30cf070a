"""What the guard must know of the node: memory left, and the budget for dirty data."""

from __future__ import annotations

from pathlib import Path

from penstock.actuate.budget import memory
from penstock.decide.guard import NodeView
from penstock.units import MIB


def node_view(root: Path, cache_ratio: float) -> NodeView:
    """The node now. Where memory cannot be read only the actuator's own limits hold."""
    found = memory(root)
    if found is None or found[1] is None:
        return NodeView()
    total, available = found[0], found[1]
    return NodeView(cache_ratio * total / MIB, available / total)


def lies_on_lustre(path: Path, mounts_text: str) -> bool:
    """Whether a path is on a Lustre mount: what the agent writes must never land on what it tunes."""
    best, kind = "", ""
    for line in mounts_text.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = fields[1].replace("\\040", " ")
        inside = str(path) == place or str(path).startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):
            best, kind = place, fields[2]
    return kind.startswith("lustre")
