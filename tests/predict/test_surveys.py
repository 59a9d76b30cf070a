"""Survey files and the predictor over them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock.errors import ModelFileError
from penstock.knobs import Candidates, Knob, KnobSpace, Setting
from penstock.predict import modelfile, surveyfile
from penstock.predict.shipped import default_survey
from penstock.predict.surfaces import KINDS, Case, Survey, SurveyPredictor
from penstock.spaces import LUSTRE, fuse, lustre

GRID = LUSTRE.candidates()


def survey() -> Survey:
    knobs = {"pages": LUSTRE["pages"].values, "flight": LUSTRE["flight"].values}
    rising = np.arange(99) / 100
    cases = tuple(
        Case(f"made-up {kind}", kind, np.stack([rising + i for i in range(len(ways))]))
        for kind, ways in KINDS.items()
    )
    return Survey("lustre", knobs, cases, {"source": "test"}, "")


def test_survey_survives_its_file() -> None:
    raw = surveyfile.dump(survey())
    again = surveyfile.parse(raw, "made")
    assert surveyfile.dump(again) == raw
    assert again.of("both")[0].gains.shape == (2, 99)
    np.testing.assert_allclose(again.of("read")[0].gains, survey().of("read")[0].gains, atol=0.006)


def test_predictor_hands_over_the_cases_at_the_candidates_places() -> None:
    predictor = SurveyPredictor(surveyfile.parse(surveyfile.dump(survey()), "made"))
    for space in (LUSTRE, lustre(pages_floor=16)):
        candidates = space.candidates()
        first, second = predictor.outlooks("read", [(), ()], candidates)
        assert first.cases is not None
        assert first.cases is second.cases
        wanted = [GRID.places[setting] / 100 for setting in candidates]
        np.testing.assert_allclose(first.cases.surfaces["read"][0, 0], wanted, atol=0.006)
        assert first.cases.surfaces["both"].shape == (1, 2, len(candidates))


def test_predictor_has_nothing_to_say_of_other_knobs() -> None:
    other = KnobSpace("other", (Knob("window", (1, 2, 4), 2, "requests", 1, 4),))
    candidates = Candidates(other, [Setting(window=value) for value in (1, 2, 4)])
    (outlook,) = SurveyPredictor(survey()).outlooks("read", [()], candidates)
    assert outlook.cases is None


def test_a_survey_leaves_those_of_other_knobs_in_use() -> None:
    space = fuse()
    grid = space.candidates()
    own = Case("made-up", "read", np.arange(len(grid), dtype=np.float64)[None] / 100)
    mount = Survey("fuse", {k: space[k].values for k in space.searched}, (own,), {}, "")
    predictor = SurveyPredictor(mount, [survey()])
    assert sorted(predictor.spaces) == ["fuse", "lustre"]
    for candidates, step in ((grid, 0.01), (GRID, 0.01)):
        (outlook,) = predictor.outlooks("read", [()], candidates)
        assert outlook.cases is not None
        surface = outlook.cases.surfaces["read"][0, 0]
        np.testing.assert_allclose(np.diff(surface), step, atol=1e-9)


def test_kinds_of_work_nobody_surveyed_may_be_anything() -> None:
    whole = survey()
    some = Survey(whole.space, whole.knobs, whole.of("read"), whole.provenance, "")
    (outlook,) = SurveyPredictor(some).outlooks("write", [()], GRID)
    assert outlook.cases is not None
    assert len(outlook.cases.surfaces["read"]) == 1
    assert len(outlook.cases.surfaces["write"]) > 100


def test_shipped_survey_knows_every_kind_of_work() -> None:
    shipped = default_survey()
    assert tuple(shipped.knobs) == LUSTRE.searched
    for kind in KINDS:
        assert len(shipped.of(kind)) >= 50
    home = GRID.places[LUSTRE.default.only(*LUSTRE.searched)]
    assert all(np.allclose(case.gains[:, home], 0.0) for case in shipped.cases)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda d: d.update(schema=2), "schema"),
        (lambda d: d.update(format="other"), "format"),
        (lambda d: d.update(sha256="0" * 64), "sha256"),
        (lambda d: d.pop("cases"), "sha256|cases"),
    ],
)
def test_damaged_survey_is_refused_by_name(change: Callable[[dict[str, Any]], None], word: str) -> None:
    document = json.loads(surveyfile.dump(survey()))
    change(document)
    with pytest.raises(ModelFileError, match=word):
        surveyfile.parse(json.dumps(document).encode(), "made.json")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda d: d["cases"][0].update(kind="copy"), "kind"),
        (lambda d: d["cases"][0]["gains"].pop(), "entries"),
        (lambda d: d["cases"][0]["gains"].__setitem__(0, 99.0), "leaves"),
        (lambda d: d["knobs"].update(pages=[4, 2]), "rising"),
        (lambda d: d.update(cases=[]), "allowed"),
    ],
)
def test_survey_with_a_valid_sum_but_odd_content_is_refused(
    change: Callable[[dict[str, Any]], None], word: str
) -> None:
    document = json.loads(surveyfile.dump(survey()))
    change(document)
    document["sha256"] = modelfile.digest(document)
    with pytest.raises(ModelFileError, match=word):
        surveyfile.parse(json.dumps(document).encode(), "made.json")


def test_a_case_keeps_its_look_and_its_weight_and_bad_ones_are_refused() -> None:
    whole = survey()
    first = replace(whole.cases[0], look=(1.5, 20.0, -4.0), weight=5.0)
    raw = surveyfile.dump(replace(whole, cases=(first, *whole.cases[1:])))
    again = surveyfile.parse(raw, "made")
    assert (again.cases[0].look, again.cases[0].weight) == ((1.5, 20.0, -4.0), 5.0)
    assert (again.cases[1].look, again.cases[1].weight) == ((), 1.0)
    (outlook,) = SurveyPredictor(again).outlooks("read", [()], GRID)
    assert outlook.cases is not None
    np.testing.assert_allclose(outlook.cases.looks["read"][0], (1.5, 20.0, -4.0))
    assert outlook.cases.weights["read"][0] == 5.0
    for key, value in (("look", [1.0]), ("look", "wide"), ("weight", 0.0), ("weight", 1e9), ("weight", None)):
        document = json.loads(raw)
        document["cases"][0][key] = value
        document["sha256"] = modelfile.digest(document)
        with pytest.raises(ModelFileError, match=key):
            surveyfile.parse(json.dumps(document).encode(), "made")
