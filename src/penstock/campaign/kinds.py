"""What a campaign can be about: a table of kinds, each defined in the room whose work it is.

A kind turns a table of the specification into shards and a shard into rows. What describes a shard is plain JSON, so
it can be handed to a process on another machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from penstock.config import Section
from penstock.errors import UsageError, did_you_mean

Row = Mapping[str, Any]
# Where each kind is defined; imported only when it is used.
HOMES = {
    "surface": "penstock.evaluate.shards:SURFACE",
    "static": "penstock.evaluate.shards:STATIC",
    "scenarios": "penstock.evaluate.shards:SCENARIOS",
    "robust": "penstock.evaluate.shards:ROBUST",
    "collect": "penstock.train.train_shards:COLLECT",
    "survey": "penstock.train.train_shards:SURVEY",
    "study": "penstock.schedule.study.study_shards:STUDY",
}


@dataclass(frozen=True, slots=True)
class Shard:
    """A piece of work: equal descriptions give equal rows, whoever runs them and however often."""

    #: Unique in its campaign, and its file's name.
    key: str
    #: What to do, as JSON.
    work: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of work."""

    #: The kind's own table of the specification.
    section: type[Section]
    #: The shards of such a table; files it names are looked for below the given directory.
    shards: Callable[[Any, Path], Sequence[Shard]]
    #: The rows of one shard.
    perform: Callable[[Mapping[str, Any]], Sequence[Row]]
    #: The columns of a row: str, int or float.
    columns: Mapping[str, type]
    #: What else is written into the head of every file.
    stamp: Mapping[str, str] = field(default_factory=dict)
    #: The parts of the package whose change makes results incomparable.
    program: tuple[str, ...] = (
        "simulate",
        "evaluate",
        "decide",
        "predict",
        "train",
        "knobs",
        "agent/loop.py",
    )


def find_kind(name: str) -> Kind:
    """The kind of that name."""
    if name not in HOMES:
        raise UsageError(f"kind {name!r}: there is {', '.join(HOMES)}{did_you_mean(name, HOMES)}")
    module, _, attribute = HOMES[name].partition(":")
    kind: Kind = getattr(import_module(module), attribute)
    return kind
