"""The example configuration is the schema: every option, its default, and a word on it."""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from penstock.agent.settings import AgentConfig, read_settings


def options(schema: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in schema.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from options(field.annotation, f"{prefix}{name}.")
        else:
            yield prefix + name


def flat(document: dict[str, object], prefix: str = "") -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name


def test_example_holds_every_option_at_its_default(packaging: Path) -> None:
    path = packaging / "agent.toml"
    assert read_settings(path) == AgentConfig()
    assert sorted(flat(tomllib.loads(path.read_text()))) == sorted(options(AgentConfig))


def test_example_explains_every_option(packaging: Path) -> None:
    lines = (packaging / "agent.toml").read_text().splitlines()
    for before, line in itertools.pairwise(lines):
        if "=" in line and not line.startswith("#"):
            assert before.startswith("# "), f"{line!r} is not explained"
