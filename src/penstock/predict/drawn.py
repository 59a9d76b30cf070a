"""Drawn cases, for knobs that nobody surveyed: surfaces at random, of the shapes that the knobs' declarations allow.

A knob may declare that it limits how much data of a direction is on its way (`Knob.limits`). Then a larger value
raises the rate of that direction, at most in proportion, until something else is the limit, and seldom costs much
beyond. Of several such knobs the scarcest counts. A knob that does not limit a direction does nothing to it.

Where no knob declares anything any smooth surface is possible: neighbours are alike, any setting may be best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.decision import Cases
from penstock.knobs import Candidates
from penstock.window import DIRECTIONS

Floats = NDArray[np.float64]
DRAWN = 192
# How far smooth surfaces reach, in doublings, and how much they rise and fall.
REACH_LOG2 = 2.0
RISE_LOG2 = 0.6
# A limit stops to matter at a value drawn from this many doublings below the candidates to as many above them.
BEYOND_LOG2 = 2.0
# The rate rises by at least this for every doubling of what limits it, and by one at most.
LEAST_SLOPE = 0.5
# What each doubling beyond that costs, in the mean over cases.
EXCESS_LOG2 = 0.01


def drawn_cases(candidates: Candidates, seed: int = 0) -> Cases:
    """The same cases for the same candidates and seed."""
    rng = np.random.default_rng(seed)
    declared = any(candidates.space[knob_id].limits for knob_id in candidates.ids)
    if declared:
        read, write = (_limited(candidates, way, rng) for way in DIRECTIONS)
        return Cases(
            {"read": read[:, None], "write": write[:, None], "both": np.stack([read, write], axis=1)}
        )
    one, other = _smooth(candidates, rng)
    return Cases({"read": one[:, None], "write": one[:, None], "both": np.stack([one, other], axis=1)})


def _smooth(candidates: Candidates, rng: np.random.Generator) -> tuple[Floats, Floats]:
    likeness = candidates.likeness(REACH_LOG2) + 1e-6 * np.eye(len(candidates))
    root = RISE_LOG2 * np.linalg.cholesky(likeness)
    one, other = (rng.standard_normal((DRAWN, len(candidates))) @ root.T for _ in range(2))
    return one, other


def _limited(candidates: Candidates, way: str, rng: np.random.Generator) -> Floats:
    """One direction's surfaces: how far the scarcest knob is from enough, and what the others have too much."""
    lacks = np.zeros((DRAWN, len(candidates)))
    excess = np.zeros_like(lacks)
    for knob_id, spots in zip(candidates.ids, candidates.coordinates.T, strict=True):
        if way not in candidates.space[knob_id].limits:
            continue
        enough = rng.uniform(spots.min() - BEYOND_LOG2, spots.max() + BEYOND_LOG2, (DRAWN, 1))
        slope = rng.uniform(LEAST_SLOPE, 1.0, (DRAWN, 1))
        cost = rng.exponential(EXCESS_LOG2, (DRAWN, 1))
        lacks = np.maximum(lacks, slope * np.maximum(enough - spots, 0.0))
        excess += cost * np.maximum(spots - enough, 0.0)
    return -lacks - excess
