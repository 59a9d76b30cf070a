"""The features of a write path by name: 41 for GPFS, 30 for Lustre. The name of a feature is its definition.

A name is a product of parameters, a product of bracketed products, or one of these below `1/` or `m/`; `log()`
around it takes the logarithm. The paper counts three interference features that equal others; they keep a
name of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from penstock.plan.write.stacked import BASE

Floats = npt.NDArray[np.float64]
INTERFERENCE = ("interference:m", "interference:1/(m*n*K)", "interference:m/(m*n*K)")


def _both(*names: str) -> tuple[str, ...]:
    """Each name followed by its inverse."""
    return tuple(form for name in names for form in (name, f"1/({name})" if "*" in name else f"1/{name}"))


# Table II, stage by stage: metadata, subblocks, aggregate load, compute node, bridge, link, NSD server, NSD.
GPFS_STAGES = (
    *_both("m*n", "s_io*n", "n_io"),
    *("m*n*n_sub", "s_io*n*n_sub"),
    *_both("m*n*K"),
    *_both("n*K", "K", "m", "n"),
    *_both("s_b*n*K", "n_b"),
    *_both("s_l*n*K", "n_l"),
    *_both("n_s", "n_nsds"),
    *_both("n_d", "n_nsd"),
)
# The paper lists no cross-stage features: these are the products of neighbouring stages, among them the two
# its chosen model selected.
GPFS_CROSS = ("(n*K)*(s_b*n*K)", "(s_l*n*K)*(s_b*n*K)", "(s_l*n*K)*(s_io*n*K)", "(s_b*n*K)*n_nsds")
# Table III: metadata, aggregate load, compute node, router, OSS, OST.
LUSTRE_STAGES = (
    *_both("m*n", "n", "m"),
    *_both("m*n*K"),
    *_both("n*K", "K"),
    *_both("s_r*n*K", "n_r"),
    *_both("s_oss", "n_oss"),
    *_both("s_ost", "n_ost"),
)
LUSTRE_CROSS = ("(n*K)*(s_r*n*K)", "(s_r*n*K)*n_oss", "s_oss*s_ost")

FEATURES: Mapping[str, tuple[str, ...]] = {
    "gpfs": (*GPFS_STAGES, *GPFS_CROSS, *INTERFERENCE),
    "lustre": (*LUSTRE_STAGES, *LUSTRE_CROSS, *INTERFERENCE),
}
# The chosen GPFS model selects a load that Table II omits: models may use it all the same.
UNLISTED: Mapping[str, tuple[str, ...]] = {"gpfs": ("s_io*n*K",), "lustre": ()}


# What a stack is fitted on beside its own first columns: the resources in use and the skews.
STACKED: Mapping[str, tuple[str, ...]] = {
    "gpfs": tuple(f"log({name})" for name in ("n_b", "n_l", "n_io", "s_b", "s_l", "s_io", "n_nsd", "n_nsds")),
    "lustre": tuple(f"log({name})" for name in ("n_r", "s_r", "n_ost", "n_oss", "s_ost", "s_oss", "W")),
}


def trainable(kind: str, technique: str = "lasso") -> tuple[str, ...]:
    """What a model of this kind of file system is fitted on: logarithms for a stack, else the paper's features."""
    if technique == "stack":
        return BASE + STACKED[kind]
    return FEATURES[kind] + UNLISTED[kind]


def evaluate(name: str, parameters: Mapping[str, Floats]) -> Floats:
    """The value of one feature for parameters given as arrays of equal length.

    >>> evaluate("(n*K)*(s_r*n*K)", {"n": np.array([2.0]), "K": np.array([3.0]), "s_r": np.array([5.0])})
    array([180.])
    >>> evaluate("interference:m/(m*n*K)", {"m": np.array([4.0]), "n": np.array([2.0]), "K": np.array([5.0])})
    array([0.1])
    >>> evaluate("log(m*n)", {"m": np.array([1.0]), "n": np.array([1.0])})
    array([0.])
    """
    if name.startswith("log("):
        return np.asarray(np.log(evaluate(name[4:-1], parameters)))
    above, _, below = name.removeprefix("interference:").rpartition("/")
    value = _product(below, parameters)
    if not above:
        return value
    return (np.ones_like(value) if above == "1" else _product(above, parameters)) / value


def _product(text: str, parameters: Mapping[str, Floats]) -> Floats:
    factors = text.replace("(", "").replace(")", "").split("*")
    value = np.array(parameters[factors[0]], dtype=np.float64)
    for factor in factors[1:]:
        value = value * parameters[factor]
    return value


def matrix(names: Sequence[str], parameters: Mapping[str, Floats]) -> Floats:
    """One row per pattern, one column per feature."""
    return np.column_stack([evaluate(name, parameters) for name in names])
