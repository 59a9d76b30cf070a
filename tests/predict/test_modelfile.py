from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import MissingError, ModelFileError
from penstock.predict import checks, modelfile
from penstock.predict.model import ForestPredictor
from penstock.testing.made_models import check_predictor, random_model

SOUND = modelfile.dump(random_model())


def resealed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """A model file with a change that its checksum does not give away."""
    document = json.loads(SOUND)
    change(document)
    document["sha256"] = modelfile.digest(document)
    return json.dumps(document).encode()


def trees(document: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = document["models"]["read"]["trees"]
    return found


def test_round_trip_keeps_every_number() -> None:
    first = modelfile.parse(SOUND, "first")
    second = modelfile.parse(modelfile.dump(first), "second")
    assert first.digest == second.digest
    assert modelfile.dump(second) == SOUND
    for direction, part in first.directions.items():
        other = second.directions[direction].forest
        for name in ("roots", "feature", "threshold", "left", "right", "missing_left", "value", "cover"):
            assert np.array_equal(getattr(part.forest, name), getattr(other, name))


def test_predictor_obeys_the_law() -> None:
    check_predictor(ForestPredictor(random_model(history=1)))
    check_predictor(ForestPredictor(random_model(seed=4, history=0)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: trees(d)["left"].__setitem__(0, 0), "exactly one parent"),
        (lambda d: trees(d)["left"].__setitem__(0, 10**6), "out of range"),
        (lambda d: trees(d)["left"].__setitem__(0, -(10**6)), "out of range"),
        (lambda d: trees(d)["left"].__setitem__(0, 2**40), "beyond 32 bits"),
        (lambda d: trees(d)["feature"].__setitem__(0, 999), "feature is out of range"),
        (lambda d: trees(d)["feature"].__setitem__(0, -1), "feature is out of range"),
        (lambda d: trees(d)["feature"].__setitem__(0, True), "whole numbers"),
        (lambda d: trees(d)["threshold"].__setitem__(0, 1e300), "beyond"),
        (lambda d: trees(d)["threshold"].__setitem__(0, "1"), "not a list of numbers"),
        (lambda d: trees(d)["threshold"].__setitem__(0, None), "not a list of numbers"),
        (lambda d: trees(d)["threshold"].pop(), "threshold does not have"),
        (lambda d: trees(d)["value"].pop(), "entries"),
        (lambda d: trees(d).__setitem__("roots", []), "0 trees"),
        (lambda d: trees(d)["missing_left"].__setitem__(0, 2), "missing_left"),
        (lambda d: trees(d)["cover"].__setitem__(0, 0), "cover is not positive"),
        (lambda d: d["models"]["read"]["features"].reverse(), "features are not those"),
        (lambda d: d["models"]["read"].__setitem__("history", 99), "history"),
        (lambda d: d["models"]["read"].__setitem__("history", True), "history"),
        (lambda d: d["models"]["read"]["low"].pop(), "low and .high"),
        (lambda d: d["models"]["read"]["low"].__setitem__(0, 1e9), "above its upper"),
        (lambda d: d["models"]["read"]["calibration"].__setitem__("slope", -1), "slope"),
        (lambda d: d["models"]["read"]["calibration"].pop("slope"), "calibration"),
        (lambda d: d["models"]["read"]["metrics"].__setitem__("error", "low"), "metrics.error"),
        (lambda d: d["models"].clear(), "models must be of"),
        (lambda d: d["models"].__setitem__("append", d["models"].pop("read")), "models must be of"),
        (lambda d: d.__setitem__("schema", 2), "schema 2"),
        (lambda d: d.__setitem__("format", "other"), "format"),
        (lambda d: d["space"]["knobs"].pop("flight"), "lacks pages or flight"),
        (lambda d: d.pop("provenance"), "provenance"),
    ],
)
def test_hostile_content_is_named(change: Callable[[dict[str, Any]], object], message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        modelfile.parse(resealed(change), "evil.json")
    assert str(caught.value).startswith("evil.json: ")
    assert "\n" not in str(caught.value)


def test_cycle_is_refused() -> None:
    def swap(document: dict[str, Any]) -> None:
        found = trees(document)
        # Two nodes below the first that become each other's children: everyone keeps exactly one parent.
        first = next(i for i, child in enumerate(found["left"]) if i > 0 and child > 0)
        second = found["left"][first]
        parent_side, at = next(
            (side, i) for side in ("left", "right") for i, c in enumerate(found[side]) if c == first
        )
        leaf = found["left"][second]
        found[parent_side][at] = leaf if leaf < 0 else found["right"][second]
        found["left" if leaf < 0 else "right"][second] = first

    with pytest.raises(ModelFileError, match=r"leads back|exactly one parent"):
        modelfile.parse(resealed(swap), "evil.json")


def test_deep_chain_is_refused() -> None:
    def chain(document: dict[str, Any]) -> None:
        depth = checks.MAX_DEPTH + 5
        document["models"]["read"]["trees"] = {
            "roots": [0],
            "feature": [0] * depth,
            "threshold": [1.0] * depth,
            "left": [~i for i in range(depth)],
            "right": [*range(1, depth), ~depth],
            "missing_left": [0] * depth,
            "value": [0.0] * (depth + 1),
            "cover": [1] * (depth + 1),
        }

    with pytest.raises(ModelFileError, match="deeper than"):
        modelfile.parse(resealed(chain), "evil.json")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "not a JSON document"),
        (pickle.dumps({"format": "penstock-model"}), "never a pickle"),
        (b"PK\x03\x04", "not a JSON document"),
        (SOUND[: len(SOUND) // 2], "truncated or not valid"),
        (SOUND.replace(b'"schema":1', b'"schema":1,"schema":1'), "appears twice"),
        (b'{"a":' * 100_000, "nested too deeply|truncated"),
        (b'{"format": NaN}', "NaN is not a number"),
        (b'{"format": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b'{"\xff": 1}', "not UTF-8"),
        (b"[]", "not a JSON document"),
        (b"{}", "format"),
        (SOUND.replace(b'"made up"', b'"made UP"'), "sha256 does not fit"),
    ],
)
def test_damaged_files_get_one_line(raw: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message) as caught:
        modelfile.parse(raw, "bad.json")
    assert "\n" not in str(caught.value)


def test_load_refuses_what_is_no_plain_file(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such model file"):
        modelfile.load(tmp_path / "none.json")
    with pytest.raises(ModelFileError, match="not a regular file"):
        modelfile.load(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ModelFileError, match="not a regular file"):
        modelfile.load(tmp_path / "fifo")
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(10 * 2**30)
    with pytest.raises(ModelFileError, match="has at most"):
        modelfile.load(huge)


@settings(max_examples=150, deadline=None)
@given(at=st.integers(0, len(SOUND) - 1), junk=st.binary(min_size=1, max_size=8))
def test_any_altered_byte_is_noticed_or_harmless(at: int, junk: bytes) -> None:
    altered = SOUND[:at] + junk + SOUND[at + len(junk) :]
    try:
        found = modelfile.parse(altered, "fuzzed.json")
    except ModelFileError:
        return
    assert modelfile.dump(found) == SOUND


@settings(max_examples=100, deadline=None)
@given(
    column=st.sampled_from(
        ["roots", "feature", "left", "right", "missing_left", "cover", "threshold", "value"]
    ),
    at=st.integers(0, 20),
    value=st.one_of(st.integers(-(2**33), 2**33), st.floats(), st.none(), st.text(max_size=3)),
)
def test_any_resealed_column_is_sound_or_refused(column: str, at: int, value: object) -> None:
    def change(document: dict[str, Any]) -> None:
        cells = trees(document)[column]
        cells[at % len(cells)] = value

    try:
        model = modelfile.parse(resealed(change), "fuzzed.json")
    except (ModelFileError, ValueError) as error:
        # json.dumps in `resealed` itself refuses NaN when it seals.
        assert isinstance(error, ModelFileError) or "not JSON compliant" in str(error)
        return
    check_predictor(ForestPredictor(model))
