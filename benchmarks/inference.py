"""Times all 99 probabilities of a target: compiled, numpy, and LightGBM's own predict, and their ratios.

Times are processor time of one thread, best of many, so that neighbours on the machine matter little. The
model is fitted here on made-up samples with the size of a default fit unless a data set is given.
Set OPENBLAS_NUM_THREADS=1 to keep numpy on one core.
usage: ./run bench inference [DATA_DIRECTORY]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from penstock.predict.features import names
from penstock.predict.featuresets import FULL
from penstock.predict.trees import compile_forest, scores_numba, scores_numpy
from penstock.predict.trees.forest import Floats
from penstock.spaces import LUSTRE
from penstock.train.boost import boost, to_forest
from penstock.train.fit import BOOSTING, HISTORY, soft_labels
from penstock.train.samples import samples
from penstock.train.table import read_table

TARGETS = 1008
BATCH = 64


def best_us(work: Callable[[], object], rounds: int) -> float:
    """The least processor time of one call, in microseconds."""
    work()
    times = []
    for _ in range(rounds):
        started = time.thread_time_ns()
        work()
        times.append(time.thread_time_ns() - started)
    return min(times) / 1000


def made_up(direction: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    count = len(names(direction, HISTORY[direction]))
    vectors = rng.uniform(0, 12, (20_000, count))
    vectors[:, -3:] = FULL.candidate_matrix(LUSTRE.candidates())[rng.integers(0, 99, len(vectors))]
    logit = vectors[:, -1] - vectors[:, 0] + 0.3 * vectors[:, 5] * np.sin(vectors[:, -2])
    return vectors, 1 / (1 + np.exp(-logit))


def measured(direction: str, directory: Path) -> tuple[Floats, Floats]:
    found = samples(read_table(directory), direction, HISTORY[direction])
    return found.vectors, soft_labels(found)


def report(direction: str, vectors: Floats, target: Floats) -> None:
    grid = FULL.candidate_matrix(LUSTRE.candidates())
    booster = boost(vectors, target, BOOSTING[direction])
    forest = to_forest(booster)
    compiled = compile_forest(forest, grid)
    past = np.ascontiguousarray(np.resize(vectors[:, :-3], (TARGETS, vectors.shape[1] - 3)))
    batch = past[:BATCH]
    rows = np.hstack([np.repeat(batch, 99, axis=0), np.tile(grid, (BATCH, 1))])
    theirs = booster.predict(rows, raw_score=True, num_threads=1).reshape(BATCH, 99)
    gaps = [np.abs(version(compiled, batch) - theirs).max() for version in (scores_numba, scores_numpy)]
    singles = [best_us(partial(scores_numba, compiled, past[i : i + 1]), 50) for i in range(0, 100, 10)]
    one_us = statistics.mean(singles)
    all_ms = best_us(partial(scores_numba, compiled, past), 15) / 1000
    numpy_us = best_us(partial(scores_numpy, compiled, batch), 15) / BATCH
    lightgbm_us = best_us(partial(booster.predict, rows[:99], num_threads=1), 30)
    for line in (
        f"{len(forest.roots)} trees, {len(forest.value)} leaves, {vectors.shape[1]} features",
        f"99 probabilities of one target, compiled: {one_us:.1f} us, worst {max(singles):.1f} (goal < 50)",
        f"{TARGETS} targets in one batch, compiled: {all_ms:.1f} ms (goal < 40)",
        f"numpy, a target in a batch of {BATCH}: {numpy_us:.0f} us (goal < 400)",
        f"LightGBM's own predict, one target: {lightgbm_us:.0f} us",
        f"LightGBM / compiled, one target: {lightgbm_us / one_us:.0f}x (goal >= 20)",
        f"LightGBM / compiled, in a batch: {lightgbm_us / (all_ms * 1000 / TARGETS):.0f}x",
        f"largest difference to LightGBM: {max(gaps):.1e} (goal <= 1e-9)",
    ):
        print(f"{direction}: {line}")


def main() -> None:
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for direction in ("read", "write"):
        report(direction, *(measured(direction, data) if data else made_up(direction)))


if __name__ == "__main__":
    main()
