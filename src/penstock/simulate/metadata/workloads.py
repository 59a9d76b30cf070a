"""Metadata workloads by name: `md_create_16` is sixteen threads that create files."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import UsageError

_NAME = re.compile(r"md_(?P<what>create|stat|unlink|epoch)_(?P<threads>[1-9][0-9]{0,3})|md_ls")
NAMES = ("md_create_16", "md_stat_16", "md_unlink_16", "md_epoch_16", "md_ls")
LISTED_FILES = 2000
# Files of a data set with one sample a file, which reader threads go through in every epoch.
EPOCH_FILES = 4096


@dataclass(frozen=True, slots=True)
class MetadataWorkload:
    """What a client's threads do: `create`, `stat`, `unlink`, read small files once an epoch (`epoch`), or one that
    lists a directory (`ls`).
    """

    name: str
    what: str
    threads: int


def is_metadata(name: str) -> bool:
    """Whether a workload's name is meant to be one of these."""
    return name.startswith("md_")


def parse_metadata(name: str) -> MetadataWorkload:
    """The workload of a name.

    >>> parse_metadata("md_create_16").threads, parse_metadata("md_ls").what
    (16, 'ls')
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise UsageError(f"unknown workload {name!r}; metadata workloads look like {', '.join(NAMES)}")
    return MetadataWorkload(name, match["what"] or "ls", int(match["threads"] or 1))
