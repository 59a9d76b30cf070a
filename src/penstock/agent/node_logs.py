"""The decision logs of many nodes, found by files that are named after their nodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.agent.startup import LOG_FILE
from penstock.errors import MissingError, UsageError


def node_logs(files: Sequence[Path]) -> dict[str, Path]:
    """The log of each node, from log files or state directories. It is an error if two have the same node name."""
    found: dict[str, Path] = {}
    for file in files:
        path = file / LOG_FILE if file.is_dir() else file
        if not path.exists():
            raise MissingError(f"{path}: no such log")
        name = path.parent.name if path.name == LOG_FILE else path.name.split(".", maxsplit=1)[0]
        if name in found:
            raise UsageError(f"{path}: there is a log of node {name!r} already; name files after their nodes")
        found[name] = path
    return found
