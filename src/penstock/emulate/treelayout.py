"""Which files a client of each version shows, where, with which modes: recorded from real ones."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

LAYOUTS = ("2.15", "2.17")
DEBUGFS, SYSFS, PROCFS = "sys/kernel/debug/lustre", "sys/fs/lustre", "proc/fs/lustre"


@dataclass(frozen=True, slots=True)
class Listed:
    """One file of one kind of directory. `text` is what it holds, None where it is live or write-only."""

    place: str
    file: str
    mode: int
    text: str | None
    live: bool


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """The files of a version by kind: `osc`, `llite`, `mdc` directories and the `top` of sysfs."""

    name: str
    version: str
    kinds: dict[str, tuple[Listed, ...]]

    @property
    def modern(self) -> bool:
        """Whether this is the dialect of 2.17."""
        return self.name == "2.17"


@cache
def load_layout(name: str) -> TreeLayout:
    """One of the recorded layouts."""
    text = resources.files("penstock.emulate").joinpath(f"layouts/{name}.json").read_text("utf-8")
    document = json.loads(text)
    kinds = {
        kind: tuple(
            Listed(place, file, int(mode, 8), content, how == "live")
            for place, file, mode, content, how in document[kind]
        )
        for kind in ("osc", "llite", "mdc", "top")
    }
    return TreeLayout(name, document["version"], kinds)
