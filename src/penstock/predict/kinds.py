"""The kinds of models a policy may ask for, and how each is read from a file or found in the package."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import UsageError, did_you_mean
from penstock.predict import modelfile, shipped, surveyfile
from penstock.predict.model import ForestPredictor
from penstock.predict.surfaces import SurveyPredictor

FOREST, SURVEY = "forest", "survey"
#: CARAT's printed model, and three that differ from it in one thing; only the first ships.
PRINTED, PRINTED_HISTORY, PRINTED_SOFT = "printed", "printed-history", "printed-soft"
PRINTED_APPLICATION = "printed-application"
KINDS = (FOREST, SURVEY, PRINTED, PRINTED_HISTORY, PRINTED_SOFT, PRINTED_APPLICATION)
#: How a model of a kind that does not ship is fitted.
_FITTED_BY = {
    PRINTED_HISTORY: "--recipe printed-history",
    PRINTED_SOFT: "--recipe printed-soft",
    PRINTED_APPLICATION: "--recipe printed --label application",
}


def default_predictor(kind: str) -> ForestPredictor | SurveyPredictor:
    """The shipped one."""
    if _known(kind) == SURVEY:
        return SurveyPredictor(shipped.default_survey())
    if kind in _FITTED_BY:
        raise UsageError(
            f"no {kind} model ships: give --model FILE (penstock train fit {_FITTED_BY[kind]}) or own"
        )
    return ForestPredictor(shipped.printed_model() if kind == PRINTED else shipped.default_model())


def load_predictor(kind: str, path: Path) -> ForestPredictor | SurveyPredictor:
    """The one in a file. A survey of another file system's knobs leaves the shipped one in use."""
    return parse_predictor(kind, modelfile.read(path), str(path))


def parse_predictor(kind: str, raw: bytes, source: str) -> ForestPredictor | SurveyPredictor:
    """The one in these bytes of a file; `source` names it in errors."""
    if _known(kind) == SURVEY:
        return SurveyPredictor(surveyfile.parse(raw, source), [shipped.default_survey()])
    return ForestPredictor(modelfile.parse(raw, source))


def dump_predictor(predictor: ForestPredictor | SurveyPredictor) -> bytes:
    """The file that gives this predictor again."""
    if isinstance(predictor, SurveyPredictor):
        return surveyfile.dump(predictor.survey)
    return modelfile.dump(predictor.model)


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise UsageError(f"unknown kind of model {kind!r}{did_you_mean(kind, KINDS)}")
    return kind
