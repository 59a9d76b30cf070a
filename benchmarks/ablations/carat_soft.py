"""CARAT with a calibrated model of soft labels: a gain near 15 % is half a success. None ships: `--model own`."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class SoftPolicy(CaratPolicy):
    """The printed algorithm with softer labels."""

    name = "carat-soft"
    model_kind = "printed-soft"


POLICY = SoftPolicy
