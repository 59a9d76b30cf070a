"""Random numbers that are the same compiled and uncompiled: L'Ecuyer's combined generator in plain integers."""

from __future__ import annotations

import math

import numpy as np

from penstock.simulate.kernel.compiler import entry, kernel
from penstock.simulate.kernel.records import World

M1, A1 = 2147483563, 40014
M2, A2 = 2147483399, 40692


def seeded(streams: int, seed: int) -> np.ndarray:
    """One generator state per stream, all different, all determined by the seed."""
    words = np.random.SeedSequence(seed).generate_state(2 * streams, dtype=np.uint32).astype(np.int64)
    states = words.reshape(streams, 2)
    states[:, 0] = 1 + states[:, 0] % (M1 - 1)
    states[:, 1] = 1 + states[:, 1] % (M2 - 1)
    return np.ascontiguousarray(states)


@entry
def uniform(w: World, stream: int) -> float:
    """The stream's next number, strictly between 0 and 1."""
    first = A1 * w.rng[stream, 0] % M1
    second = A2 * w.rng[stream, 1] % M2
    w.rng[stream, 0] = first
    w.rng[stream, 1] = second
    mixed = (first - second) % (M1 - 1)
    if mixed <= 0:
        mixed += M1 - 1
    return float(mixed) / M1


@entry
def exponential(w: World, stream: int, mean: float) -> float:
    """The stream's next exponentially distributed number."""
    return -mean * math.log(uniform(w, stream))


@kernel
def integer(w: World, stream: int, below: int) -> int:
    """The stream's next integer in 0..below-1."""
    return int(uniform(w, stream) * below)
