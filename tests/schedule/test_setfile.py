"""Bad application sets: one line that names what is wrong."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import DataError, MissingError
from penstock.schedule.setfile import dump_set, load_set, parse_set

GOOD: dict[str, Any] = {
    "resources": 4,
    "compute_nodes": 8,
    "applications": [
        {
            "name": "a",
            "compute_nodes": 8,
            "bandwidth": {"0": 5.0, "1": 1.0, "4": 3.0},
            "phases": [{"compute_s": 1, "io_bytes": 2}],
            "resources": [0, 3],
        }
    ],
}


def change(path: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def apply(document: dict[str, Any]) -> None:
        *parents, last = path.split(".")
        place: Any = document
        for step in parents:
            place = place[int(step) if step.isdigit() and isinstance(place, list) else step]
        if value is KeyError:
            del place[last]
        else:
            place[last] = value

    return apply


BAD = [
    ("resources", 0, "resources: 0"),
    ("resources", -3, "resources: -3"),
    ("resources", 2.5, "resources: 2.5"),
    ("resources", True, "resources: True"),
    ("resources", KeyError, "resources: missing"),
    ("compute_nodes", 7, "compute_nodes: the applications use 8, the platform has 7"),
    ("applications", [], "applications: there is none"),
    ("applications", {}, "applications: not a list"),
    ("applications.0.name", "", "applications[0].name"),
    ("applications.0.compute_nodes", 0, "compute_nodes: 0"),
    ("applications.0.bandwidth", KeyError, "(a).bandwidth: missing"),
    ("applications.0.bandwidth", {}, "(a).bandwidth: no measurement"),
    ("applications.0.bandwidth", {"0": 4.0}, "(a).bandwidth: no measurement"),
    ("applications.0.bandwidth", {"1": -4.0}, "(a).bandwidth[1]: -4.0"),
    ("applications.0.bandwidth", {"1": 0}, "(a).bandwidth[1]: 0"),
    ("applications.0.bandwidth", {"1": float("nan")}, "(a).bandwidth[1]: nan"),
    ("applications.0.bandwidth", {"1": "fast"}, "(a).bandwidth[1]: 'fast'"),
    ("applications.0.bandwidth", {"one": 1.0}, "'one' is not a number of resources"),
    ("applications.0.bandwidth", {"1": 1.0, "01": 1.0}, "the count 1 occurs twice"),
    ("applications.0.phases", [], "(a).phases: not a list of one or more"),
    ("applications.0.phases", [{"compute_s": 1}], "phases[0].io_bytes: missing"),
    ("applications.0.phases", [{"compute_s": -1, "io_bytes": 0}], "must not be negative"),
    ("applications.0.phases", [{"compute_s": 1, "io_bytes": float("inf")}], "io_bytes: inf"),
    ("applications.0.resources", [4], "4 is not a resource id (0 to 3)"),
    ("applications.0.resources", [1, 1], "listed twice"),
    ("applications.0.resources", [], "not a list of resource ids"),
    ("resuorces", 4, "unknown key 'resuorces'; did you mean \"resources\"?"),
    ("applications.0.bandwith", {"1": 1.0}, "unknown key 'bandwith'; did you mean \"bandwidth\"?"),
    ("applications.0.nmae", "a", "applications[0]: unknown key 'nmae'; did you mean \"name\"?"),
    ("applications.0.phases.0.io_byte", 1, "phases[0]: unknown key 'io_byte'; did you mean \"io_bytes\"?"),
]


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_bad_set_is_refused_in_one_line(path: str, value: Any, message: str) -> None:
    document = copy.deepcopy(GOOD)
    change(path, value)(document)
    with pytest.raises(DataError) as caught:
        parse_set(json.dumps(document), "set.json")
    assert str(caught.value).startswith("set.json: ") and message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"resources": 1, "resources": 2}', "[" * 100_000])
def test_text_that_is_no_set_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="set"):
        parse_set(text, "set.json")


def test_same_name_twice_is_refused() -> None:
    document = copy.deepcopy(GOOD)
    document["compute_nodes"] = 16
    document["applications"] *= 2
    with pytest.raises(DataError, match="'a' occurs twice"):
        parse_set(json.dumps(document), "set.json")


def test_missing_file_and_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file"):
        load_set(tmp_path / "absent.json")
    with pytest.raises(DataError, match="a directory"):
        load_set(tmp_path)
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="not UTF-8"):
        load_set(tmp_path / "binary.json")


def test_direct_access_is_ignored() -> None:
    workload = parse_set(json.dumps(GOOD), "set.json")
    assert workload.applications[0].curve.counts == (1, 4)


def test_written_set_is_read_as_the_same() -> None:
    known = parse_set(json.dumps(GOOD), "good")
    assert parse_set(dump_set(known), "dumped") == known
