"""A fitted model on disk: its samples, technique and parameters. Loading fits it again; no code is in it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from penstock import config
from penstock.errors import ConfigError, ModelFileError, UsageError
from penstock.input_files import read_text
from penstock.plan.storage import StorageSystem
from penstock.plan.write.fitted import FittedModel, Spreads, Subject, fit_model
from penstock.plan.write.folds import Spread
from penstock.plan.write.idea_spread import IdeaSpread
from penstock.plan.write.stacked import RATES, TREES
from penstock.plan.write.support import Support
from penstock.plan.write.techniques import STACK, check_parameters, check_technique
from penstock.plan.write.terms import trainable
from penstock.plan.write.write_samples import WriteSamples, column_names

FORMAT = "penstock write-time model"
# Version 6: a model says how far beyond its scales it may be asked.
VERSION = 6
MAX_MODEL_BYTES = 100_000_000
MAX_SAMPLES = 200_000
MAX_REASON = 300
_IDEAS = TypeAdapter(IdeaSpread)
_KEYS = (
    "format",
    "version",
    "system",
    "technique",
    "parameters",
    "features",
    "columns",
    "seconds",
    "converged",
    "spreads",
    "support",
    "operation",
    "files",
)


def dump_model(model: FittedModel) -> str:
    """The model as JSON text, with a checksum over its content."""
    samples = model.samples
    body: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "technique": model.technique,
        "parameters": dict(model.given),
        "features": list(model.features),
        "system": samples.system.model_dump(mode="json", exclude_none=True),
        "columns": {name: values.tolist() for name, values in samples.columns.items()},
        "seconds": samples.seconds.tolist(),
        "converged": samples.converged.tolist(),
        "spreads": asdict(model.spreads),
        "support": asdict(model.support),
        "operation": model.subject.operation,
        "files": model.subject.files,
    }
    return json.dumps(body | {"sha256": model_digest(body)}, allow_nan=False) + "\n"


def model_digest(body: Mapping[str, Any]) -> str:
    plain = {key: value for key, value in body.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()


def load_model(path: Path) -> FittedModel:
    """Read, check and refit a model file."""
    return parse_model(read_text(path, MAX_MODEL_BYTES, ModelFileError), str(path))


def parse_model(text: str, source: str) -> FittedModel:
    """The model in a JSON text; every refusal names the source and the key."""
    body = _document(text, source)
    technique = body["technique"]
    try:
        check_technique(str(technique))
    except UsageError as error:
        raise ModelFileError(f"{source}: {error}") from None
    given = body["parameters"]
    if not isinstance(given, dict):
        raise ModelFileError(f"{source}: key 'parameters' is not a table")
    parameters = check_parameters(str(technique), given, source)
    samples = _samples(body, source)
    if body["features"] != list(trainable(samples.system.kind, str(technique))):
        raise ModelFileError(f"{source}: its features are not the ones this version computes: fit it again")
    spreads = _spreads(body["spreads"], source)
    if spreads.ideas is not None and technique != STACK:
        raise ModelFileError(f"{source}: key 'spreads.ideas' belongs to a stack, not to {technique}")
    model = fit_model(source, str(technique), parameters, samples)
    return replace(model, spreads=spreads, subject=_subject(body, source), support=_support(body, source))


def _support(body: Mapping[str, Any], source: str) -> Support:
    given = body["support"]
    far, reason = (given.get("doublings"), given.get("reason")) if isinstance(given, dict) else (None, None)
    if isinstance(far, bool) or not isinstance(far, int | float) or not 0 <= far < 64:
        raise ModelFileError(f"{source}: key 'support.doublings' is not a number from 0 to 63")
    if not isinstance(reason, str):
        raise ModelFileError(f"{source}: key 'support.reason' is not a text")
    return Support(float(far), reason[:MAX_REASON])


def _subject(body: Mapping[str, Any], source: str) -> Subject:
    for key, allowed in (("operation", ("write", "read")), ("files", ("own", "shared"))):
        if body[key] not in allowed:
            raise ModelFileError(f"{source}: key {key!r} is not {' or '.join(allowed)}")
    return Subject(body["operation"], body["files"])


def _spreads(given: object, source: str) -> Spreads:
    found: dict[str, Spread | None] = {}
    for where in ("inside", "beyond"):
        entry = given.get(where) if isinstance(given, dict) else given
        if entry is None:
            found[where] = None
            continue
        ends = [entry.get(key) for key in ("low", "high", "measured")] if isinstance(entry, dict) else []
        numbers = [value for value in ends if isinstance(value, int | float) and not isinstance(value, bool)]
        if (
            len(ends) != 3
            or len(numbers) < 2 + (ends[2] is not None)
            or not -50 < numbers[0] <= numbers[1] < 50
        ):
            raise ModelFileError(f"{source}: key 'spreads.{where}' is not low, high and measured")
        found[where] = Spread(float(numbers[0]), float(numbers[1]), ends[2])
    ideas = given.get("ideas") if isinstance(given, dict) else None
    return Spreads(**found, ideas=None if ideas is None else _ideas(ideas, source))


def _ideas(given: object, source: str) -> IdeaSpread:
    try:
        found = _IDEAS.validate_python(given)
    except ValidationError as error:
        where = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise ModelFileError(f"{source}: key 'spreads.ideas.{where}': {error.errors()[0]['msg']}") from None
    numbers = [value for one in found.ideas for value in (one.share, *one.weights, *one.offsets)]
    if (
        not found.ideas
        or any(
            one.rate not in RATES or len(one.weights) != len(TREES) or not one.offsets for one in found.ideas
        )
        or not all(-50 < value < 50 for value in numbers)
        or any(one.share <= 0 for one in found.ideas)
    ):
        raise ModelFileError(f"{source}: key 'spreads.ideas' is not a list of rates, weights and offsets")
    return found


def _document(text: str, source: str) -> dict[str, Any]:
    try:
        body = json.loads(text, parse_constant=lambda word: _refuse(f"{source}: holds {word}"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ModelFileError(f"{source}: not valid JSON: {error}") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        raise ModelFileError(f"{source}: not a write-time model; make one with penstock plan fit")
    if body.get("version") != VERSION:
        raise ModelFileError(
            f"{source}: version {body.get('version')!r}; this program reads {VERSION}: fit it again"
        )
    for key in _KEYS:
        if key not in body:
            raise ModelFileError(f"{source}: key {key!r} is missing")
    if body.get("sha256") != model_digest(body):
        raise ModelFileError(f"{source}: key 'sha256' does not match its content")
    return body


def _refuse(message: str) -> None:
    raise ModelFileError(message)


def _samples(body: Mapping[str, Any], source: str) -> WriteSamples:
    try:
        system = config.validate(body["system"], StorageSystem, f"{source}: system")
    except ConfigError as error:
        raise ModelFileError(str(error)) from None
    seconds = _numbers(body["seconds"], "seconds", source)
    columns = body["columns"]
    wanted = column_names(system.kind)
    if not isinstance(columns, dict) or set(columns) != set(wanted):
        raise ModelFileError(f"{source}: key 'columns' does not hold exactly {', '.join(wanted)}")
    values = {name: _numbers(columns[name], f"columns.{name}", source) for name in wanted}
    converged = np.array(body["converged"])
    lengths = {seconds.size, converged.size, *(column.size for column in values.values())}
    if len(lengths) != 1 or not 0 < seconds.size <= MAX_SAMPLES or converged.dtype != np.bool_:
        raise ModelFileError(f"{source}: its columns differ in length, or have none or too many rows")
    if min(column.min() for name, column in values.items() if name != "n_sub") <= 0 or seconds.min() <= 0:
        raise ModelFileError(f"{source}: a time or parameter is not positive")
    return WriteSamples(system, values, seconds, converged)


def _numbers(values: object, key: str, source: str) -> npt.NDArray[np.float64]:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array([])
    if found.ndim != 1 or found.size == 0 or not np.isfinite(found).all():
        raise ModelFileError(f"{source}: key {key!r} is not a list of numbers")
    return found
