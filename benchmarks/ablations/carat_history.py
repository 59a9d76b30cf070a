"""CARAT whose model looks back eight intervals for writes, instead of one. No such model ships: `--model own`."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy


class HistoryPolicy(CaratPolicy):
    """The printed algorithm with a longer memory."""

    name = "carat-history"
    model_kind = "printed-history"


POLICY = HistoryPolicy
