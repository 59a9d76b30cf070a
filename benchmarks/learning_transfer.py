"""What to train the shipped model on: real traces, the simulator, or both, judged on runs of each held out.

usage: ./run bench learning_transfer REAL_DIRECTORY SIMULATED_DIRECTORY [ROUNDS LEAVES]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from penstock.train.boost import Boosting, boost
from penstock.train.calibrate import calibrate
from penstock.train.fit import HISTORY, soft_labels
from penstock.train.judge import judge
from penstock.train.samples import Samples, samples
from penstock.train.table import read_table

HELD_OUT_EVERY = 3


def main() -> None:
    sources = {"real": Path(sys.argv[1]), "simulated": Path(sys.argv[2])}
    rounds, leaves = (int(word) for word in (sys.argv[3:5] or ("150", "31")))
    tables = {name: read_table(directory) for name, directory in sources.items()}
    for direction in ("read", "write"):
        found = {name: samples(table, direction, HISTORY[direction]) for name, table in tables.items()}
        held_out = {name: one.run % HELD_OUT_EVERY == 0 for name, one in found.items()}
        for trained in (("real",), ("simulated",), ("real", "simulated")):
            report(
                direction,
                trained,
                found,
                held_out,
                Boosting(rounds=rounds, num_leaves=leaves, learning_rate=0.07),
            )


def report(
    direction: str,
    trained: tuple[str, ...],
    found: dict[str, Samples],
    held_out: dict[str, np.ndarray],
    how: Boosting,
) -> None:
    vectors = np.vstack([found[name].vectors[~held_out[name]] for name in trained])
    target = np.concatenate([soft_labels(found[name])[~held_out[name]] for name in trained])
    label = np.concatenate([found[name].label[~held_out[name]] for name in trained])
    part = np.concatenate([found[name].run[~held_out[name]] for name in trained]) % 2 == 0
    raw = np.empty(len(label))
    for half in (part, ~part):
        raw[half] = boost(vectors[~half], target[~half], how).predict(vectors[half], raw_score=True)
    slope, intercept = calibrate(raw, label)
    booster = boost(vectors, target, how)
    for name, one in found.items():
        score = booster.predict(one.vectors[held_out[name]], raw_score=True)
        p = 1 / (1 + np.exp(-(slope * score + intercept)))
        seen = judge(one.label[held_out[name]], p)
        print(
            f"{direction}: trained on {'+'.join(trained):<15} judged on {name:<10} error {seen.error:.4f} "
            f"(trivial {seen.trivial_error:.4f}) precision {seen.precision_at_tau or 0:.3f} "
            f"recall {seen.recall_at_tau or 0:.3f} auc {seen.auc or 0:.4f} samples {seen.samples}",
            flush=True,
        )


if __name__ == "__main__":
    main()
