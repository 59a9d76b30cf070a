"""The model that ships with the package; where it comes from is in docs/learning.md and in the file itself."""

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
