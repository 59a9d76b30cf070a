"""The states of the shipped policy (`penstock.decide.policies.weir`)."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """What the next window is for."""

    SETTLING = "settling"
    MEASURING = "measuring"
    RESTING = "resting"
    ASKING = "asking"
