"""The feature vectors a model file may have been trained on, by name: ours, and the one CARAT prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import ModelFileError, UsageError
from penstock.knobs import Candidates, Role
from penstock.predict import features, printed
from penstock.predict.features import Floats
from penstock.window import DIRECTIONS, Window


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """How windows and rows of data become the vector of one model. `now` names what the current interval shows.

    `depth` says how many intervals before the current one a history needs; `past` takes a stack that deep.
    """

    name: str
    past_names: Callable[[str, int], Sequence[str]]
    now: Callable[[str], Sequence[str]]
    candidate_names: tuple[str, ...]
    depth: Callable[[int], int]
    past: Callable[[Floats, str], Floats]
    past_of_windows: Callable[[Sequence[Sequence[Window]], str, int], Floats]
    candidate: Callable[[Floats, Floats], Floats]

    def names(self, direction: str, history: int) -> tuple[str, ...]:
        """All features of a sample in order: the past's, then the candidate's."""
        if direction not in DIRECTIONS:
            raise UsageError(f"direction {direction!r} is neither read nor write")
        if not 0 <= history <= features.MAX_HISTORY:
            raise UsageError(f"history {history} is outside 0..{features.MAX_HISTORY}")
        return (*self.past_names(direction, history), *self.candidate_names)

    def candidate_matrix(self, candidates: Candidates) -> Floats:
        """What differs between candidates, a row each."""
        return self.candidate(candidates.column(Role.REQUEST_SIZE), candidates.column(Role.IN_FLIGHT))


def _full_past_names(direction: str, history: int) -> Sequence[str]:
    return features.names(direction, history)[: -len(features.CANDIDATE_FEATURES)]


def _full_past_of_windows(histories: Sequence[Sequence[Window]], direction: str, history: int) -> Floats:
    return features.past_features(features.stack_windows(histories, direction, history), direction)


FULL = FeatureSet(
    "full",
    _full_past_names,
    features.row_names,
    features.CANDIDATE_FEATURES,
    lambda history: history,
    features.past_features,
    _full_past_of_windows,
    features.candidate_features,
)
PRINTED = FeatureSet(
    "printed",
    printed.past_names,
    printed.metric_names,
    printed.CANDIDATE_FEATURES,
    printed.depth,
    printed.past_features,
    printed.past_of_windows,
    printed.candidate_features,
)
FEATURE_SETS: Mapping[str, FeatureSet] = {each.name: each for each in (FULL, PRINTED)}


def named_like(names: object, direction: str, history: int) -> FeatureSet:
    """The set whose features a model file lists; a file that lists others was made by another version."""
    for each in FEATURE_SETS.values():
        if names == list(each.names(direction, history)):
            return each
    raise ModelFileError(f"{direction}.features are not those this version computes")
