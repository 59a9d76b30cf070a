"""A model that knows nothing: seeded answers of every kind, so that policies meet outlooks in tests."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from penstock.decision import Outlook
from penstock.knobs import Candidates
from penstock.window import Window


class FakePredictor:
    """The `Predictor` port without a model. Equal seeds and windows get equal answers, whoever asks and when.

    For each window one candidate promises a lot and is nearly certain, some are doubtful, the rest are poor.
    """

    def __init__(self, seed: int = 0, history: int = 2) -> None:
        self.history = history
        self.digest = f"fake-{seed}"
        self.spaces = ("lustre",)
        self._seed = seed

    def outlooks(
        self, direction: str, histories: Sequence[Sequence[Window]], candidates: Candidates
    ) -> list[Outlook]:
        """One outlook per target."""
        return [self._outlook(direction, windows[-1], candidates) for windows in histories]

    def _outlook(self, direction: str, window: Window, candidates: Candidates) -> Outlook:
        rng = Random(f"{self._seed}/{window.target.name}/{window.t1_s!r}/{direction}")
        chances = [rng.random() * rng.choice((0.2, 0.9)) for _ in candidates]
        gains = [rng.gauss(-0.5, 1.0) for _ in candidates]
        spreads = [rng.uniform(0.05, 1.0) for _ in candidates]
        best = rng.randrange(len(candidates))
        chances[best], gains[best], spreads[best] = 0.99, 1.5, 0.1
        return Outlook(direction, candidates, chances, True, self.digest, gains, spreads)
