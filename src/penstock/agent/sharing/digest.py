"""What all nodes together say about each kind of work, in one file that every follower reads."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import Field

from penstock.agent.advice_lines import kind_fields
from penstock.agent.sharing.member_format import (
    Error,
    Gain,
    KindPart,
    Knobs,
    Name,
    Time,
    Windows,
)
from penstock.agent.sharing.told import DatedGain, GroupKey, MemberFile, MemberWork
from penstock.decide.fleet_advice import GainWord, WorkKind
from penstock.knobs import Setting
from penstock.schemafile import FilePart, checked

SCHEMA, VERSION = "penstock-fleet", 1
MOST_BYTES = 4 << 20
MOST_WORKS, MOST_SETTINGS = 256, 16
MOST_NODES = 1 << 20

_Count = Annotated[int, Field(ge=0, le=MOST_NODES)]


@dataclass(frozen=True, slots=True)
class FleetGain:
    """What a setting brought over all nodes that measured it, each of which counts once.

    `node` is the one that proved it in most windows, with its own gain and windows; empty where nobody proved it.
    """

    setting: Setting
    nodes: int
    agree: int
    contradict: int
    gain_log2: float
    error_log2: float
    node: str
    node_gain_log2: float
    windows: int
    time_s: float

    @property
    def is_proven(self) -> bool:
        """Whether more nodes proved it than contradict it."""
        return self.agree > self.contradict


@dataclass(frozen=True, slots=True)
class FleetWork:
    """One kind of work over all nodes; the best settings come first."""

    kind: WorkKind
    job: str
    nodes: int
    explored_s: float | None
    gains: tuple[FleetGain, ...]


@dataclass(frozen=True, slots=True)
class FleetDigest:
    """What the fleet knows. `members` is how many nodes were seen lately."""

    members: int
    works: tuple[FleetWork, ...] = ()


def make_digest(
    files: Iterable[MemberFile], members: int, since_s: float, until_s: float = math.inf
) -> FleetDigest:
    """Put together what the nodes say; what was measured before `since_s` is left out, and so is whose clock says
    that it will have explored something after `until_s`.
    """
    groups: dict[GroupKey, list[tuple[str, MemberWork]]] = {}
    for file in sorted(files, key=lambda one: one.node):
        for work in file.works:
            groups.setdefault(work.key, []).append((file.node, work))
    works = [_fleet_work(group, since_s, until_s) for group in groups.values()]
    known = [work for work in works if work.gains or work.explored_s is not None]
    return FleetDigest(members, tuple(sorted(known, key=lambda work: -work.nodes)[:MOST_WORKS]))


def _fleet_work(group: Sequence[tuple[str, MemberWork]], since_s: float, until_s: float) -> FleetWork:
    said: defaultdict[Setting, dict[str, DatedGain]] = defaultdict(dict)
    for node, work in group:
        for setting, dated in work.gains.items():
            if dated.time_s >= since_s:
                said[setting][node] = dated
    gains = [_fleet_gain(setting, by_node) for setting, by_node in said.items()]
    gains.sort(key=lambda one: (-(one.agree - one.contradict), -one.gain_log2))
    first = group[0][1]
    explored = [
        work.explored_s
        for _, work in group
        if work.explored_s is not None and since_s <= work.explored_s <= until_s
    ]
    nodes = len({node for node, _ in group})
    return FleetWork(first.kind, first.job, nodes, max(explored, default=None), tuple(gains[:MOST_SETTINGS]))


def _fleet_gain(setting: Setting, by_node: dict[str, DatedGain]) -> FleetGain:
    words = [dated.told.word for dated in by_node.values()]
    gains = [dated.told.gain_log2 for dated in by_node.values()]
    count = len(gains)
    mean = sum(gains) / count
    # Where one node alone measured it, its own error counts.
    spread = math.sqrt(sum((gain - mean) ** 2 for gain in gains) / max(count - 1, 1) / count)
    own = sum(dated.told.error_log2 for dated in by_node.values()) / count / math.sqrt(count)
    proved = {node: dated for node, dated in by_node.items() if dated.told.word is GainWord.PROVEN}
    node = max(proved, key=lambda name: proved[name].told.windows, default="")
    best = proved.get(node) or max(by_node.values(), key=lambda dated: dated.told.windows)
    return FleetGain(
        setting=setting,
        nodes=count,
        agree=words.count(GainWord.PROVEN),
        contradict=words.count(GainWord.CONTRADICTED),
        gain_log2=mean,
        error_log2=max(spread, own),
        node=node,
        node_gain_log2=best.told.gain_log2,
        windows=best.told.windows,
        time_s=best.time_s,
    )


class _FleetGainPart(FilePart):
    knobs: Knobs
    nodes: _Count
    agree: _Count
    contradict: _Count
    gain_log2: Gain
    error_log2: Error
    node: Name | Annotated[str, Field(max_length=0)]
    node_gain_log2: Gain
    windows: Windows
    time_s: Time


class _FleetWorkPart(KindPart):
    nodes: _Count
    explored_s: Time | None
    gains: Annotated[list[_FleetGainPart], Field(max_length=MOST_SETTINGS)]


class _DigestPart(FilePart):
    schema_name: Annotated[str, Field(alias="schema")]
    version: int
    members: _Count
    works: Annotated[list[_FleetWorkPart], Field(max_length=MOST_WORKS)]


def dump_digest(digest: FleetDigest) -> bytes:
    """As many kinds of work as a digest may hold, the first ones."""
    raw, works = _dump(digest), digest.works
    while len(raw) > MOST_BYTES:
        works = works[: len(works) // 2]
        raw = _dump(replace(digest, works=works))
    return raw


def _dump(digest: FleetDigest) -> bytes:
    document = {
        "schema": SCHEMA,
        "version": VERSION,
        "members": digest.members,
        "works": [_work_fields(one) for one in digest.works],
    }
    return (json.dumps(document, allow_nan=False) + "\n").encode()


def parse_digest(raw: bytes, where: str) -> FleetDigest:
    """What `dump_digest` wrote; raises `DataError` for anything else."""
    found = checked(raw, where, MOST_BYTES, (SCHEMA, VERSION), _DigestPart)
    return FleetDigest(found.members, tuple(_read_work(one) for one in found.works))


def _work_fields(one: FleetWork) -> dict[str, Any]:
    gains = [
        {"knobs": dict(gain.setting)}
        | {name: getattr(gain, name) for name in _FleetGainPart.model_fields if name != "knobs"}
        for gain in one.gains
    ]
    return {
        **kind_fields(one.kind),
        "job": one.job,
        "nodes": one.nodes,
        "explored_s": one.explored_s,
        "gains": gains,
    }


def _read_work(one: _FleetWorkPart) -> FleetWork:
    gains = tuple(FleetGain(setting=Setting(g.knobs), **g.model_dump(exclude={"knobs"})) for g in one.gains)
    return FleetWork(one.work_kind(), one.job, one.nodes, one.explored_s, gains)
