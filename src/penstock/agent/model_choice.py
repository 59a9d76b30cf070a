"""Chooses the agent's model: the configured one, or the last one that worked, or none (then it only observes)."""

from __future__ import annotations

import logging
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.agent.startup import Places
from penstock.errors import AccessError, MissingError, ModelFileError, PenstockError
from penstock.output_files import replace_file
from penstock.ports import Predictor
from penstock.trusted import read_own

if TYPE_CHECKING:
    from penstock.predict.model import ForestPredictor
    from penstock.predict.surfaces import SurveyPredictor

log = logging.getLogger(__name__)

LAST_GOOD = {
    "forest": "model.last-good.json",
    "survey": "survey.last-good.json",
    "printed": "printed.last-good.json",
    "printed-history": "printed-history.last-good.json",
    "printed-soft": "printed-soft.last-good.json",
    "printed-application": "printed-application.last-good.json",
}


def load_predictor(kind: str, wanted: str | None, places: Places) -> Predictor:
    """Load a model file, or the shipped model of this kind. A model that loads is kept as the last good one.

    Raises `ModelFileError` if neither the wanted model nor a last good one can be used.
    """
    from penstock.predict import kinds

    kept = places.state_dir / LAST_GOOD[kind]
    try:
        predictor = load_own(kind, Path(wanted)) if wanted else kinds.default_predictor(kind)
    except PenstockError as error:
        log.error("%s", error)
        if not kept.exists():
            raise ModelFileError(f"no usable model: {error}") from None
        log.warning("using the last good model, %s", kept)
        predictor = kinds.load_predictor(kind, kept)
    else:
        _keep(kept, kinds.dump_predictor(predictor))
    return predictor


def load_own(kind: str, path: Path) -> ForestPredictor | SurveyPredictor:
    """Load a user's model. It is data, but it determines what root sets, so its owner must be trusted."""
    from penstock.predict.kinds import parse_predictor
    from penstock.predict.modelfile import MAX_BYTES

    try:
        status, raw = read_own(path, MAX_BYTES + 1)
    except FileNotFoundError:
        raise MissingError(f"{path}: no such model file") from None
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path}: not a regular file")
    if len(raw) > MAX_BYTES:
        raise ModelFileError(f"{path}: a model file has at most {MAX_BYTES} bytes")
    return parse_predictor(kind, raw, str(path))


def _keep(path: Path, raw: bytes) -> None:
    try:
        replace_file(path, raw, 0o640)
    except OSError as error:
        log.warning("%s: %s; no last good model is kept", path, error.strerror)
