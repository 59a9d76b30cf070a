"""What the shipped policy sees before it decides, and why it asks for a change."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.decide.belief import Belief


@dataclass(frozen=True, slots=True, eq=False)
class Prospect:
    """What is believed, the best setting measured, and the best bet among the others."""

    belief: Belief
    best: int
    bet: int
    hope: float

    @property
    def over(self) -> float:
        """What the best setting measured gains over the original."""
        return float(self.belief.mean[self.best])


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a change is asked for: a code for machines, a sentence for people, and how sure it is."""

    code: str
    sentence: str
    chance: float
