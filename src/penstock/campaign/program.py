"""A digest of the sources that can change a result. It identifies the program version that made the result."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable


@cache
def version(*parts: str) -> str:
    """A digest of these parts of the package, data files included."""
    mark = hashlib.sha256()
    for part in parts:
        for file in _files(resources.files("penstock").joinpath(part)):
            mark.update(file.name.encode() + b"\0" + file.read_bytes())
    return mark.hexdigest()[:16]


def _files(place: Traversable) -> list[Traversable]:
    if place.is_file():
        return [place]
    inside = sorted(place.iterdir(), key=lambda each: each.name)
    return [file for each in inside if each.name != "__pycache__" for file in _files(each)]
