"""Chooses the agent's model: the configured one, or the last one that worked, or none (then it only observes)."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.agent.startup import Places
from penstock.config import require_own
from penstock.errors import ModelFileError, PenstockError
from penstock.ports import Predictor

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
}


def load_predictor(kind: str, wanted: str | None, places: Places) -> Predictor:
    """Load a model file, or the shipped model of this kind. A model that loads is kept as the last good one.

    Raises `ModelFileError` if neither the wanted model nor a last good one can be used.
    """
    from penstock.predict import kinds

    kept = places.state_dir / LAST_GOOD[kind]
    try:
        predictor = _load_own(kind, Path(wanted)) if wanted else kinds.default_predictor(kind)
    except PenstockError as error:
        log.error("%s", error)
        if not kept.exists():
            raise ModelFileError(f"no usable model: {error}") from None
        log.warning("using the last good model, %s", kept)
        predictor = kinds.load_predictor(kind, kept)
    else:
        _keep(kept, kinds.dump_predictor(predictor))
    return predictor


def _load_own(kind: str, path: Path) -> ForestPredictor | SurveyPredictor:
    """Load a user's model. It is data, but it determines what root sets, so its owner must be trusted."""
    from penstock.predict.kinds import load_predictor as load

    require_own(path)
    return load(kind, path)


def _keep(path: Path, raw: bytes) -> None:
    fresh = path.with_name(path.name + ".new")
    try:
        fresh.write_bytes(raw)
        fresh.chmod(0o640)
        fresh.replace(path)
    except OSError as error:
        log.warning("%s: %s; no last good model is kept", path, error.strerror)
