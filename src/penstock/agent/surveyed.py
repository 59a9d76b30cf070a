"""Chooses the policy of each target. A model knows the knobs of some file systems only."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from penstock.decide.policies._base import Policy
from penstock.decide.tuner import PolicyFactory
from penstock.knobs import Candidates, KnobSpace
from penstock.ports import Predictor


def surveyed(predictor: Predictor | None, spaces: Iterable[KnobSpace]) -> tuple[Candidates, ...]:
    """The candidates of those spaces that the model knows."""
    known = () if predictor is None else predictor.spaces
    return tuple(space.candidates() for space in spaces if space.name in known)


def where_surveyed(
    chosen: PolicyFactory, learner: PolicyFactory, predictor: Predictor | None
) -> PolicyFactory:
    """The chosen policy if its model knows the knobs, otherwise the learning policy, which uses its own measurements.

    The guard's limits apply to both.
    """
    known = frozenset(() if predictor is None else predictor.spaces)

    def make(space: KnobSpace, rng: Random) -> Policy:
        return chosen(space, rng) if space.name in known else learner(space, rng)

    return make
