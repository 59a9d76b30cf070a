"""The candidate the model is surest about: CARAT's first idea, too timid by its authors' account."""

from __future__ import annotations

from penstock.decide import score
from penstock.decide.policies.carat import CaratPolicy
from penstock.decision import Outlook
from penstock.window import Window


class GreedyPolicy(CaratPolicy):
    """Ranks the survivors by probability alone."""

    name = "greedy"
    model_kind = "forest"
    tunes_cache = False
    vetoes = True

    def scores(self, kept: score.Survivors, outlook: Outlook, window: Window) -> score.Floats:
        """The probability is the score."""
        return kept.p


POLICY = GreedyPolicy
