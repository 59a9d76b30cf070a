"""What settings brought elsewhere: surveyed response surfaces, and what they say about a target at work.

A survey holds, for many kinds of work on many kinds of hardware, what every setting of the grid brought and
how the counters looked meanwhile. A target's recent windows are compared with what each surveyed case looked
like at the same settings; the cases that look alike vote, each with its own surface, on what every other
setting would bring here. Cases that disagree make the answer uncertain, and that is said too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.decision import Outlook
from penstock.knobs import Setting
from penstock.predict.features import MEASURES, Floats, row_features, row_names
from penstock.predict.normal import below
from penstock.predict.recent import Recent
from penstock.window import Window

# How far apart two intervals of the same work may lie, per feature, in powers of two. Rates say little: they scale
# with the hardware, and what applications get follows from the two before it. What is not listed is not compared.
_BOTH = {
    "app_request_bytes": 0.35,
    "pages_per_rpc": 0.2,
    "rpcs_in_flight": 0.25,
    "page_latency_us": 0.35,
    "bytes_per_s": 0.35,
    "app_over_wire": 0.2,
    "app_bytes_per_s": math.inf,
}
# What is left of the grant tells how much of a file the cache holds.
LIKENESS = {"read": _BOTH, "write": {**_BOTH, "grant_bytes": 1.0}}
# What a survey is asked for: what applications get.
RATE = "app_bytes_per_s"
HISTORY = 4
# Windows of one target are no independent witnesses: together they count as this many at most.
MOST_WITNESSES = 2.0
# The interval after a change still shows the setting before.
CHANGED_WEIGHT = 0.2
# Never surer of a gain than this: the survey is not this machine. And what a gain is, for a probability.
LEAST_SPREAD = 0.06
GAIN_LOG2 = float(np.log2(1.15))
# What differs by more likenesses than this differs by as much: one strange feature must not decide everything.
FARTHEST = 10.0
# A target is out of range when even the best case differs by more than this many likenesses a feature.
STRANGE = 6.0
# Targets compared at once: what they differ by shall fit a processor's cache.
AT_ONCE = 128


@dataclass(frozen=True, slots=True)
class Case:
    """One surveyed kind of work: where, what, and its direction's features at every setting, as logarithms."""

    cluster: str
    workload: str
    direction: str
    features: Floats


@dataclass(frozen=True, eq=False)
class Survey:
    """Cases over one grid of settings; `pages` and `flight` are its axes, the latter varying fastest."""

    pages: tuple[int, ...]
    flight: tuple[int, ...]
    cases: tuple[Case, ...]
    provenance: Mapping[str, object]
    digest: str

    def of(self, direction: str) -> tuple[Case, ...]:
        """The cases of one direction."""
        return tuple(case for case in self.cases if case.direction == direction)


def columns(direction: str) -> list[int]:
    """Where a row of features holds those of a case."""
    names = row_names(direction)
    return [names.index(name) for name in LIKENESS[direction]]


class _Atlas:
    """One direction's cases as arrays."""

    def __init__(self, survey: Survey, direction: str) -> None:
        self.columns = columns(direction)
        self.scales = np.array(list(LIKENESS[direction].values()))
        features = np.stack([case.features for case in survey.of(direction)])
        self.rates = np.ascontiguousarray(features[:, :, list(LIKENESS[direction]).index(RATE)])
        # By place first: a window is compared with what all cases look like at one place.
        self.looks = np.ascontiguousarray((features / self.scales).transpose(1, 0, 2))


