"""The regression techniques, each a scikit-learn pipeline with one set of parameters.

Five that the paper compares, four kernel machines it reports to fail, and our own stack. Nothing of
scikit-learn is imported before a pipeline is built.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import ModelFileError, UsageError, did_you_mean, require_extra
from penstock.plan.write.stacked import MEMBERS, Stack

Floats = npt.NDArray[np.float64]
Parameters = Mapping[str, float | int]

COMPARED = ("linear", "lasso", "ridge", "tree", "forest")
KERNELS = ("svr-rbf", "svr-poly", "gp-rbf", "gp-poly")
STACK = "stack"
TECHNIQUES = (*COMPARED, STACK, *KERNELS)
LINEAR = ("linear", "lasso", "ridge")

DEFAULTS: Mapping[str, Parameters] = {
    "linear": {},
    "lasso": {"alpha": 0.01},
    "ridge": {"alpha": 1.0},
    "tree": {"max_depth": 16, "min_samples_leaf": 3},
    "forest": {"n_estimators": 60, "max_depth": 16, "min_samples_leaf": 2, "max_features": 0.4},
    STACK: {},
    "svr-rbf": {"C": 10.0, "epsilon": 0.01},
    "svr-poly": {"C": 1.0, "epsilon": 0.01, "degree": 2},
    "gp-rbf": {"length_scale": 5.0, "noise": 0.05},
    "gp-poly": {"degree": 2, "noise": 0.05},
}
# What `plan fit` tries for each technique, by relative error on held-out patterns.
GRIDS: Mapping[str, tuple[Parameters, ...]] = {
    "lasso": tuple({"alpha": alpha} for alpha in (0.001, 0.01, 0.1)),
    "ridge": tuple({"alpha": alpha} for alpha in (0.01, 1.0, 100.0)),
    "tree": tuple({"max_depth": depth, "min_samples_leaf": 3} for depth in (6, 16)),
    "forest": (
        DEFAULTS["forest"],
        {"n_estimators": 60, "max_depth": 16, "min_samples_leaf": 1, "max_features": 0.8},
    ),
}
_LARGEST = {"n_estimators": 2000, "max_depth": 200, "degree": 6}


def check_technique(technique: str) -> None:
    """Refuse an unknown technique."""
    if technique not in TECHNIQUES:
        known = ", ".join(TECHNIQUES)
        raise UsageError(f"no technique {technique!r}: {known}{did_you_mean(technique, TECHNIQUES)}")


def check_parameters(technique: str, parameters: Mapping[str, object], source: str) -> Parameters:
    """Exactly the parameters of the technique, each a positive finite number; a stack's are its weights."""
    if technique == STACK:
        return _check_weights(parameters, source)
    for name in parameters:
        if name not in DEFAULTS[technique]:
            near = did_you_mean(name, DEFAULTS[technique])
            raise ModelFileError(f"{source}: {technique} has no parameter {name!r}{near}")
    checked: dict[str, float | int] = {}
    for name, default in DEFAULTS[technique].items():
        value = parameters.get(name, default)
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
            or value <= 0
        ):
            raise ModelFileError(f"{source}: parameter {name} {value!r} is not a positive number")
        if value > _LARGEST.get(name, math.inf) or (isinstance(default, int) and not isinstance(value, int)):
            raise ModelFileError(f"{source}: parameter {name} {value!r} is not a whole number in its range")
        checked[name] = value
    return checked


def _check_weights(parameters: Mapping[str, object], source: str) -> Parameters:
    known = [f"{where}:{member}" for where in ("inside", "beyond") for member in MEMBERS]
    checked: dict[str, float | int] = {}
    for name, value in parameters.items():
        if name not in known:
            raise ModelFileError(f"{source}: a stack has no member {name!r}{did_you_mean(name, known)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
            raise ModelFileError(f"{source}: weight {name} {value!r} is not above 0 and at most 1")
        checked[name] = value
    if {name.split(":")[0] for name in checked} != {"inside", "beyond"}:
        raise ModelFileError(f"{source}: a stack needs weights inside: and beyond: its scales")
    return checked


def build(technique: str, parameters: Parameters) -> Any:
    """An unfitted pipeline. Equal data give equal models: every random choice has a fixed seed."""
    try:
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
    except ImportError as error:
        raise require_extra("plan", error) from None
    return make_pipeline(StandardScaler(), _estimator(technique, dict(parameters)))


def _estimator(technique: str, given: dict[str, Any]) -> Any:
    from sklearn import ensemble, gaussian_process, linear_model, svm, tree
    from sklearn.gaussian_process import kernels

    if technique.startswith("gp"):
        noise = given.pop("noise")
        kernel = kernels.RBF(**given) if technique == "gp-rbf" else kernels.DotProduct() ** given["degree"]
        return gaussian_process.GaussianProcessRegressor(
            kernel, alpha=noise, optimizer=None, normalize_y=True
        )
    if technique.startswith("svr"):
        return svm.SVR(kernel=technique.removeprefix("svr-"), **given)
    makers: Mapping[str, Callable[..., Any]] = {
        "linear": linear_model.LinearRegression,
        "lasso": partial(linear_model.Lasso, precompute=True, max_iter=50_000),
        "ridge": linear_model.Ridge,
        "tree": partial(tree.DecisionTreeRegressor, random_state=0),
        "forest": partial(ensemble.RandomForestRegressor, random_state=0),
    }
    return makers[technique](**given)


def _in_seconds(technique: str, parameters: Parameters, spread_s: float) -> Parameters:
    """Parameters that scale with the times are given for times of unit standard deviation, so that one set fits
    all.
    """
    scaled = {"lasso": ("alpha",), "svr-rbf": ("C", "epsilon"), "svr-poly": ("C", "epsilon")}.get(
        technique, ()
    )
    factor = spread_s if spread_s > 0 else 1.0
    return {name: value * factor if name in scaled else value for name, value in parameters.items()}


def fit(technique: str, parameters: Parameters, features: Floats, seconds: Floats) -> Any:
    """A fitted pipeline; call it inside `quiet`.

    A forest grows on one core: scikit-learn 1.9 exchanges the process's warning filters from each of its threads, and
    with two of them warns once a tree.
    """
    if technique == STACK:
        return Stack(parameters).fit(features, seconds)
    pipeline = build(technique, _in_seconds(technique, parameters, float(np.std(seconds))))
    return pipeline.fit(features, seconds)


@contextmanager
def quiet() -> Iterator[None]:
    """Settings for many small fits: one linear algebra thread each, and no warning if a lasso reaches its iteration
    limit.

    They apply to the whole process, so enter this context once around many fits.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from threadpoolctl import threadpool_limits
    except ImportError as error:
        raise require_extra("plan", error) from None
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
