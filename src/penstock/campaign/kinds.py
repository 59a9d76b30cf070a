"""The kinds of campaign. Each kind is defined in the room that does the work.

A kind turns its table of the specification into shards, and a shard into rows. A shard is described in plain JSON, so
that it can be sent to a process on another machine.
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
# The module of each kind. It is imported on first use.
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
    """A piece of work. Equal descriptions give equal rows, wherever and however often they are run."""

    #: Unique in the campaign. It is also the name of the result file.
    key: str
    #: The work to do, as JSON.
    work: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of campaign."""

    #: The model that checks this kind's table of the specification.
    section: type[Section]
    #: Makes the shards of such a table. File names in it are relative to the given directory.
    shards: Callable[[Any, Path], Sequence[Shard]]
    #: Computes the rows of one shard.
    perform: Callable[[Mapping[str, Any]], Sequence[Row]]
    #: The type of each column: str, int or float.
    columns: Mapping[str, type]
    #: Further entries for the metadata of every result file.
    stamp: Mapping[str, str] = field(default_factory=dict)
    #: The parts of the package that determine results: if one changes, old and new results must not be mixed.
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
    if name not in HOMES:
        raise UsageError(f"kind {name!r}: there is {', '.join(HOMES)}{did_you_mean(name, HOMES)}")
    module, _, attribute = HOMES[name].partition(":")
    kind: Kind = getattr(import_module(module), attribute)
    return kind
