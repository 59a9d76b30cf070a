"""The shape of a JSON document: every key with its type, one value as an example, and what it means."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pages.markdown import code, table

KEYS = Path(__file__).with_name("keys.toml")
MOST_EXAMPLE = 40
TYPES = {bool: "true or false", int: "whole number", float: "number", str: "text", type(None): "null"}


def rows(document: object, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, type and example of everything in a document; equal items of lists and maps are shown once."""
    if isinstance(document, Mapping) and document:
        if any(ending in _keys()["maps"] for ending in _endings(path)):
            yield path, "object by name", ""
            yield from rows(next(iter(document.values())), f"{path}.NAME")
            return
        if path:
            yield path, "list of objects" if path.endswith("[]") else "object", ""
        for key, value in document.items():
            yield from rows(value, f"{path}.{key}" if path else str(key))
    elif isinstance(document, Sequence) and not isinstance(document, str) and _merged(document) is not None:
        yield from rows(_merged(document), f"{path}[]")
    else:
        yield path, _type(document), _example(document)


def shape(document: object) -> str:
    """The table of a document."""
    meanings: Mapping[str, str] = _keys()["keys"]
    return table(
        ("key", "type", "example", "meaning"),
        [
            (code(path), kind, code(example), _meaning(path, meanings))
            for path, kind, example in rows(document)
        ],
    )


def unexplained(document: object) -> list[str]:
    """The keys of a document that nothing is said of."""
    meanings: Mapping[str, str] = _keys()["keys"]
    return [
        path for path, _, _ in rows(document) if not _meaning(path, meanings) and not path.endswith("NAME")
    ]


def _meaning(path: str, meanings: Mapping[str, str]) -> str:
    """By the longest ending of the path that is explained."""
    return next((meanings[ending] for ending in _endings(path) if ending in meanings), "")


def _endings(path: str) -> list[str]:
    """The path, then what is left of it without its first part, and so on."""
    parts = path.replace("[]", "").split(".")
    return [".".join(parts[start:]) for start in range(len(parts))]


def _merged(items: Sequence[Any]) -> dict[str, Any] | None:
    """All keys that objects of a list have; None where it holds something else."""
    if not items or not all(isinstance(item, Mapping) for item in items):
        return None
    merged: dict[str, Any] = {}
    for item in items:
        for key, value in item.items():
            if merged.get(key) in (None, [], {}, ()):
                merged[key] = value
    return merged


def _type(value: object) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        inner = dict.fromkeys(TYPES.get(type(each), "list") for each in value)
        return f"list of {' or '.join(inner)}" if inner else "list"
    return "object" if isinstance(value, Mapping) else TYPES[type(value)]


def _example(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= MOST_EXAMPLE else f"{text[: MOST_EXAMPLE - 3]}..."


@functools.cache
def _keys() -> Mapping[str, Any]:
    return tomllib.loads(KEYS.read_text(encoding="utf-8"))
