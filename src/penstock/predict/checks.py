"""The checks that every model file must pass before it is used."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import ModelFileError
from penstock.predict.trees.forest import Floats

MAX_TREES = 4096
MAX_NODES = 400_000
MAX_DEPTH = 96
MAX_MAGNITUDE = 1e12
_INT32 = 2**31


@dataclass(frozen=True, slots=True)
class ForestText:
    """The columns of a forest as found in a file: typed, not yet trusted."""

    roots: list[int]
    feature: list[int]
    left: list[int]
    right: list[int]
    missing_left: list[int]
    cover: list[int]
    threshold: Floats
    value: Floats


def fail_unless(truth: bool, message: str) -> None:
    """Raise `ModelFileError` with the message unless it holds."""
    if not truth:
        raise ModelFileError(message)


def mapping(value: object, where: str) -> Mapping[str, Any]:
    """The value, if it is a JSON object."""
    if not isinstance(value, dict):
        raise ModelFileError(f"{where} is missing or not an object")
    return value


def text(document: Mapping[str, Any], key: str) -> str:
    """The value of a key, if it is a string of sane length."""
    value = document.get(key)
    if not isinstance(value, str) or len(value) > 1000:
        raise ModelFileError(f"key {key!r} is missing or not a short string")
    return value


def whole(value: object, where: str) -> list[int]:
    """The value, if it is a list of whole numbers that fit 32 bits."""
    if not isinstance(value, list) or not all(type(item) is int for item in value):
        raise ModelFileError(f"{where} is missing or not a list of whole numbers")
    if value and not -_INT32 <= min(value) <= max(value) < _INT32:
        raise ModelFileError(f"{where} holds a number beyond 32 bits")
    return value


def numbers(value: object, where: str) -> Floats:
    """The value, if it is a list of finite numbers of sane magnitude."""
    if not isinstance(value, list) or not all(type(item) in (int, float) for item in value):
        raise ModelFileError(f"{where} is missing or not a list of numbers")
    if not all(math.isfinite(item) and abs(item) <= MAX_MAGNITUDE for item in value):
        raise ModelFileError(f"{where} holds NaN, infinity or a number beyond {MAX_MAGNITUDE:g}")
    return np.array(value, dtype=np.float64)


def check_forest(found: ForestText, features: int, where: str) -> None:
    """Raise unless the columns describe trees: every node and leaf has one parent, and depth is bounded."""
    nodes, leaves, trees = len(found.feature), len(found.value), len(found.roots)
    fail_unless(0 < trees <= MAX_TREES, f"{where}: {trees} trees, allowed are 1..{MAX_TREES}")
    fail_unless(nodes <= MAX_NODES, f"{where}: {nodes} nodes, allowed are {MAX_NODES}")
    for key in ("threshold", "left", "right", "missing_left"):
        fail_unless(len(getattr(found, key)) == nodes, f"{where}.{key} does not have {nodes} entries")
    fail_unless(len(found.cover) == leaves, f"{where}.cover does not have {leaves} entries")
    fail_unless(all(0 <= feature < features for feature in found.feature), f"{where}.feature is out of range")
    fail_unless(set(found.missing_left) <= {0, 1}, f"{where}.missing_left is not 0 or 1")
    fail_unless(all(count > 0 for count in found.cover), f"{where}.cover is not positive")
    _check_children(found, nodes, leaves, where)


def _check_children(found: ForestText, nodes: int, leaves: int, where: str) -> None:
    children = np.array([*found.roots, *found.left, *found.right], dtype=np.int64)
    fail_unless(bool(((children < nodes) & (~children < leaves)).all()), f"{where}: a child is out of range")
    parents_of_nodes = np.bincount(children[children >= 0], minlength=nodes)
    parents_of_leaves = np.bincount(~children[children < 0], minlength=leaves)
    one_parent = bool((parents_of_nodes == 1).all() and (parents_of_leaves == 1).all())
    fail_unless(one_parent, f"{where}: a node or leaf does not have exactly one parent")
    depth = [0] * nodes
    for node, pair in enumerate(zip(found.left, found.right, strict=True)):
        for child in pair:
            if child >= 0:
                fail_unless(child > node, f"{where}: node {node} leads back to {child}")
                depth[child] = depth[node] + 1
    fail_unless(max(depth, default=0) < MAX_DEPTH, f"{where}: deeper than {MAX_DEPTH}")
