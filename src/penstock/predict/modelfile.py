"""Model files: versioned JSON, read as data and believed only after everything in it was checked.

Reading needs no training library. Whatever is wrong, truncated, too large or hostile ends in one
`ModelFileError` that names the file and the first thing found wrong; nothing is used before all is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.errors import AccessError, MissingError, ModelFileError
from penstock.predict import features
from penstock.predict.checks import ForestText, check_forest, fail_unless, mapping, numbers, text, whole
from penstock.predict.featuresets import named_like
from penstock.predict.model import DirectionModel, Model
from penstock.predict.trees import Forest
from penstock.window import DIRECTIONS

FORMAT = "penstock-model"
SCHEMA = 1
MAX_BYTES = 32 << 20
SIGNIFICANT_DIGITS = 12
INTEGER_COLUMNS = ("roots", "feature", "left", "right", "missing_left", "cover")


def load(path: Path) -> Model:
    """Read and check a model file."""
    return parse(read(path), str(path))


def read(path: Path) -> bytes:
    """The bytes of a regular file of sane size."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError(f"{path}: not a regular file")
        if status.st_size > MAX_BYTES:
            raise ModelFileError(f"{path}: {status.st_size} bytes; a model file has at most {MAX_BYTES}")
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingError(f"{path}: no such model file") from None
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except OSError as error:
        raise ModelFileError(f"{path}: {error.strerror}") from None


def parse(raw: bytes, source: str) -> Model:
    """Check everything and only then build the model; `source` names it in errors."""
    try:
        document = mapping(decode(raw), "the document")
        return _build(document)
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from None


