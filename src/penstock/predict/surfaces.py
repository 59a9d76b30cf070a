"""Surveyed surfaces: what every setting brought in other worlds, case by case.

A case is one kind of work in one world, simulated or real: a surface a direction over a grid of settings, as base-2
logarithms of rates relative to the grid's default. A survey is handed to policies case by case (`Cases`): which cases
resemble the work at hand is decided by what is measured there, and by what it looks like at the default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.decision import Cases, Outlook
from penstock.knobs import Candidates
from penstock.predict.drawn import drawn_cases
from penstock.window import Window

Floats = NDArray[np.float64]
# Directions of each kind of work, in the order of a case's surfaces.
KINDS: Mapping[str, tuple[str, ...]] = {"read": ("read",), "write": ("write",), "both": ("read", "write")}
# Counters that a case may hold (`penstock.decide.look`).
COUNTERS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One kind of work in one world: where it comes from, and a row of gains a direction over the survey's grid.

    `look` is what it looked like at the default (`penstock.decide.look`); empty where that is not known. `weight` is
    how many votes it has: more if it was measured on a real client.
    """

    origin: str
    kind: str
    gains: Floats
    look: tuple[float, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Cases over one grid of settings: the values of each knob, the last knob varying fastest."""

    space: str
    knobs: Mapping[str, tuple[int, ...]]
    cases: tuple[Case, ...]
    provenance: Mapping[str, object]
    digest: str

    def of(self, kind: str) -> tuple[Case, ...]:
        """The cases of one kind of work."""
        return tuple(case for case in self.cases if case.kind == kind)


class SurveyPredictor:
    """The `Predictor` port over surveys. It looks at no windows: its answer depends on the candidates alone.

    `others` serve the knob spaces that `survey` is not about.
    """

    history = 0

    def __init__(self, survey: Survey, others: Sequence[Survey] = ()) -> None:
        self.survey = survey
        self._surveys = {one.space: one for one in (*reversed(others), survey)}
        self._cases: dict[Candidates, Cases | None] = {}

    @property
    def spaces(self) -> tuple[str, ...]:
        """The knob spaces that were surveyed."""
        return tuple(self._surveys)

    @property
    def digest(self) -> str:
        """The first survey file's sha256."""
        return self.survey.digest

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> list[Outlook]:
        """The cases over these candidates; none where the candidates have other knobs than the survey."""
        if candidates not in self._cases:
            self._cases[candidates] = self._over(candidates)
        cases = self._cases[candidates]
        outlook = Outlook(direction, candidates, (), True, self.digest, cases=cases)
        return [outlook] * len(histories)

    def _over(self, candidates: Candidates) -> Cases | None:
        known = (one for one in self._surveys.values() if tuple(one.knobs) == tuple(candidates.ids))
        survey = next(known, None)
        if survey is None:
            return None
        places = np.zeros(len(candidates), dtype=np.int64)
        for column, values in enumerate(survey.knobs.values()):
            places = places * len(values) + _nearest(values, candidates.values[:, column])
        # Of a kind of work that nobody surveyed only what the knobs declare is known.
        surfaces, looks, weights = dict(drawn_cases(candidates).surfaces), {}, {}
        for kind in KINDS:
            if cases := survey.of(kind):
                surfaces[kind] = np.stack([case.gains[:, places] for case in cases])
                looks[kind] = np.array([case.look or (np.nan,) * COUNTERS for case in cases])
                weights[kind] = np.array([case.weight for case in cases])
        return Cases(surfaces, looks, weights)


def _nearest(axis: Sequence[int], values: Floats) -> NDArray[np.int64]:
    logs = np.log2(np.maximum(np.array(axis, dtype=np.float64), 1.0))
    found: NDArray[np.int64] = np.abs(np.log2(np.maximum(values, 1.0))[:, None] - logs).argmin(axis=1)
    return found


def grid_size(knobs: Mapping[str, tuple[int, ...]]) -> int:
    """How many settings a survey's grid has."""
    return math.prod(len(values) for values in knobs.values())
