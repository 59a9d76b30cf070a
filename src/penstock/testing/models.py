"""Made-up but sound models, and the law every predictor must obey."""

from __future__ import annotations

import numpy as np

from penstock.knobs import Setting
from penstock.ports import Predictor
from penstock.predict import modelfile
from penstock.predict.featuresets import FULL, FeatureSet
from penstock.predict.model import DirectionModel, Model
from penstock.predict.trees import Forest
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.units import MIB, PAGE_BYTES
from penstock.window import DIRECTIONS, Window


def random_forest(
    seed: int, feature_count: int, trees: int = 5, leaves: int = 8, candidates: int = 3
) -> Forest:
    """A sound forest with arbitrary splits; thresholds fall where log2 features of real windows lie.

    The last `candidates` features are the candidate's.
    """
    rng = np.random.default_rng(seed)
    roots: list[int] = []
    left: list[int] = []
    right: list[int] = []
    leaf_total = 0
    for _ in range(trees):
        root = len(left)
        roots.append(root if leaves > 1 else ~leaf_total)
        open_ends: list[tuple[list[int], int]] = []
        for _ in range(leaves - 1):
            node = len(left)
            left.append(0)
            right.append(0)
            if open_ends:
                side, at = open_ends.pop(int(rng.integers(len(open_ends))))
                side[at] = node
            open_ends += [(left, node), (right, node)]
        for side, at in open_ends:
            side[at] = ~leaf_total
            leaf_total += 1
        leaf_total += leaves == 1
    nodes = len(left)
    # Half of all tests ask about the candidate, as in fitted trees.
    of_candidate = rng.random(nodes) < 0.5
    past = feature_count - candidates
    candidate = rng.integers(past, feature_count, nodes)
    feature = np.where(of_candidate, candidate, rng.integers(0, past, nodes))
    return Forest(
        features=feature_count,
        roots=np.array(roots, dtype=np.int32),
        feature=feature.astype(np.int32),
        threshold=np.round(rng.uniform(0, 12, nodes), 3),
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        missing_left=rng.random(nodes) < 0.5,
        value=np.round(rng.normal(0, 0.3, leaf_total), 6),
        cover=rng.integers(1, 100, leaf_total).astype(np.float64),
        slope=1.1,
        intercept=-0.2,
    )


def random_model(seed: int = 0, history: int = 1, features: FeatureSet = FULL) -> Model:
    """A sound model of both directions over the whole knob space."""
    directions = {}
    for number, direction in enumerate(DIRECTIONS):
        names = features.names(direction, history)
        own = len(features.candidate_names)
        forest = random_forest(seed * 10 + number, len(names), candidates=own)
        low, high = np.full(len(names), 0.0), np.full(len(names), 40.0)
        metrics = {"error": 0.5}
        part = DirectionModel(direction, history, names, forest, low, high, metrics, features)
        directions[direction] = part
    knobs = {knob: LUSTRE[knob].values for knob in ("pages", "flight")}
    draft = Model(directions, LUSTRE.name, knobs, {"origin": "made up"}, "")
    return modelfile.parse(modelfile.dump(draft), "made up")


def busy_window(t_s: float, setting: Setting, scale: float = 1.0) -> Window:
    """A window with plausible traffic in both directions."""
    rpc_bytes = 0.9 * setting["pages"] * PAGE_BYTES
    metrics = {"dirty.bytes": 0.3 * setting["dirty"] * MIB, "dirty.grown_bytes": 0.0, "grant.bytes": 5e8}
    for direction in DIRECTIONS:
        metrics |= {
            f"{direction}.bytes": 1e8 * scale,
            f"{direction}.rpcs": 1e8 * scale / rpc_bytes,
            f"{direction}.usec": 0.7 * setting["flight"] * 0.5e6,
            f"app.{direction}_bytes": 1.1e8 * scale,
            f"app.{direction}_calls": 100.0,
        }
    return Window(Target("made-up", "lustre"), t_s, t_s + 0.5, setting, metrics)


def check_predictor(predictor: Predictor) -> None:
    """Raise AssertionError unless a predictor obeys the law: pure, total, and indifferent to the batch.

    It answers for every candidate with a probability, with any history length, with windows that know
    nothing, and says the same about a target whatever its neighbours in the batch.
    """
    candidates = LUSTRE.candidates()
    long = [busy_window(i / 2, LUSTRE.default, 1 + i / 10) for i in range(predictor.history + 3)]
    blank = [Window(long[0].target, 0.0, 0.5, LUSTRE.default, {})]
    histories = [long, long[-1:], blank, list(reversed(long))]
    for direction in DIRECTIONS:
        together = predictor.outlooks(direction, histories, candidates)
        assert len(together) == len(histories)
        for history, outlook in zip(histories, together, strict=True):
            assert len(outlook.probabilities) == len(candidates)
            assert all(0.0 <= p <= 1.0 for p in outlook.probabilities)
            assert outlook.direction == direction and outlook.model == predictor.digest
            alone = predictor.outlooks(direction, [history], candidates)[0]
            assert np.allclose(alone.probabilities, outlook.probabilities, rtol=0, atol=1e-9)
            few = predictor.outlooks(direction, [history], candidates[7:10])[0]
            assert np.allclose(few.probabilities, outlook.probabilities[7:10], rtol=0, atol=1e-9)
    assert list(predictor.outlooks("read", [], candidates)) == []
