"""The model that ships with the package; docs/learning.md and the file itself say where it comes from."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from penstock.predict.model import Model
from penstock.predict.modelfile import parse

NAME = "default.json"


@cache
def default_model() -> Model:
    """The shipped model, checked like any other."""
    return parse(files("penstock.predict").joinpath(NAME).read_bytes(), f"the shipped model {NAME}")
