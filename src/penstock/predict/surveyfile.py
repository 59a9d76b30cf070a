"""Survey files: versioned JSON, checked as strictly as model files before anything in them is believed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import ModelFileError
from penstock.predict.checks import fail_unless, mapping, numbers, text, whole
from penstock.predict.modelfile import decode, digest, read
from penstock.predict.surfaces import LIKENESS, Case, Survey
from penstock.window import DIRECTIONS

FORMAT = "penstock-survey"
SCHEMA = 2
MAX_CASES = 4096
FEATURES = {direction: list(names) for direction, names in LIKENESS.items()}
DECIMALS = 3


def load(path: Path) -> Survey:
    """Read and check a survey file."""
    return parse(read(path), str(path))


def parse(raw: bytes, source: str) -> Survey:
    """Check everything and only then build the survey; `source` names it in errors."""
    try:
        return _build(mapping(decode(raw), "the document"))
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from None


def dump(survey: Survey) -> bytes:
    """The file of a survey. Loading it gives the same survey; the digest is worked out anew."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "pages": list(survey.pages),
        "flight": list(survey.flight),
        "features": FEATURES,
        "provenance": dict(survey.provenance),
        "cases": [
            {
                "cluster": case.cluster,
                "workload": case.workload,
                "direction": case.direction,
                "values": [round(float(value), DECIMALS) for value in case.features.ravel()],
            }
            for case in survey.cases
        ],
    }
    document["sha256"] = digest(document)
    return (json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n").encode()


def _build(document: Mapping[str, Any]) -> Survey:
    fail_unless(document.get("format") == FORMAT, f"key 'format' is not {FORMAT!r}")
    fail_unless(
        document.get("schema") == SCHEMA, f"schema {document.get('schema')!r}, this release reads {SCHEMA}"
    )
    said = text(document, "sha256")
    fail_unless(said == digest(document), "the content does not match its sha256: damaged or edited")
    fail_unless(document.get("features") == FEATURES, f"key 'features' is not {FEATURES}")
    pages, flight = (_axis(document, key) for key in ("pages", "flight"))
    found = document.get("cases")
    fail_unless(isinstance(found, list) and 0 < len(found) <= MAX_CASES, f"cases: allowed are 1..{MAX_CASES}")
    places = len(pages) * len(flight)
    cases = tuple(_case(mapping(one, f"cases[{i}]"), places, i) for i, one in enumerate(found or ()))
    for direction in DIRECTIONS:
        fail_unless(any(case.direction == direction for case in cases), f"no case of direction {direction!r}")
    return Survey(pages, flight, cases, mapping(document.get("provenance"), "provenance"), said)


def _axis(document: Mapping[str, Any], key: str) -> tuple[int, ...]:
    values = whole(document.get(key), key)
    rising = values == sorted(set(values)) and bool(values) and values[0] >= 1
    fail_unless(rising, f"{key} is not a rising list of positive numbers")
    return tuple(values)


def _case(document: Mapping[str, Any], places: int, index: int) -> Case:
    direction = text(document, "direction")
    fail_unless(direction in DIRECTIONS, f"cases[{index}]: direction {direction!r} is neither read nor write")
    values = numbers(document.get("values"), f"cases[{index}].values")
    wanted = places * len(FEATURES[direction])
    fail_unless(len(values) == wanted, f"cases[{index}].values has {len(values)} entries, not {wanted}")
    table = np.ascontiguousarray(values.reshape(places, -1))
    return Case(text(document, "cluster"), text(document, "workload"), direction, table)
