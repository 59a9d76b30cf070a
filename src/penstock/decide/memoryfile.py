"""Memories as a JSON file: data only, limited in size. A file with any wrong entry is refused as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from penstock.decide.habits import MEAN_WINDOWS
from penstock.decide.memory import Remembered, WorkMemory
from penstock.decide.objective import Rates
from penstock.decide.work import Work
from penstock.knobs import Setting
from penstock.schemafile import FilePart, checked

SCHEMA, VERSION = "penstock-knowledge", 1
MOST_UNITS, MOST_SETTINGS = 64, 64
MOST_BYTES = 4 << 20
_MOST_RATE = 1e15

_Rate = Annotated[float, Field(ge=0, le=_MOST_RATE)]
_Name = Annotated[str, Field(min_length=1, max_length=256)]
_Value = Annotated[int, Field(ge=0, le=1 << 40)]


@dataclass(frozen=True, slots=True)
class DatedMemory:
    """A memory and when it was last changed, in seconds since 1970."""

    memory: WorkMemory
    time_s: float


class _Setting(FilePart):
    knobs: Annotated[dict[_Name, _Value], Field(min_length=1, max_length=16)]
    read: _Rate
    write: _Rate
    read_flight: _Rate
    write_flight: _Rate
    windows: Annotated[int, Field(ge=1, le=MEAN_WINDOWS)]
    noise: Annotated[float, Field(ge=0, le=1)]


class _Unit(FilePart):
    fs: _Name
    kind: Literal["read", "write", "both", "query", "modify", "both operations"]
    targets: Annotated[str, Field(max_length=64)] = ""
    request_log2: Annotated[float, Field(ge=-64, le=64)] | None
    time_s: _Rate
    settings: Annotated[list[_Setting], Field(min_length=2, max_length=MOST_SETTINGS)]


class _File(FilePart):
    schema_name: Annotated[Literal["penstock-knowledge"], Field(alias="schema")]
    version: Literal[1]
    units: Annotated[list[_Unit], Field(max_length=MOST_UNITS)]


def dump(kept: Sequence[DatedMemory]) -> bytes:
    """The newest units, each with the settings that were measured most."""
    newest = sorted(kept, key=lambda one: one.time_s)[-MOST_UNITS:]
    document = {"schema": SCHEMA, "version": VERSION, "units": [_unit(one) for one in newest]}
    return (json.dumps(document, indent=1, allow_nan=False) + "\n").encode()


def parse(raw: bytes, where: str) -> list[DatedMemory]:
    """What `dump` wrote; raises `DataError` for anything else."""
    found = checked(raw, where, MOST_BYTES, (SCHEMA, VERSION), _File)
    return [_kept(unit) for unit in found.units]


def unit_fields(memory: WorkMemory) -> dict[str, object]:
    """One memory as it stands in the file, and in the agent's log."""
    sure = sorted(memory.settings.items(), key=lambda item: -item[1].windows)[:MOST_SETTINGS]
    size = memory.work.request_log2
    return {
        "fs": memory.fs,
        "kind": memory.work.kind,
        **({"targets": memory.targets} if memory.targets else {}),
        "request_log2": None if math.isnan(size) else size,
        "settings": [_setting(setting, one) for setting, one in sure],
    }


def _unit(kept: DatedMemory) -> dict[str, object]:
    return {**unit_fields(kept.memory), "time_s": kept.time_s}


def _setting(setting: Setting, one: Remembered) -> dict[str, object]:
    rates = one.rates
    return {
        "knobs": dict(setting),
        "read": rates.read,
        "write": rates.write,
        "read_flight": rates.read_flight,
        "write_flight": rates.write_flight,
        "windows": one.windows,
        "noise": one.noise,
    }


def _kept(unit: _Unit) -> DatedMemory:
    settings = {
        Setting(one.knobs): Remembered(
            Rates(one.read, one.write, one.read_flight, one.write_flight), one.windows, one.noise
        )
        for one in unit.settings
    }
    size = math.nan if unit.request_log2 is None else unit.request_log2
    return DatedMemory(WorkMemory(unit.fs, Work(unit.kind, size), settings, unit.targets), unit.time_s)
