"""The normal distribution, as closely as decisions need it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def below(z: Floats) -> Floats:
    """The share of a normal distribution below each z (a logistic approximation, within .01)."""
    return 1.0 / (1.0 + np.exp(-np.minimum(np.maximum(1.702 * z, -60.0), 60.0)))
