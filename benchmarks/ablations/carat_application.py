"""CARAT with a model of what applications got from held settings. None ships: `--model own`."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class ApplicationPolicy(CaratPolicy):
    """The printed algorithm with application labels."""

    name = "carat-application"
    model_kind = "printed-application"


POLICY = ApplicationPolicy
