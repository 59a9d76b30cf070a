"""CARAT that leaves a target alone whose work the model was not trained on."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class VetoPolicy(CaratPolicy):
    """The printed algorithm with a veto."""

    name = "carat-veto"
    vetoes = True


POLICY = VetoPolicy
