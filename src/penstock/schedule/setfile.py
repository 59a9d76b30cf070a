"""Application sets as JSON, read strictly.

A count of 0 (direct access) is ignored; a key that is not documented is an error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.errors import DataError, did_you_mean
from penstock.input_files import read_text
from penstock.schedule.application import Application, ApplicationSet, Curve, Phase

MAX_SET_BYTES = 256 << 20
SET_KEYS = ("resources", "compute_nodes", "applications")
APPLICATION_KEYS = ("name", "compute_nodes", "bandwidth", "phases", "resources")
PHASE_KEYS = ("compute_s", "io_bytes")


def load_set(path: Path) -> ApplicationSet:
    """Read an application set; every refusal names the file and what is wrong in it."""
    return parse_set(read_text(path, MAX_SET_BYTES), str(path))


def parse_set(text: str, source: str) -> ApplicationSet:
    """Validate JSON text; `source` names it in errors."""
    try:
        document = json.loads(text, object_pairs_hook=_unique)
    except (json.JSONDecodeError, RecursionError) as error:
        raise DataError(f"{source}: not JSON: {error}") from None
    except DataError as error:
        raise DataError(f"{source}: {error}") from None
    try:
        return _set(document)
    except DataError as error:
        raise DataError(f"{source}: {error}") from None


def dump_set(workload: ApplicationSet) -> str:
    """The set as JSON, one application a line; read again it is the same set."""
    lines = [json.dumps(_shown(one)) for one in workload.applications]
    return (
        f'{{"resources": {workload.resources}, "compute_nodes": {workload.compute_nodes}, "applications": [\n'
        + ",\n".join(lines)
        + "\n]}\n"
    )


def _shown(application: Application) -> dict[str, Any]:
    curve = application.curve
    found: dict[str, Any] = {
        "name": application.name,
        "compute_nodes": application.compute_nodes,
        "bandwidth": {str(count): rate for count, rate in zip(curve.counts, curve.bytes_per_s, strict=True)},
        "phases": [{"compute_s": one.compute_s, "io_bytes": one.io_bytes} for one in application.phases],
    }
    if application.resources is not None:
        found["resources"] = list(application.resources)
    return found


def parse_curve(value: object, where: str) -> Curve:
    """A curve from `{"1": bytes_per_s, ...}`; a count of 0 is ignored."""
    if not isinstance(value, Mapping):
        raise DataError(f"{where}: not an object of bandwidth per count")
    points = {}
    for key, bandwidth in value.items():
        if not (isinstance(key, str) and key.isascii() and key.isdigit() and len(key) < 19):
            raise DataError(f"{where}: {str(key)[:60]!r} is not a number of resources")
        if int(key) == 0:
            continue
        if int(key) in points:
            raise DataError(f"{where}: the count {int(key)} occurs twice")
        points[int(key)] = _number(bandwidth, f"{where}[{key}]")
    try:
        return Curve(tuple(sorted(points)), tuple(points[count] for count in sorted(points)))
    except DataError as error:
        raise DataError(str(error).replace("bandwidth", where, 1)) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _ in pairs]
        raise DataError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return document


def _set(document: object) -> ApplicationSet:
    if not isinstance(document, Mapping):
        raise DataError("not an object with resources, compute_nodes and applications")
    _known(document, SET_KEYS, "")
    resources = _whole(_required(document, "resources", ""), "resources")
    compute_nodes = _whole(_required(document, "compute_nodes", ""), "compute_nodes")
    applications = _required(document, "applications", "")
    if not isinstance(applications, list):
        raise DataError("applications: not a list")
    if resources < 1:
        raise DataError(f"resources: {resources} is not a positive number of I/O resources")
    read = tuple(_application(item, index, resources) for index, item in enumerate(applications))
    return ApplicationSet(resources, compute_nodes, read)


def _application(item: object, index: int, resources: int) -> Application:
    where = f"applications[{index}]"
    if not isinstance(item, Mapping):
        raise DataError(f"{where}: not an object")
    _known(item, APPLICATION_KEYS, where)
    name = _required(item, "name", where)
    if not isinstance(name, str) or not name:
        raise DataError(f"{where}.name: {name!r} is not a name")
    where = f"applications[{index}] ({name})"
    nodes = _whole(_required(item, "compute_nodes", where), f"{where}.compute_nodes")
    if nodes < 1:
        raise DataError(f"{where}.compute_nodes: {nodes} is not a positive number of nodes")
    curve = parse_curve(_required(item, "bandwidth", where), f"{where}.bandwidth")
    given = item.get("resources")
    ids = None if given is None else parse_ids(given, resources, f"{where}.resources")
    if ids is not None and len(ids) > min(curve.largest, resources):
        bound = min(curve.largest, resources)
        raise DataError(
            f"{where}.resources: {len(ids)} resources, but its curve and the platform allow {bound}"
        )
    return Application(name, nodes, curve, _phases(_required(item, "phases", where), where), ids)


def parse_ids(given: object, resources: int, where: str) -> tuple[int, ...]:
    """Distinct resource ids of a platform with `resources` of them."""
    if not isinstance(given, list) or not given:
        raise DataError(f"{where}: not a list of resource ids")
    ids = tuple(_whole(value, where) for value in given)
    for resource in ids:
        if not 0 <= resource < resources:
            raise DataError(f"{where}: {resource} is not a resource id (0 to {resources - 1})")
    if len(set(ids)) < len(ids):
        raise DataError(f"{where}: a resource is listed twice in {list(ids)}")
    return ids


def _phases(value: object, where: str) -> tuple[Phase, ...]:
    if not isinstance(value, list) or not value:
        raise DataError(f"{where}.phases: not a list of one or more phases")
    phases = []
    for index, item in enumerate(value):
        at = f"{where}.phases[{index}]"
        if not isinstance(item, Mapping):
            raise DataError(f"{at}: not an object")
        _known(item, PHASE_KEYS, at)
        compute_s = _number(_required(item, "compute_s", at), f"{at}.compute_s")
        io_bytes = _number(_required(item, "io_bytes", at), f"{at}.io_bytes")
        if compute_s < 0 or io_bytes < 0:
            raise DataError(f"{at}: compute_s {compute_s!r} and io_bytes {io_bytes!r} must not be negative")
        phases.append(Phase(compute_s, io_bytes))
    return tuple(phases)


def _known(document: Mapping[str, Any], keys: Sequence[str], where: str) -> None:
    for key in document:
        if key not in keys:
            place = f"{where}: " if where else ""
            raise DataError(f"{place}unknown key {key!r}{did_you_mean(key, keys)}")


def _required(document: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in document:
        raise DataError(f"{where + '.' if where else ''}{key}: missing")
    return document[key]


def _whole(value: object, where: str) -> int:
    number = _number(value, where)
    if number != int(number):
        raise DataError(f"{where}: {value!r} is not a whole number")
    return int(number)


def _number(value: object, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DataError(f"{where}: {value!r} is not a number")
    try:
        number = float(value)
    except OverflowError:
        raise DataError(f"{where}: the number is too large") from None
    if not math.isfinite(number):
        raise DataError(f"{where}: {value!r} is not a finite number")
    return number
