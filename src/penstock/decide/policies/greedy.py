"""Greedy: the candidate with the highest probability. The CARAT authors tried it first and found it too cautious."""

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
        return kept.p


POLICY = GreedyPolicy
