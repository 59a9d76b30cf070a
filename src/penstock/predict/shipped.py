"""What ships with the package; docs/explanation/learning.md and the files themselves say where they come from."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from penstock.predict import modelfile, surveyfile
from penstock.predict.model import Model
from penstock.predict.surfaces import Survey

MODEL = "default.json"
SURVEY = "survey.json"
# The same data, fitted as CARAT prints it: its features and labels.
PRINTED = "printed.json"


@cache
def default_model() -> Model:
    """The shipped model, checked like any other."""
    return modelfile.parse(_raw(MODEL), f"the shipped model {MODEL}")


@cache
def printed_model() -> Model:
    """The shipped model of the printed algorithms, checked like any other."""
    return modelfile.parse(_raw(PRINTED), f"the shipped model {PRINTED}")


@cache
def default_survey() -> Survey:
    """The shipped survey, checked like any other."""
    return surveyfile.parse(_raw(SURVEY), f"the shipped survey {SURVEY}")


def _raw(name: str) -> bytes:
    return files("penstock.predict").joinpath(name).read_bytes()
