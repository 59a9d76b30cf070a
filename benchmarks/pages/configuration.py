"""Reference of `agent.toml`: every key from the schema, explained by the commented file that ships."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from annotated_types import Ge, Gt, Le, Lt
from benchmarks.pages.markdown import code, fence, page, prose, table
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from penstock.agent.settings import AgentConfig

SHIPPED = Path(__file__).parents[2] / "packaging" / "agent.toml"
LEAD = """\
`/etc/penstock/agent.toml` is everything the agent can be told. It must belong to root (or to whoever runs the
agent) and be writable by nobody else. Drop-ins in `agent.toml.d/*.toml` win over it; two drop-ins that
contradict each other are an error. Unknown keys, wrong types and values out of range are refused with one line
that names file and key, and exit code 5. A change takes effect at the next start. Durations are seconds or
`"500ms"`, `"2m"`, `"1h"`.

`penstock agent check --config FILE` says what an agent with this file would do, and starts nothing."""


def text() -> str:
    """The page."""
    meanings = _meanings(SHIPPED.read_text(encoding="utf-8"))
    parts = [LEAD]
    for section, schema in _sections(AgentConfig):
        parts.append(f"## {code(f'[{section}]') if section else 'Top level'}")
        parts.append(prose(schema.__doc__))
        rows = [
            (
                code(name),
                _type(field),
                code(_value(field.get_default(call_default_factory=True))),
                meanings[section, name],
            )
            for name, field in schema.model_fields.items()
            if not _is_section(field)
        ]
        parts.append(table(("key", "value", "default", "meaning"), rows))
    parts += ["## The whole file, as it ships", fence(SHIPPED.read_text(encoding="utf-8"), "toml")]
    return page("Configuration of the agent", *parts)


def _sections(schema: type[BaseModel]) -> Iterator[tuple[str, type[BaseModel]]]:
    yield "", schema
    for name, field in schema.model_fields.items():
        if _is_section(field):
            assert isinstance(field.annotation, type)
            yield name, field.annotation


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)


def _meanings(text: str) -> dict[tuple[str, str], str]:
    """What the comments above each key say; a comment that ends in `...` goes on above the next key."""
    found: dict[tuple[str, str], str] = {}
    section, said = "", list[str]()
    for line in text.splitlines():
        if line.startswith("# "):
            said.append(line[2:])
        elif match := re.fullmatch(r"\[(\w+)\]", line):
            section, said = match[1], []
        elif match := re.match(r"(\w+) = ", line):
            found[section, match[1]] = " ".join(said).removeprefix("... ").removesuffix(" ...")
            said = []
        else:
            said = []
    return found


def _type(field: FieldInfo) -> str:
    annotation = field.annotation
    if isinstance(annotation, type) and issubclass(annotation, StrEnum):
        return ", ".join(code(f'"{word}"') for word in annotation)
    if typing.get_origin(annotation) is types.UnionType or not isinstance(annotation, type):
        words = "list of texts"
    else:
        words = {"str": "text", "int": "whole number", "float": "number", "bool": "`true`, `false`"}.get(
            annotation.__name__, annotation.__name__
        )
    return f"{words}{_bounds(field)}"


def _bounds(field: FieldInfo) -> str:
    signs: list[str] = []
    for rule in field.metadata:
        for kind, sign, key in ((Gt, ">", "gt"), (Ge, ">=", "ge"), (Lt, "<", "lt"), (Le, "<=", "le")):
            if isinstance(rule, kind):
                signs.append(f"{sign} {getattr(rule, key):g}")
    return f", {' and '.join(signs)}" if signs else ""


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{each}"' for each in value) + "]"
    return f'"{value}"' if isinstance(value, str) else f"{value}"
