"""What a fleet knows, read from its shared folder by people: shown, carried elsewhere, brought in, or forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.agent.advice_lines import kind_fields
from penstock.agent.sharing.digest import FleetDigest, FleetGain, FleetWork, make_digest
from penstock.agent.sharing.folder import MEMBERS, ShareFolder
from penstock.agent.sharing.member_format import dump_member, parse_member
from penstock.agent.sharing.roster import Roster
from penstock.agent.sharing.told import MemberFile, MemberWork
from penstock.errors import DataError, MissingError
from penstock.gains import Gain, from_log2
from penstock.report.page import Section, Table, render
from penstock.units import counted, format_duration

SCHEMA, VERSION = "penstock-knowledge-export", 1
MOST_EXPORT_BYTES = 256 << 20
_CERTAIN = 1.96
HEADING = ("setting", "gain (95 %)", "nodes", "prove it", "contradict it", "windows", "proved on", "age")


@dataclass(frozen=True, slots=True)
class FleetKnowledge:
    """Everything that a shared folder holds, and what in it could not be used."""

    files: tuple[MemberFile, ...]
    digest: FleetDigest
    problems: tuple[str, ...]


def read_knowledge(directory: Path) -> FleetKnowledge:
    """Read all members' files. Nothing is changed there."""
    if not (directory / MEMBERS).is_dir():
        raise MissingError(f"{directory}: no folder that agents share: it has no {MEMBERS}/")
    roster = Roster(ShareFolder(directory, "reader"), puts_aside=False)
    files = tuple(roster.read(0.0))
    return FleetKnowledge(files, make_digest(files, len(files), 0.0), tuple(roster.problems))


def gain_of(one: FleetGain) -> Gain:
    """The mean over nodes with its 95 % interval."""
    off = _CERTAIN * one.error_log2
    return Gain(*(from_log2(one.gain_log2 + by) for by in (0.0, -off, off)))


def work_words(work: FleetWork) -> str:
    """A kind of work in a few words."""
    targets = f" ({work.kind.targets})" if work.kind.targets else ""
    job = f", job {work.job}" if work.job else ""
    return f"{work.kind.fs}{targets}: {work.kind.work}{job}, from {work.kind.home}"


def cells(one: FleetGain, now_s: float) -> tuple[str, ...]:
    """A setting as a row under `HEADING`."""
    age = format_duration(max(now_s - one.time_s, 0.0))
    counts = (one.nodes, one.agree, one.contradict, one.windows)
    nodes, agree, contradict, windows = map(str, counts)
    return (
        str(one.setting),
        gain_of(one).with_interval,
        nodes,
        agree,
        contradict,
        windows,
        one.node or "-",
        age,
    )


def document(found: FleetKnowledge) -> dict[str, Any]:
    return {
        "nodes": [
            {"node": one.node, "made_by": one.made_by, "works": len(one.works), "facts": dict(one.facts)}
            for one in found.files
        ],
        "works": [
            {
                **kind_fields(work.kind),
                "job": work.job,
                "nodes": work.nodes,
                "explored_s": work.explored_s,
                "settings": [_setting_fields(gain) for gain in work.gains],
            }
            for work in found.digest.works
        ],
        "problems": list(found.problems),
    }


def page(found: FleetKnowledge, now_s: float) -> str:
    """One self-contained HTML page."""
    sections = [
        Section(
            work_words(work),
            (f"Known on {counted(work.nodes, 'node')}.",),
            tables=(Table(HEADING, [cells(gain, now_s) for gain in work.gains]),),
        )
        for work in found.digest.works
    ]
    if found.problems:
        sections.append(Section("not used", found.problems))
    return render("What the fleet knows", (), sections, f"{sentence(found)}.")


def sentence(found: FleetKnowledge) -> str:
    """How much is known."""
    works = found.digest.works
    proven = sum(any(gain.is_proven for gain in work.gains) for work in works)
    odd = sum(gain.contradict > 0 for work in works for gain in work.gains)
    known = f"{counted(len(works), 'kind')} of work known on {counted(len(found.files), 'node')}"
    return f"{known}; for {proven} a setting is proven; {counted(odd, 'setting')} contradicted by some node"


def dump_export(files: Iterable[MemberFile]) -> bytes:
    """All members' files as one, for another fleet."""
    members = [json.loads(dump_member(one)) for one in files]
    return (json.dumps({"schema": SCHEMA, "version": VERSION, "members": members}) + "\n").encode()


def parse_export(raw: bytes, where: str) -> list[MemberFile]:
    """What `dump_export` wrote; raises `DataError` for anything else."""
    try:
        said = json.loads(raw) if len(raw) <= MOST_EXPORT_BYTES else None
    except (ValueError, RecursionError):
        said = None
    if (
        not isinstance(said, dict)
        or said.get("schema") != SCHEMA
        or not isinstance(said.get("members"), list)
    ):
        raise DataError(f"{where}: not a file that `penstock fleet knowledge --export` wrote")
    if said.get("version") != VERSION:
        raise DataError(f"{where}: version {said.get('version')!r}, this Penstock reads version {VERSION}")
    return [
        parse_member(json.dumps(one).encode(), f"{where}: member {at}")
        for at, one in enumerate(said["members"])
    ]


def bring_in(directory: Path, files: Sequence[MemberFile]) -> list[str]:
    """Write members' files that are not there yet; answers the nodes that were brought in."""
    folder = ShareFolder(directory, "import")
    folder.prepare()
    return [one.node for one in files if folder.create(MEMBERS, f"{one.node}.json", dump_member(one))]


def forget_older(directory: Path, found: FleetKnowledge, since_s: float) -> int:
    """Drop what was measured before a moment; answers how many gains that were.

    A running agent tells again what it knows itself.
    """
    dropped = 0
    for file in found.files:
        works = tuple(_since(work, since_s) for work in file.works)
        gone = sum(len(old.gains) - len(new.gains) for old, new in zip(file.works, works, strict=True))
        if gone:
            dropped += gone
            _put_back(directory, replace(file, works=tuple(work for work in works if work.gains)))
    return dropped


def forget_version(directory: Path, found: FleetKnowledge, version: str) -> int:
    """Drop everything that agents of one version told; answers how many gains that were."""
    theirs = [file for file in found.files if file.made_by == version]
    folder = ShareFolder(directory, "forget")
    for file in theirs:
        folder.remove(MEMBERS, f"{file.node}.json")
    return sum(len(work.gains) for file in theirs for work in file.works)


def _put_back(directory: Path, file: MemberFile) -> None:
    folder = ShareFolder(directory, "forget")
    if file.works:
        folder.write(MEMBERS, f"{file.node}.json", dump_member(file))
    else:
        folder.remove(MEMBERS, f"{file.node}.json")


def _since(work: MemberWork, since_s: float) -> MemberWork:
    explored_s = work.explored_s if work.explored_s is not None and work.explored_s >= since_s else None
    gains = {setting: dated for setting, dated in work.gains.items() if dated.time_s >= since_s}
    return replace(work, gains=gains, explored_s=explored_s)


def _setting_fields(one: FleetGain) -> dict[str, Any]:
    gain = gain_of(one)
    return {
        "knobs": dict(one.setting),
        "gain": gain.ratio,
        "low": gain.low,
        "high": gain.high,
        "verdict": gain.verdict.value,
        "nodes": one.nodes,
        "agree": one.agree,
        "contradict": one.contradict,
        "windows": one.windows,
        "node": one.node,
        "time_s": one.time_s,
    }
