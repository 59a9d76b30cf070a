"""Drawn cases, for knobs that nobody surveyed: surfaces at random, of the shapes that the knobs' declarations allow.

A knob may declare that it limits how much data of a direction is on its way (`Knob.limits`). Then a larger value
raises the rate of that direction, at most in proportion, until something else is the limit, and seldom costs much
beyond. Of several such knobs the scarcest counts. Where one direction is at work alone, a knob that does not limit it
does nothing to it. Where both are, they share daemon, link and server: what one of them has on its way beyond what
it needs is what the other one waits behind.

Where no knob declares anything any smooth surface is possible: neighbours are alike, any setting may be best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.decision import Cases
from penstock.knobs import Candidates

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
# What each doubling beyond that costs the other direction, in the mean over cases. On GlusterFS, with a readahead of
# 512 or 1024 KiB, four times the requests in flight cost mixed work a fifth; reads alone lose nothing by them.
CROWDING_LOG2 = 0.2


def drawn_cases(candidates: Candidates, seed: int = 0) -> Cases:
    """The same cases for the same candidates and seed."""
    rng = np.random.default_rng(seed)
    declared = any(candidates.space[knob_id].limits for knob_id in candidates.ids)
    if declared:
        (read, read_more), (write, write_more) = (
            _limited(candidates, way, rng) for way in candidates.space.kind.way_names
        )
        crowding = rng.exponential(CROWDING_LOG2, (2, DRAWN, 1))
        both = np.stack([read - crowding[0] * write_more, write - crowding[1] * read_more], axis=1)
        return Cases({"read": read[:, None], "write": write[:, None], "both": both})
    one, other = _smooth(candidates, rng)
    return Cases({"read": one[:, None], "write": one[:, None], "both": np.stack([one, other], axis=1)})


def _smooth(candidates: Candidates, rng: np.random.Generator) -> tuple[Floats, Floats]:
    likeness = candidates.likeness(REACH_LOG2) + 1e-6 * np.eye(len(candidates))
    root = RISE_LOG2 * np.linalg.cholesky(likeness)
    one, other = (rng.standard_normal((DRAWN, len(candidates))) @ root.T for _ in range(2))
    return one, other


def _limited(candidates: Candidates, way: str, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """One direction's surfaces: how far the scarcest knob is from enough, and what the others have too much.

    The second answer is that excess itself, in doublings, all knobs together.
    """
    lacks, costs, excess = (np.zeros((DRAWN, len(candidates))) for _ in range(3))
    for knob_id, spots in zip(candidates.ids, candidates.coordinates.T, strict=True):
        if way not in candidates.space[knob_id].limits:
            continue
        enough = rng.uniform(spots.min() - BEYOND_LOG2, spots.max() + BEYOND_LOG2, (DRAWN, 1))
        slope = rng.uniform(LEAST_SLOPE, 1.0, (DRAWN, 1))
        cost = rng.exponential(EXCESS_LOG2, (DRAWN, 1))
        beyond = np.maximum(spots - enough, 0.0)
        lacks = np.maximum(lacks, slope * np.maximum(enough - spots, 0.0))
        costs += cost * beyond
        excess += beyond
    return -lacks - costs, excess
