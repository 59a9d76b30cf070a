"""CARAT with our own model: more features, longer history, soft labels, calibration."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class FullPolicy(CaratPolicy):
    """The printed score with the larger model."""

    name = "carat-full"
    model_kind = "forest"


POLICY = FullPolicy
