"""The specification of a campaign: a TOML file with the kind of work, the output directory and the kind's own
table.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from penstock.campaign.kinds import HOMES, Kind, Shard, find_kind
from penstock.campaign.program import version
from penstock.config import Duration, Section, load, validate
from penstock.errors import ConfigError, did_you_mean

MOST_SHARDS = 1_000_000


class SlurmSection(Section):
    """What every Slurm job of a campaign asks for. One job runs `cores` worker processes."""

    partition: str | None = None
    account: str | None = None
    cores: int = Field(default=1, ge=1)
    memory: str = "2GiB"
    walltime: Duration = Field(default=3600.0, ge=60)
    interface: str | None = None
    directives: tuple[str, ...] = Field(default=(), strict=False)


class CampaignSection(Section):
    """A specification file. The table for the kind is named after the kind."""

    kind: str
    out: str
    retries: int = Field(default=2, ge=0, le=100)
    slurm: SlurmSection = SlurmSection()
    surface: dict[str, Any] | None = None
    static: dict[str, Any] | None = None
    scenarios: dict[str, Any] | None = None
    robust: dict[str, Any] | None = None
    collect: dict[str, Any] | None = None
    survey: dict[str, Any] | None = None
    study: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Specification:
    """A checked specification: the work, the program version and the output directory."""

    name: str
    directory: Path
    section: CampaignSection
    asked: Section
    shards: tuple[Shard, ...]

    @property
    def kind(self) -> Kind:
        return find_kind(self.section.kind)

    @property
    def program(self) -> str:
        """A digest of the sources that can change a result."""
        return version(*self.kind.program)

    def task(self, shard: Shard) -> str:
        """Everything a worker needs to know about a shard, as JSON."""
        path = self.directory / "shards" / f"{shard.key}.parquet"
        about = {"kind": self.section.kind, "key": shard.key, "program": self.program, "path": str(path)}
        return json.dumps({**about, "work": shard.work})


def out_directory(path: Path) -> Path:
    """The directory of the results, relative to the specification file. If a directory is given, it is returned."""
    if path.is_dir():
        return path.resolve()
    return (path.parent / load(path, CampaignSection).out).resolve()


def load_specification(path: Path) -> Specification:
    """Read a specification and the files it names. Errors say which file and which key is wrong."""
    section = load(path, CampaignSection)
    if section.kind not in HOMES:
        raise ConfigError(
            f"{path}: kind {section.kind!r}: there is {', '.join(HOMES)}{did_you_mean(section.kind, HOMES)}"
        )
    strange = next(
        (name for name in HOMES if name != section.kind and getattr(section, name) is not None), None
    )
    if strange is not None:
        raise ConfigError(f"{path}: table [{strange}] is for another kind than {section.kind!r}")
    kind = find_kind(section.kind)
    asked = validate(getattr(section, section.kind) or {}, kind.section, f"{path}: [{section.kind}]")
    shards = tuple(kind.shards(asked, path.parent.resolve()))
    if not 0 < len(shards) <= MOST_SHARDS:
        raise ConfigError(f"{path}: {len(shards)} shards; a campaign has 1 to {MOST_SHARDS:,}")
    return Specification(str(path), (path.parent / section.out).resolve(), section, asked, shards)
