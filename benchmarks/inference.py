"""Times all 99 probabilities of a target: compiled, numpy, and LightGBM's own predict, and their ratios.

Times are processor time of one thread, best of many, so that neighbours on the machine matter little. The
model is fitted here on made-up samples with the size of a default fit unless a data set is given.
usage: ./run bench inference [DATA_DIRECTORY]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np

from penstock.predict.features import candidate_matrix, names
from penstock.predict.trees import compile_forest, scores_numba, scores_numpy
from penstock.spaces import LUSTRE
from penstock.train.boost import Boosting, boost, to_forest
from penstock.train.fit import HISTORY, soft_labels
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


def made_up(direction: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    count = len(names(direction, HISTORY[direction]))
    vectors = rng.uniform(0, 12, (20_000, count))
    vectors[:, -3:] = candidate_matrix(LUSTRE.grid("pages", "flight"))[rng.integers(0, 99, len(vectors))]
    logit = vectors[:, -1] - vectors[:, 0] + 0.3 * vectors[:, 5] * np.sin(vectors[:, -2])
    return vectors, 1 / (1 + np.exp(-logit))


def measured(direction: str, directory: Path) -> tuple[np.ndarray, np.ndarray]:
    found = samples(read_table(directory), direction, HISTORY[direction])
    return found.vectors, soft_labels(found)


def main() -> None:
    """One line a figure."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    grid = candidate_matrix(LUSTRE.grid("pages", "flight"))
    for direction in ("read", "write"):
        vectors, target = measured(direction, data) if data else made_up(direction)
        booster = boost(vectors, target, Boosting())
        forest = to_forest(booster)
        compiled = compile_forest(forest, grid)
        past = np.ascontiguousarray(np.resize(vectors[:, :-3], (TARGETS, vectors.shape[1] - 3)))
        one, batch = past[:1], past[:BATCH]
        rows = np.hstack([np.repeat(batch, 99, axis=0), np.tile(grid, (BATCH, 1))])
        theirs = booster.predict(rows, raw_score=True, num_threads=1).reshape(BATCH, 99)
        fast_one = min(best_us(lambda x=past[i : i + 1]: scores_numba(compiled, x), 50) for i in range(0, 50, 10))
        worst = max(best_us(lambda x=past[i : i + 1]: scores_numba(compiled, x), 50) for i in range(0, 50, 10))
        all_ms = best_us(lambda: scores_numba(compiled, past), 15) / 1000
        numpy_us = best_us(lambda: scores_numpy(compiled, batch), 15) / BATCH
        lightgbm_us = best_us(lambda: booster.predict(rows[:99], num_threads=1), 30)
        difference = max(
            np.abs(scores_numba(compiled, batch) - theirs).max(), np.abs(scores_numpy(compiled, batch) - theirs).max()
        )
        print(f"{direction}: {len(forest.roots)} trees, {len(forest.value)} leaves, {vectors.shape[1]} features")
        print(f"{direction}: 99 probabilities of one target, compiled: {fast_one:.1f} to {worst:.1f} us (goal < 50)")
        print(f"{direction}: {TARGETS} targets in one batch, compiled: {all_ms:.1f} ms (goal < 40)")
        print(f"{direction}: numpy, a target in a batch of {BATCH}: {numpy_us:.0f} us (goal < 400)")
        print(f"{direction}: LightGBM's own predict, one target: {lightgbm_us:.0f} us")
        print(f"{direction}: LightGBM / compiled, one target: {lightgbm_us / worst:.0f}x (goal >= 20)")
        print(f"{direction}: LightGBM / compiled, in a batch: {lightgbm_us / (all_ms * 1000 / TARGETS):.0f}x")
        print(f"{direction}: largest difference to LightGBM: {difference:.1e} (goal <= 1e-9)")
        del one


if __name__ == "__main__":
    main()
