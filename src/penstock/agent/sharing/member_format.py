"""A node's file in the shared folder as JSON: data only, bounded, and refused as a whole where anything is wrong."""

from __future__ import annotations

import functools
import json
import math
from typing import Annotated, Any, Literal

from pydantic import Field

from penstock.agent.advice_lines import kind_fields
from penstock.agent.sharing.told import MOST_LOG2, MOST_TEXT, MOST_WINDOWS, DatedGain, MemberFile, MemberWork
from penstock.decide.fleet_advice import GainWord, ToldGain, WorkKind
from penstock.decide.work import Work
from penstock.events import LATEST_S
from penstock.knobs import Setting
from penstock.schemafile import FilePart, checked

SCHEMA, VERSION = "penstock-member", 1
MOST_BYTES = 1 << 20
MOST_WORKS, MOST_SETTINGS = 32, 32

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
# No control characters, and none that turn the direction of text: it is shown on terminals.
_PLAIN = r"^[^\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]*$"
Text = Annotated[str, Field(max_length=MOST_TEXT, pattern=_PLAIN)]
Job = Annotated[str, Field(pattern=r"^[0-9A-Za-z_+.-]{0,64}$")]
Log2 = Annotated[float, Field(ge=-64, le=64)]
Gain = Annotated[float, Field(ge=-MOST_LOG2, le=MOST_LOG2)]
Error = Annotated[float, Field(ge=0, le=MOST_LOG2)]
Windows = Annotated[int, Field(ge=1, le=MOST_WINDOWS)]
Time = Annotated[float, Field(ge=0, le=LATEST_S)]
Knobs = Annotated[
    dict[Annotated[str, Field(pattern=r"^[a-z_]{1,64}$")], Annotated[int, Field(ge=0, le=1 << 40)]],
    Field(min_length=1, max_length=16),
]


class KindPart(FilePart):
    """What tells one kind of work from another."""

    fs: Text
    targets: Annotated[str, Field(max_length=64, pattern=_PLAIN)]
    kind: Literal["read", "write", "both", "query", "modify", "both operations"]
    request_log2: Log2 | None
    home: Knobs
    look: Annotated[list[Log2], Field(max_length=3)]
    job: Job = ""

    def work_kind(self) -> WorkKind:
        """The same as the decision core knows it."""
        size = math.nan if self.request_log2 is None else self.request_log2
        work = Work(self.kind, size)
        return WorkKind(self.fs, self.targets, work, Setting(self.home), tuple(self.look))


class _MemberGainPart(FilePart):
    knobs: Knobs
    gain_log2: Gain
    error_log2: Error
    windows: Windows
    word: Literal["proven", "contradicted", "measured"]
    time_s: Time


class _MemberWorkPart(KindPart):
    explored_s: Time | None
    gains: Annotated[list[_MemberGainPart], Field(max_length=MOST_SETTINGS)]


class _MemberFilePart(FilePart):
    schema_name: Annotated[Literal["penstock-member"], Field(alias="schema")]
    version: Literal[1]
    node: Name
    made_by: Annotated[str, Field(max_length=64, pattern=r"^[0-9A-Za-z.+-]*$")]
    facts: Annotated[dict[Name, Annotated[float, Field(ge=0, le=1e15)]], Field(max_length=16)]
    works: Annotated[list[_MemberWorkPart], Field(max_length=MOST_WORKS)]


def dump_member(file: MemberFile) -> bytes:
    """The newest kinds of work, each with the settings that were measured most."""
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "node": file.node,
        "made_by": file.made_by,
        "facts": dict(file.facts),
        "works": [_work_fields(one) for one in file.works[-MOST_WORKS:]],
    }
    return (json.dumps(document, allow_nan=False) + "\n").encode()


def parse_member(raw: bytes, where: str) -> MemberFile:
    """What `dump_member` wrote; raises `DataError` for anything else."""
    found = checked(raw, where, MOST_BYTES, (SCHEMA, VERSION), _MemberFilePart)
    works = tuple(MemberWork(one.work_kind(), one.job, _gains(one), one.explored_s) for one in found.works)
    return MemberFile(found.node, found.made_by, works, found.facts)


def _work_fields(one: MemberWork) -> dict[str, Any]:
    sure = sorted(one.gains.items(), key=lambda item: -item[1].told.windows)[:MOST_SETTINGS]
    gains = [
        {
            "knobs": dict(setting),
            "gain_log2": dated.told.gain_log2,
            "error_log2": dated.told.error_log2,
            "windows": dated.told.windows,
            "word": dated.told.word.value,
            "time_s": dated.time_s,
        }
        for setting, dated in sure
    ]
    return {**kind_fields(one.kind), "job": one.job, "explored_s": one.explored_s, "gains": gains}


def _gains(one: _MemberWorkPart) -> dict[Setting, DatedGain]:
    return {
        _setting(tuple(gain.knobs.items())): DatedGain(
            ToldGain(gain.gain_log2, gain.error_log2, gain.windows, GainWord(gain.word)), gain.time_s
        )
        for gain in one.gains
    }


@functools.lru_cache(maxsize=4096)
def _setting(knobs: tuple[tuple[str, int], ...]) -> Setting:
    """One object for what all nodes say of a setting, which makes putting it together quicker."""
    return Setting(dict(knobs))
