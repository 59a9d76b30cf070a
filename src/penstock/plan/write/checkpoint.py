"""Computes the time between checkpoints from the time of one checkpoint."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from penstock.errors import UsageError

# The relative errors that the paper expects of a good model. A plan should hold even with the larger one.
EXPECTED_ERROR = 0.3
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(%?)")


@dataclass(frozen=True, slots=True)
class Checkpointing:
    """A checkpoint every `interval_s`, of which `compute_s` computes, keeps writing at `share` of the run.

    `share_low` and `share_high` are what the share becomes if the prediction is off by the expected error.
    """

    share: float
    compute_s: float
    interval_s: float
    share_low: float
    share_high: float


def parse_share(text: str) -> float:
    """A share of the run time, `10%` or `0.1`.

    >>> parse_share("10%"), parse_share("0.25")
    (0.1, 0.25)
    """
    match = _SHARE.fullmatch(text.strip())
    share = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    if not 0 < share < 1:
        raise UsageError(f"--budget {text!r} is not a share of the run time between 0 and 1, like 10% or 0.1")
    return share


def checkpointing(write_s: float, share: float) -> Checkpointing:
    """How long to compute between writes so that writing takes `share` of the run.

    >>> checkpointing(30.0, 0.1).interval_s
    300.0
    """
    compute_s = write_s * (1 - share) / share
    low, high = (write_s * (1 + sign * EXPECTED_ERROR) for sign in (-1, 1))
    return Checkpointing(
        share, compute_s, write_s / share, low / (low + compute_s), high / (high + compute_s)
    )
