"""Quality of predicted probabilities: errors, precision and recall at tau, and calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.predict.trees.forest import Floats
from penstock.train.samples import TAU

Labels = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The error at p = 0.5, the error of always guessing the more frequent label, and precision and recall at tau.

    Precision is None if nothing reaches tau, recall if nothing is positive, auc if a class is missing.
    """

    samples: int
    positives: int
    error: float
    trivial_error: float
    precision_at_tau: float | None
    recall_at_tau: float | None
    auc: float | None

    @property
    def only_guesses(self) -> bool:
        """Whether always guessing the commoner label would be as good."""
        return self.error >= self.trivial_error


def judge(label: Labels, p: Floats, tau: float = TAU) -> Judgement:
    """Compare probabilities with what happened. At least one sample is needed."""
    chosen, positives = p >= tau, int(label.sum())
    hits = int((chosen & label).sum())
    share = positives / len(label)
    return Judgement(
        samples=len(label),
        positives=positives,
        error=float(((p >= 0.5) != label).mean()),
        trivial_error=min(share, 1 - share),
        precision_at_tau=hits / int(chosen.sum()) if chosen.any() else None,
        recall_at_tau=hits / positives if positives else None,
        auc=_auc(label, p),
    )


def reliability(label: Labels, p: Floats, bins: int = 10) -> list[tuple[float, float, int]]:
    """For each bin of probability with samples: the mean probability, the observed share, and the number of
    samples.
    """
    at = np.minimum((p * bins).astype(np.int64), bins - 1)
    return [
        (float(p[at == index].mean()), float(label[at == index].mean()), int((at == index).sum()))
        for index in range(bins)
        if (at == index).any()
    ]


def _auc(label: Labels, p: Floats) -> float | None:
    """The probability that a positive sample scores above a negative one. Ties count half."""
    positives = int(label.sum())
    negatives = len(label) - positives
    if not positives or not negatives:
        return None
    _, at, counts = np.unique(p, return_inverse=True, return_counts=True)
    mean_rank = (np.cumsum(counts) - (counts - 1) / 2)[at]
    return float((mean_rank[label].sum() - positives * (positives + 1) / 2) / (positives * negatives))
