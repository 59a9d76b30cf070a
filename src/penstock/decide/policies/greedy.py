"""The candidate the model is surest about: CARAT's first idea, too timid by its authors' account."""

from __future__ import annotations

from penstock.decide.policies.carat import CaratPolicy
from penstock.decision import Outlook
from penstock.knobs import Setting
from penstock.window import Window


class GreedyPolicy(CaratPolicy):
    """Ranks the survivors by probability alone."""

    name = "greedy"
    tunes_cache = False

    def scores(self, kept: dict[Setting, float], outlook: Outlook, window: Window) -> dict[Setting, float]:
        """The probability is the score."""
        return kept


POLICY = GreedyPolicy
