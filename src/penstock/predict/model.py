"""A trained model: one forest a direction, where it may be trusted, and where it comes from. Data only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from penstock.decision import Outlook
from penstock.errors import UsageError
from penstock.knobs import Candidates, Setting
from penstock.predict.featuresets import FULL, FeatureSet
from penstock.predict.trees import (
    CompiledForest,
    Forest,
    compile_forest,
    has_numba,
    scores_numba,
    scores_numpy,
)
from penstock.predict.trees.forest import Bools, Floats
from penstock.window import Window

# In features that are base-2 logarithms: up to twice or half of anything seen in training is still familiar.
RANGE_MARGIN = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class DirectionModel:
    """What a model knows of one direction. `low` and `high` bound each feature over the training samples.

    `features` is how its vector is made of windows.
    """

    direction: str
    history: int
    names: tuple[str, ...]
    forest: Forest
    low: Floats
    high: Floats
    metrics: Mapping[str, float] = field(default_factory=dict)
    features: FeatureSet = FULL

    @property
    def depth(self) -> int:
        """Intervals before the current one that it wants to see."""
        return self.features.depth(self.history)

    def outside(self, past: Floats) -> list[list[str]]:
        """Per sample, the features of its current interval that training never came near; NaN is unknown."""
        strange = self._strange(past)
        return [[self.names[index] for index in np.flatnonzero(row)] for row in strange]

    def familiar(self, past: Floats) -> list[bool]:
        """Per sample, whether `outside` has nothing to name."""
        return [not strange for strange in np.any(self._strange(past), axis=1)]

    def _strange(self, past: Floats) -> Bools:
        count = len(self.features.now(self.direction))
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
    """The `Predictor` port over a model. Pure but for a cache of candidates."""

    def __init__(self, model: Model) -> None:
        self.model = model
        #: Whether compiled code walks the trees; who cannot wait for a compiler says no until `compile` is done.
        self.compiled_walk = has_numba()
        self._compiled: dict[tuple[str, tuple[Setting, ...]], CompiledForest] = {}

    @property
    def history(self) -> int:
        """The longest history any direction looks at."""
        return max(part.depth for part in self.model.directions.values())

    @property
    def digest(self) -> str:
        """The model file's sha256."""
        return self.model.digest

    @property
    def spaces(self) -> tuple[str, ...]:
        """A model is made of the features of one kind of client."""
        return (self.model.space,)

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> list[Outlook]:
        """One outlook per target. A target with an unfamiliar current window is marked out of range.

        So is every target where the model knows nothing of this direction.
        """
        if not histories:
            return []
        if direction not in self.model.directions:
            nothing = Outlook(direction, candidates, (0.0,) * len(candidates), False, self.digest)
            return [nothing] * len(histories)
        part = self.model[direction]
        past = part.features.past_of_windows(histories, direction, part.history)
        rows = np.ascontiguousarray(self.probabilities(direction, past, candidates))
        # A view of its row holds a target's probabilities as they are; a list would make a hundred objects.
        return [
            Outlook(direction, candidates, memoryview(row), familiar, self.digest)
            for row, familiar in zip(rows, part.familiar(past), strict=True)
        ]

    def probabilities(self, direction: str, past: Floats, candidates: Candidates) -> Floats:
        """The probability of every (sample, candidate), from features of the past."""
        compiled = self._ready(direction, candidates)
        return compiled.forest.probability(self._scores(compiled, past))

    def compile(self) -> bool:
        """Compile the walk, which may take seconds; true when compiled code answers from now on.

        May run beside `outlooks`: those walk with numpy until `compiled_walk` is set.
        """
        if not has_numba():
            return False
        direction = next(iter(self.model.directions))
        part = self.model[direction]
        few = compile_forest(part.forest, np.zeros((1, len(part.features.candidate_names))))
        scores_numba(few, np.zeros((1, few.past)))
        return True

    def _ready(self, direction: str, candidates: Candidates) -> CompiledForest:
        key = (direction, candidates.settings)
        if key not in self._compiled:
            part = self.model[direction]
            self._compiled[key] = compile_forest(part.forest, part.features.candidate_matrix(candidates))
        return self._compiled[key]

    def _scores(self, compiled: CompiledForest, past: Floats) -> Floats:
        walk = scores_numba if self.compiled_walk else scores_numpy
        return walk(compiled, np.ascontiguousarray(past))