def dump(model: Model) -> bytes:
    """The file of a model. Loading it gives the same model; the digest is worked out anew."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "schema": SCHEMA,
        "space": {"name": model.space, "knobs": {knob: list(values) for knob, values in model.knobs.items()}},
        "provenance": dict(model.provenance),
        "models": {direction: _direction_document(part) for direction, part in model.directions.items()},
    }
    document["sha256"] = digest(document)
    return (json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n").encode()


def digest(document: Mapping[str, Any]) -> str:
    """The sha256 of everything but itself, in one canonical spelling."""
    rest = {key: value for key, value in document.items() if key != "sha256"}
    spelling = json.dumps(rest, separators=(",", ":"), sort_keys=True, allow_nan=False)
    return hashlib.sha256(spelling.encode()).hexdigest()


def short(value: float) -> float:
    """A number as the file keeps it: enough digits that sums of thousands differ by far less than 1e-9."""
    return float(f"{value:.{SIGNIFICANT_DIGITS}g}")


def _direction_document(part: DirectionModel) -> dict[str, Any]:
    forest = part.forest
    return {
        "history": part.history,
        "features": list(part.names),
        "low": [short(value) for value in part.low],
        "high": [short(value) for value in part.high],
        "metrics": dict(part.metrics),
        "calibration": {"slope": short(forest.slope), "intercept": short(forest.intercept)},
        "trees": {
            "roots": forest.roots.tolist(),
            "feature": forest.feature.tolist(),
            "threshold": [short(value) for value in forest.threshold],
            "left": forest.left.tolist(),
            "right": forest.right.tolist(),
            "missing_left": forest.missing_left.astype(int).tolist(),
            "value": [short(value) for value in forest.value],
            "cover": forest.cover.astype(int).tolist(),
        },
    }


def decode(raw: bytes) -> object:
    """The JSON document in these bytes, without duplicate keys or numbers that JSON does not have."""
    if raw[:1] != b"{":
        raise ModelFileError("not a JSON document (a model file is plain JSON, never a pickle or an archive)")
    try:
        return json.loads(raw.decode("utf-8"), object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise ModelFileError(f"not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise ModelFileError(f"truncated or not valid JSON: {error}") from None
    except RecursionError:
        raise ModelFileError("nested too deeply") from None
    except ValueError as error:
        raise ModelFileError(f"not valid JSON: {error}") from None


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        raise ModelFileError(f"key {next(key for key in keys if keys.count(key) > 1)!r} appears twice")
    return found


def _no_constant(word: str) -> object:
    raise ModelFileError(f"{word} is not a number")


def _build(document: Mapping[str, Any]) -> Model:
    fail_unless(document.get("format") == FORMAT, f"format is not {FORMAT!r}")
    schema = document.get("schema")
    fail_unless(
        schema == SCHEMA, f"schema {schema!r} is not {SCHEMA}; this version of penstock reads no other"
    )
    claimed = text(document, "sha256")
    fail_unless(claimed == digest(document), "the sha256 does not fit the content: damaged or altered")
    space = mapping(document.get("space"), "space")
    knobs = {
        knob: tuple(whole(values, f"space.knobs.{knob}"))
        for knob, values in mapping(space.get("knobs"), "space.knobs").items()
    }
    models = mapping(document.get("models"), "models")
    fail_unless(bool(models) and set(models) <= set(DIRECTIONS), f"models must be of {', '.join(DIRECTIONS)}")
    directions = {name: _build_direction(name, mapping(part, name)) for name, part in models.items()}
    for part in directions.values():
        named = part.features.knob_ids
        fail_unless(set(named) <= set(knobs), f"space.knobs lacks {' or '.join(named)}")
    provenance = mapping(document.get("provenance"), "provenance")
    return Model(directions, text(space, "name"), knobs, provenance, claimed)


def _build_direction(direction: str, part: Mapping[str, Any]) -> DirectionModel:
    history = part.get("history")
    fail_unless(
        type(history) is int and 0 <= history <= features.MAX_HISTORY, f"{direction}.history {history!r}"
    )
    assert isinstance(history, int)
    found = named_like(part.get("features"), direction, history)
    names = found.names(direction, history)
    low = numbers(part.get("low"), f"{direction}.low")
    high = numbers(part.get("high"), f"{direction}.high")
    fail_unless(len(low) == len(high) == len(names), f"{direction}.low and .high need {len(names)} values")
    fail_unless(bool((low <= high).all()), f"{direction}: a lower bound lies above its upper bound")
    metrics = mapping(part.get("metrics"), f"{direction}.metrics")
    for name, value in metrics.items():
        fail_unless(_finite(value), f"{direction}.metrics.{name} is not a number")
    forest = _build_forest(part, direction, len(names))
    return DirectionModel(direction, history, names, forest, low, high, metrics, found)


def _build_forest(part: Mapping[str, Any], direction: str, feature_count: int) -> Forest:
    where = f"{direction}.trees"
    trees = mapping(part.get("trees"), where)
    calibration = mapping(part.get("calibration"), f"{direction}.calibration")
    slope, intercept = calibration.get("slope"), calibration.get("intercept")
    fail_unless(_finite(slope) and _finite(intercept), f"{direction}.calibration needs slope and intercept")
    fail_unless(slope > 0, f"{direction}.calibration.slope {slope} is not positive")  # type: ignore[operator]
    integers = {key: whole(trees.get(key), f"{where}.{key}") for key in INTEGER_COLUMNS}
    threshold = numbers(trees.get("threshold"), f"{where}.threshold")
    found = ForestText(**integers, threshold=threshold, value=numbers(trees.get("value"), f"{where}.value"))
    check_forest(found, feature_count, where)
    return Forest(
        features=feature_count,
        roots=np.array(found.roots, dtype=np.int32),
        feature=np.array(found.feature, dtype=np.int32),
        threshold=found.threshold,
        left=np.array(found.left, dtype=np.int32),
        right=np.array(found.right, dtype=np.int32),
        missing_left=np.array(found.missing_left, dtype=np.bool_),
        value=found.value,
        cover=np.array(found.cover, dtype=np.float64),
        slope=float(slope),  # type: ignore[arg-type]
        intercept=float(intercept),  # type: ignore[arg-type]
    )


def _finite(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
