"""Training with LightGBM: feature vectors in, a `Forest` out. No other module uses LightGBM."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from penstock.errors import require_extra
from penstock.predict.checks import MAX_MAGNITUDE
from penstock.predict.modelfile import short
from penstock.predict.trees import Forest
from penstock.predict.trees.forest import Floats


@dataclass(frozen=True, slots=True)
class Boosting:
    """The parameters of tree growing. The defaults come from the study in docs/explanation/learning.md.

    It uses one thread: a fit takes seconds, and on a busy machine more threads cost more than they gain.
    """

    rounds: int = 300
    learning_rate: float = 0.04
    num_leaves: int = 63
    min_data_in_leaf: int = 40
    feature_fraction: float = 0.5
    bagging_fraction: float = 0.8
    lambda_l2: float = 1.0
    max_bin: int = 255
    threads: int = 1
    seed: int = 0


def boost(vectors: Floats, target: Floats, how: Boosting) -> Any:
    """A LightGBM booster for targets in 0..1. Equal data, seed and parameters give an equal booster."""
    try:
        import lightgbm
    except ImportError as error:
        raise require_extra("train", error) from None
    parameters = asdict(how)
    rounds, threads = parameters.pop("rounds"), parameters.pop("threads")
    parameters |= {
        "objective": "cross_entropy",
        "bagging_freq": 1,
        "num_threads": threads,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    return lightgbm.train(parameters, lightgbm.Dataset(vectors, target), rounds)


def to_forest(booster: Any, slope: float = 1.0, intercept: float = 0.0) -> Forest:
    """The trees of a booster in our own form, with numbers rounded as in the model file."""
    dumped = booster.dump_model()
    columns = _Columns()
    for tree in dumped["tree_info"]:
        columns.add(tree["tree_structure"])
    return Forest(
        features=dumped["max_feature_idx"] + 1,
        roots=np.array(columns.roots, dtype=np.int32),
        feature=np.array(columns.feature, dtype=np.int32),
        threshold=np.array(columns.threshold, dtype=np.float64),
        left=np.array(columns.left, dtype=np.int32),
        right=np.array(columns.right, dtype=np.int32),
        missing_left=np.array(columns.missing_left, dtype=np.bool_),
        value=np.array(columns.value, dtype=np.float64),
        cover=np.array(columns.cover, dtype=np.float64),
        slope=short(slope),
        intercept=short(intercept),
    )


class _Columns:
    """Collects nodes so that parents come before their children."""

    def __init__(self) -> None:
        self.roots: list[int] = []
        self.feature: list[int] = []
        self.threshold: list[float] = []
        self.left: list[int] = []
        self.right: list[int] = []
        self.missing_left: list[bool] = []
        self.value: list[float] = []
        self.cover: list[int] = []

    def add(self, root: dict[str, Any]) -> None:
        waiting: list[tuple[dict[str, Any], list[int], int]] = [(root, self.roots, len(self.roots))]
        self.roots.append(0)
        while waiting:
            node, home, at = waiting.pop()
            if "leaf_value" in node:
                home[at] = ~len(self.value)
                self.value.append(short(node["leaf_value"]))
                self.cover.append(max(int(node.get("leaf_count", 1)), 1))
                continue
            home[at] = len(self.feature)
            self._add_test(node)
            waiting.append((node["right_child"], self.right, home[at]))
            waiting.append((node["left_child"], self.left, home[at]))

    def _add_test(self, node: dict[str, Any]) -> None:
        # A split on missing values alone has an infinite threshold. The largest finite number replaces it.
        threshold = short(min(max(node["threshold"], -MAX_MAGNITUDE), MAX_MAGNITUDE))
        # If training had no missing values, LightGBM treats NaN as zero; otherwise it has learned a side.
        as_zero = node["missing_type"] != "NaN"
        self.feature.append(node["split_feature"])
        self.threshold.append(threshold)
        self.left.append(0)
        self.right.append(0)
        self.missing_left.append(threshold >= 0 if as_zero else bool(node["default_left"]))
