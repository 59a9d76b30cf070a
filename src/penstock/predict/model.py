"""A trained model: one forest a direction, where it may be trusted, and where it comes from. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.decision import Outlook
from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.predict.features import candidate_matrix, past_features, row_names
from penstock.predict.recent import Recent
from penstock.predict.trees import CompiledForest, Forest, compile_forest, scores
from penstock.predict.trees.forest import Bools, Floats
from penstock.window import Window

# In features that are base-2 logarithms: up to twice or half of anything seen in training is still familiar.
RANGE_MARGIN = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class DirectionModel:
    """What a model knows of one direction. `low` and `high` bound each feature over the training samples."""

    direction: str
    history: int
    names: tuple[str, ...]
    forest: Forest
    low: Floats
    high: Floats
    metrics: Mapping[str, float] = field(default_factory=dict)

    def outside(self, past: Floats) -> list[list[str]]:
        """Per sample, the features of its current interval that training never came near; NaN is unknown."""
        strange = self._strange(past)
        return [[self.names[index] for index in np.flatnonzero(row)] for row in strange]

    def familiar(self, past: Floats) -> list[bool]:
        """Per sample, whether `outside` has nothing to name."""
        return [not strange for strange in np.any(self._strange(past), axis=1)]

    def _strange(self, past: Floats) -> Bools:
        count = len(row_names(self.direction))
        now = past[:, :count]
        low, high = self.low[:count] - RANGE_MARGIN, self.high[:count] + RANGE_MARGIN
        return (now < low) | (now > high)


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """A validated model file. `knobs` are the candidate values it was trained over, per knob id."""

    directions: Mapping[str, DirectionModel]
    space: str
    knobs: Mapping[str, tuple[int, ...]]
    provenance: Mapping[str, object]
    digest: str

    def __getitem__(self, direction: str) -> DirectionModel:
        if direction not in self.directions:
            raise UsageError(f"the model has no {direction} part, only {', '.join(self.directions)}")
        return self.directions[direction]


class ForestPredictor:
    """The `Predictor` port over a model. Pure but for caches of candidates and measured windows."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._compiled: dict[tuple[str, tuple[Setting, ...]], CompiledForest] = {}
        self._recent: dict[str, Recent] = {}

    @property
    def history(self) -> int:
        """The longest history any direction looks at."""
        return max(part.history for part in self.model.directions.values())

    @property
    def digest(self) -> str:
        """The model file's sha256."""
        return self.model.digest

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Sequence[Setting]
    ) -> list[Outlook]:
        """One outlook per target. A target with an unfamiliar current window is marked out of range."""
        if not histories:
            return []
        part = self.model[direction]
        recent = self._recent.setdefault(direction, Recent(direction, part.history))
        past = past_features(recent.stack(histories), direction)
        rows = np.ascontiguousarray(self.probabilities(direction, past, candidates))
        # A view of its row holds a target's probabilities as they are; a list would make a hundred objects.
        return [
            Outlook(direction, candidates, memoryview(row), familiar, self.digest)
            for row, familiar in zip(rows, part.familiar(past), strict=True)
        ]

    def probabilities(self, direction: str, past: Floats, candidates: Sequence[Setting]) -> Floats:
        """The probability of every (sample, candidate), from features of the past."""
        key = (direction, tuple(candidates))
        if key not in self._compiled:
            forest = self.model[direction].forest
            self._compiled[key] = compile_forest(forest, candidate_matrix(candidates))
        compiled = self._compiled[key]
        return compiled.forest.probability(scores(compiled, past))
