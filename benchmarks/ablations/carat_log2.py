"""CARAT with logarithms of the knobs in its score: 256 requests in flight no longer outweigh everything else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.decide import score
from penstock.decide.policies.carat import CaratPolicy
from penstock.decision import Outlook
from penstock.window import Window


class Log2Policy(CaratPolicy):
    """The printed score with base-2 logarithms, because the knobs' values are powers of two."""

    name = "carat-log2"

    def scores(self, kept: score.Survivors, outlook: Outlook, window: Window) -> score.Floats:
        size, count = (np.log2(np.maximum(values, 1.0)) for values in (kept.size, kept.count))
        return score.printed(replace(kept, size=size, count=count), outlook.direction)


POLICY = Log2Policy
