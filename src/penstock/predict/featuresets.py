"""The feature vectors a model file may have been trained on: ours, the one CARAT prints, and one for any knobs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from penstock.errors import DataError, ModelFileError, UsageError
from penstock.knobs import Candidates
from penstock.predict import features, knobfeatures, printed
from penstock.predict.features import Floats
from penstock.window import DIRECTIONS, Window

# No file system has more knobs that policies turn.
MOST_KNOBS = 16


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """How windows and rows of data become the vector of one model. `now` names what the current interval shows.

    `depth` says how many intervals before the current one a history needs; `past` takes a stack that deep.
    `candidate` takes the values of `knob_ids`, a column each.
    """

    name: str
    knob_ids: tuple[str, ...]
    past_names: Callable[[str, int], Sequence[str]]
    now: Callable[[str], Sequence[str]]
    candidate_names: tuple[str, ...]
    depth: Callable[[int], int]
    past: Callable[[Floats, str], Floats]
    past_of_windows: Callable[[Sequence[Sequence[Window]], str, int], Floats]
    candidate: Callable[[Floats], Floats]

    def names(self, direction: str, history: int) -> tuple[str, ...]:
        """All features of a sample in order: the past's, then the candidate's."""
        if direction not in DIRECTIONS:
            raise UsageError(f"direction {direction!r} is neither read nor write")
        if not 0 <= history <= features.MAX_HISTORY:
            raise UsageError(f"history {history} is outside 0..{features.MAX_HISTORY}")
        return (*self.past_names(direction, history), *self.candidate_names)

    def candidate_matrix(self, candidates: Candidates) -> Floats:
        """What differs between candidates, a row each."""
        at = {knob_id: candidates.values[:, column] for column, knob_id in enumerate(candidates.ids)}
        # A knob that is no choice here is the same for all.
        still = np.ones(len(candidates))
        return self.candidate(np.stack([at.get(knob_id, still) for knob_id in self.knob_ids], axis=-1))


def _full_past_names(direction: str, history: int) -> Sequence[str]:
    return features.names(direction, history)[: -len(features.CANDIDATE_FEATURES)]


def _full_past_of_windows(histories: Sequence[Sequence[Window]], direction: str, history: int) -> Floats:
    return features.past_features(features.stack_windows(histories, direction, history), direction)


FULL = FeatureSet(
    "full",
    ("pages", "flight"),
    _full_past_names,
    features.row_names,
    features.CANDIDATE_FEATURES,
    lambda history: history,
    features.past_features,
    _full_past_of_windows,
    lambda values: features.candidate_features(values[..., 0], values[..., 1]),
)
PRINTED = FeatureSet(
    "printed",
    ("pages", "flight"),
    printed.past_names,
    printed.metric_names,
    printed.CANDIDATE_FEATURES,
    printed.depth,
    printed.past_features,
    printed.past_of_windows,
    lambda values: printed.candidate_features(values[..., 0], values[..., 1]),
)
FEATURE_SETS: Mapping[str, FeatureSet] = {each.name: each for each in (FULL, PRINTED)}


def _no_stack(stack: Floats, direction: str) -> Floats:
    raise DataError("a model of a campaign on a mount: tables of traces do not hold what it looks at")


@cache
def of_knobs(*knob_ids: str) -> FeatureSet:
    """The features of whatever a mount counts, with these knobs as candidates."""
    return FeatureSet(
        "knobs",
        knob_ids,
        lambda _, history: knobfeatures.past_names(knob_ids, history),
        lambda _: knobfeatures.row_names(knob_ids),
        tuple(f"candidate.{knob_id}" for knob_id in knob_ids),
        lambda history: history,
        _no_stack,
        lambda histories, direction, history: knobfeatures.past_of_windows(
            histories, direction, history, knob_ids
        ),
        knobfeatures.knob_logs,
    )


def named_like(names: object, direction: str, history: int) -> FeatureSet:
    """The set whose features a model file lists; a file that lists others was made by another version."""
    known = [*FEATURE_SETS.values()]
    if isinstance(names, list):
        words = [name.partition(".") for name in names if isinstance(name, str)]
        knob_ids = tuple(knob_id for kind, _, knob_id in words if kind == "candidate")
        known += [of_knobs(*knob_ids)] if 0 < len(knob_ids) <= MOST_KNOBS else []
    for each in known:
        if names == list(each.names(direction, history)):
            return each
    raise ModelFileError(f"{direction}.features are not those this version computes")