class SurveyPredictor:
    """The `Predictor` port over a survey: expected gains with their spread, and the probability of a gain."""

    history = HISTORY

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._atlases: dict[str, _Atlas] = {}
        self._recent: dict[tuple[str, bool], Recent] = {}

    @property
    def digest(self) -> str:
        """The survey file's sha256."""
        return self.survey.digest

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Sequence[Setting]
    ) -> list[Outlook]:
        """One outlook per target. A target that looks like no surveyed case is marked out of range."""
        if not histories:
            return []
        atlas = self._atlas(direction)
        stack = self._recent_of(direction, histories).stack(histories)
        rows = row_features(stack, direction)
        if direction == "write":
            rows[..., row_names(direction).index("app_over_wire")] = _over_wire(stack)
        places = self._places(stack[..., 1], stack[..., 2])
        weights, strangeness = _votes(atlas, rows[..., atlas.columns], places)
        wanted = self._places(
            np.array([float(c["pages"]) for c in candidates]),
            np.array([float(c["flight"]) for c in candidates]),
        )
        mean, spread = _moments(weights, atlas.rates[:, wanted], atlas.rates[:, places[:, 0]].T)
        chance = below(np.divide(mean - GAIN_LOG2, spread))
        in_range, views = (strangeness <= STRANGE).tolist(), map(_rows, (chance, mean, spread))
        return [
            Outlook(direction, candidates, p, near, self.digest, gains, spreads)
            for near, p, gains, spreads in zip(in_range, *views, strict=True)
        ]

    def _recent_of(self, direction: str, histories: Sequence[Sequence[Window]]) -> Recent:
        """What is remembered of many targets is not that of a crew, which is asked about between them, alone."""
        key = direction, len(histories) > 1
        if key not in self._recent:
            self._recent[key] = Recent(direction, HISTORY)
        return self._recent[key]

    def _atlas(self, direction: str) -> _Atlas:
        if direction not in self._atlases:
            self._atlases[direction] = _Atlas(self.survey, direction)
        return self._atlases[direction]

    def _places(self, pages: Floats, flight: Floats) -> NDArray[np.int64]:
        """The grid place nearest to each setting; values the grid does not have go to their neighbour."""
        row = _nearest(self.survey.pages, pages)
        return row * len(self.survey.flight) + _nearest(self.survey.flight, flight)


def _over_wire(stack: Floats) -> Floats:
    """What applications wrote over what was sent, less what the cache took in; unknown in the oldest interval.

    A cache that fills looks like one whose pages are written over again and again, and is none.
    """
    app, wire, dirty = (stack[..., MEASURES.index(name)] for name in ("app_bytes", "bytes", "dirty_bytes"))
    taken = np.full(dirty.shape, np.nan)
    taken[:, :-1] = dirty[:, :-1] - dirty[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.log2(np.maximum(app - taken, wire) / wire)
    found: Floats = np.where(np.isfinite(over), over, np.nan)
    return found


def _votes(atlas: _Atlas, rows: Floats, places: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """How much each case counts for each target, summing to 1, and how strange the likeliest one still is."""
    known = np.isfinite(rows)
    compared = known.astype(np.float64)
    scaled = np.where(known, rows / atlas.scales, 0.0)
    older = np.concatenate([places[:, 1:], places[:, -1:]], axis=1)
    witness = np.where(known.any(axis=2), np.where(places == older, 1.0, CHANGED_WEIGHT), 0.0)
    total = np.maximum(witness.sum(axis=1), 1e-9)
    apart = np.zeros((len(rows), atlas.looks.shape[1]))
    for first in range(0, len(rows), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        for lag in range(rows.shape[1]):
            away = atlas.looks[places[part, lag]]
            away -= scaled[part, lag, None]
            np.minimum(np.multiply(away, away, out=away), FARTHEST**2, out=away)
            apart[part] += witness[part, lag, None] * (away @ compared[part, lag, :, None])[..., 0]
    mean_apart = apart / total[:, None]
    strangeness = np.sqrt(mean_apart.min(axis=1) / len(atlas.scales))
    # Where even the likeliest case is no match, that it is nearer than another says little.
    sureness = np.minimum(total, MOST_WITNESSES) / np.maximum(strangeness, 1.0) ** 2
    score = -0.5 * mean_apart * sureness[:, None]
    weights = np.exp(score - score.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights, strangeness


def _moments(weights: Floats, there: Floats, here: Floats) -> tuple[Floats, Floats]:
    """Mean and spread over the cases of every candidate's gain; products of matrices, for targets by the thousand."""
    mean = weights @ there - (weights * here).sum(axis=1, keepdims=True)
    square = (
        weights @ there**2 - 2.0 * (weights * here) @ there + (weights * here**2).sum(axis=1, keepdims=True)
    )
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0) + LEAST_SPREAD**2)


def _rows(table: Floats) -> list[memoryview]:
    """The rows of a table, none of them copied."""
    flat, width = np.ascontiguousarray(table).reshape(-1).data, table.shape[1]
    return [flat[first : first + width] for first in range(0, len(flat), width)]


def _nearest(axis: tuple[int, ...], values: Floats) -> NDArray[np.int64]:
    logs = np.log2(np.array(axis, dtype=np.float64))
    asked = np.log2(np.maximum(np.nan_to_num(values, nan=float(axis[0])), 1.0))
    found: NDArray[np.int64] = np.abs(asked[..., None] - logs).argmin(axis=-1)
    return found
