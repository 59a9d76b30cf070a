from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.errors import MissingError, ModelFileError
from penstock.predict import modelfile, surveyfile
from penstock.predict.features import row_features, stack_windows
from penstock.predict.shipped import default_survey
from penstock.predict.surfaces import AT_ONCE, LIKENESS, RATE, Case, Survey, SurveyPredictor, columns
from penstock.spaces import LUSTRE
from penstock.testing.models import busy_window, check_predictor
from penstock.window import Window

GRID = LUSTRE.grid("pages", "flight")


def case(name: str, direction: str, best: int, request_log2: float) -> Case:
    """A surface that falls slowly with the distance from its best place."""
    places = np.arange(len(GRID))
    names = list(LIKENESS[direction])
    features = np.zeros((len(GRID), len(names)))
    rates = 28.0 - np.abs(places - best) / 160
    features[:, names.index("app_request_bytes")] = request_log2
    features[:, names.index(RATE)] = rates
    return Case("made-up", name, direction, features)


def survey() -> Survey:
    cases = [case(f"{d}{best}", d, best, 13.0 + best / 10) for d in ("read", "write") for best in (10, 90)]
    made = Survey(LUSTRE["pages"].values, LUSTRE["flight"].values, tuple(cases), {"source": "test"}, "")
    return surveyfile.parse(surveyfile.dump(made), "made")


def test_survey_round_trip_keeps_every_number() -> None:
    first = survey()
    second = surveyfile.parse(surveyfile.dump(first), "again")
    assert first.digest == second.digest
    for one, other in zip(first.cases, second.cases, strict=True):
        assert (one.cluster, one.workload, one.direction) == (other.cluster, other.workload, other.direction)
        assert np.array_equal(one.features, other.features)


def test_survey_predictor_obeys_the_law() -> None:
    check_predictor(SurveyPredictor(survey()))
    check_predictor(SurveyPredictor(default_survey()))


def test_survey_says_of_many_targets_what_it_says_of_each_alone() -> None:
    rng = np.random.default_rng(3)

    def window(t_s: float) -> Window:
        setting = LUSTRE.settle(LUSTRE.default, GRID[int(rng.integers(99))])
        made = busy_window(t_s, setting)
        return replace(made, metrics={k: v and v * rng.uniform(0.2, 2.0) for k, v in made.metrics.items()})

    histories = [[window(0.5 * i) for i in range(int(rng.integers(1, 6)))] for _ in range(2 * AT_ONCE + 3)]
    predictor = SurveyPredictor(default_survey())
    for direction in ("read", "write"):
        together = predictor.outlooks(direction, histories, GRID)
        for history, outlook in zip(histories, together, strict=True):
            alone = SurveyPredictor(default_survey()).outlooks(direction, [history], GRID)[0]
            assert outlook.in_range == alone.in_range
            assert list(outlook.gains) == pytest.approx(list(alone.gains), abs=1e-9)
            assert list(outlook.spreads) == pytest.approx(list(alone.spreads), abs=1e-9)


def test_survey_answers_about_many_do_not_depend_on_questions_between() -> None:
    windows = [busy_window(0.5 * i, LUSTRE.default) for i in range(8)]
    asked_between, fresh = SurveyPredictor(survey()), SurveyPredictor(survey())
    for last in range(1, 8):
        histories = [windows[max(0, last - 5) : last], windows[max(0, last - 4) : last + 1]]
        answers = asked_between.outlooks("read", histories, GRID)
        asked_between.outlooks("read", [windows[:last]], GRID)
        for one, other in zip(answers, fresh.outlooks("read", histories, GRID), strict=True):
            assert list(one.gains) == list(other.gains)


def test_survey_votes_with_the_case_that_looks_alike() -> None:
    window = busy_window(0.0, LUSTRE.default)
    predictor = SurveyPredictor(survey())
    for best, calls_log2 in ((10, 14.0), (90, 22.0)):
        metrics = {**window.metrics, "app.read_calls": 1.1e8 / 2**calls_log2}
        outlook = predictor.outlooks("read", [[replace(window, metrics=metrics)]], GRID)[0]
        assert int(np.argmax(outlook.gains)) == best
        assert outlook.gains[best] > 0
        here = GRID.index(LUSTRE.default.only("pages", "flight"))
        assert outlook.gains[here] == pytest.approx(0.0, abs=1e-9)


def test_survey_disagreement_is_uncertainty() -> None:
    window = busy_window(0.0, LUSTRE.default)
    blank = Window(window.target, 0.0, 0.5, window.setting, {})
    unsure = SurveyPredictor(survey()).outlooks("read", [[blank]], GRID)[0]
    here = GRID.index(LUSTRE.default.only("pages", "flight"))
    assert unsure.spreads[10] > 3 * unsure.spreads[here]


def test_survey_trusts_the_nearest_case_less_where_none_is_near() -> None:
    window = busy_window(0.0, LUSTRE.default)
    row = row_features(stack_windows([[window]], "read", 0), "read")[0, 0, columns("read")]
    names, cases = list(LIKENESS["read"]), []
    for best, off in ((10, 0.0), (90, 1.4)):
        features = np.tile(row, (len(GRID), 1))
        features[:, names.index("app_request_bytes")] += off
        features[:, names.index(RATE)] = 28.0 - np.abs(np.arange(len(GRID)) - best) / 40
        cases.append(Case("made-up", f"case{best}", "read", features))
    predictor = SurveyPredictor(replace(survey(), cases=tuple(cases)))
    strange = replace(window, metrics={**window.metrics, "read.channel_utilisation": 0.05})
    alike, unlike = (predictor.outlooks("read", [[w] * 5], GRID)[0] for w in (window, strange))
    assert alike.gains[10] > alike.gains[90]
    assert unlike.spreads[10] > 3 * alike.spreads[10]


def test_shipped_survey_never_saw_five_streams() -> None:
    found = default_survey()
    assert len(found.of("read")) >= 20 and len(found.of("write")) >= 20
    assert not [each.workload for each in found.cases if each.workload.startswith(("5x", "f_"))]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.__setitem__("format", "other"), "format"),
        (lambda d: d.__setitem__("schema", 1), "schema"),
        (lambda d: d["pages"].reverse(), "rising"),
        (lambda d: d["cases"][0]["values"].pop(), "entries"),
        (lambda d: d["cases"][0].__setitem__("direction", "sideways"), "sideways"),
        (lambda d: d.__setitem__("cases", d["cases"][:2]), "no case of direction 'write'"),
        (lambda d: d["features"]["read"].pop(), "features"),
    ],
)
def test_survey_file_with_a_fault_is_refused(
    change: Callable[[dict[str, Any]], object], message: str
) -> None:
    document = json.loads(surveyfile.dump(survey()))
    change(document)
    document["sha256"] = modelfile.digest(document)
    with pytest.raises(ModelFileError, match=message):
        surveyfile.parse(json.dumps(document).encode(), "bad.json")


def test_survey_file_edited_or_absent_is_refused(tmp_path: Path) -> None:
    edited = surveyfile.dump(survey()).replace(b"made-up", b"made-it", 1)
    with pytest.raises(ModelFileError, match="sha256"):
        surveyfile.parse(edited, "edited.json")
    with pytest.raises(MissingError):
        surveyfile.load(tmp_path / "nowhere.json")
