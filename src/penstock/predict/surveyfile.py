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
from penstock.predict.surfaces import COUNTERS, KINDS, Case, Survey, grid_size

FORMAT = "penstock-survey"
SCHEMA = 3
MAX_CASES = 8192
DECIMALS = 2
MOST_LOG2 = 20.0
MOST_WEIGHT = 1000.0


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
        "space": survey.space,
        "knobs": {knob_id: list(values) for knob_id, values in survey.knobs.items()},
        "provenance": dict(survey.provenance),
        "cases": [
            {
                "origin": case.origin,
                "kind": case.kind,
                "gains": [round(float(value), DECIMALS) for value in case.gains.ravel()],
                **({"look": [round(value, DECIMALS) for value in case.look]} if case.look else {}),
                **({"weight": case.weight} if case.weight != 1.0 else {}),
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
    axes = mapping(document.get("knobs"), "knobs")
    knobs = {knob_id: _axis(axes, knob_id) for knob_id in axes}
    fail_unless(bool(knobs), "key 'knobs' names no knob")
    found = document.get("cases")
    fail_unless(isinstance(found, list) and 0 < len(found) <= MAX_CASES, f"cases: allowed are 1..{MAX_CASES}")
    size = grid_size(knobs)
    cases = tuple(_case(mapping(one, f"cases[{i}]"), size, i) for i, one in enumerate(found or ()))
    provenance = mapping(document.get("provenance"), "provenance")
    return Survey(text(document, "space"), knobs, cases, provenance, said)


def _axis(axes: Mapping[str, Any], knob_id: str) -> tuple[int, ...]:
    values = whole(axes.get(knob_id), f"knobs.{knob_id}")
    rising = values == sorted(set(values)) and bool(values) and values[0] >= 0
    fail_unless(rising, f"knobs.{knob_id} is not a rising list of numbers")
    return tuple(values)


def _case(document: Mapping[str, Any], size: int, index: int) -> Case:
    kind = text(document, "kind")
    fail_unless(kind in KINDS, f"cases[{index}]: kind {kind!r} is none of {', '.join(KINDS)}")
    values = numbers(document.get("gains"), f"cases[{index}].gains")
    wanted = size * len(KINDS[kind])
    fail_unless(len(values) == wanted, f"cases[{index}].gains has {len(values)} entries, not {wanted}")
    fail_unless(bool(np.all(np.abs(values) <= MOST_LOG2)), f"cases[{index}].gains leaves +-{MOST_LOG2:g}")
    look = tuple(map(float, numbers(document.get("look", []), f"cases[{index}].look")))
    fail_unless(len(look) in (0, COUNTERS), f"cases[{index}].look has {len(look)} entries, not {COUNTERS}")
    gains = np.ascontiguousarray(values.reshape(len(KINDS[kind]), size))
    weight = float(numbers([document.get("weight", 1.0)], f"cases[{index}].weight")[0])
    fail_unless(0.0 < weight <= MOST_WEIGHT, f"cases[{index}].weight is not within 0..{MOST_WEIGHT:g}")
    return Case(text(document, "origin"), kind, gains, look, weight)
