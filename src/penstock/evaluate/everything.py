"""All experiments in one go: the whole evidence on the validated cluster, a part of it on the papers' own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

from penstock.evaluate.lab import Lab
from penstock.evaluate.lengths import SECONDS
from penstock.evaluate.request import Request
from penstock.simulate.cluster import builtin_cluster
from penstock.workload import NAMES

BESIDE = "c6525-25g"
BASELINES = (
    "random",
    "greedy",
    "epsilon-greedy",
    "climb",
    "dial",
    "carat",
    "carat-authors",
    "bayes",
    "oracle",
)
BASELINE_ROWS = ("s_rd_sq_1m", "s_rd_rn_1m", "s_rd_rn_16m", "s_wr_sq_1m", "s_wr_rn_1m", "s_wr_rn_16m")
SHORT_S = 20.0
RIVAL = "carat"


def evaluate(lab: Lab, request: Request, scale: float = 1.0) -> Iterator[dict[str, Any]]:
    """One document after the other; `scale` shortens every run. The first policy is judged, CARAT beside it."""
    policies = tuple(dict.fromkeys((*request.policies, RIVAL)))
    for name, seconds in SECONDS.items():
        asked = replace(request, policies=policies, seconds=max(1.0, seconds * scale))
        yield run(lab, name, asked)
    rivals = tuple(dict.fromkeys((*request.policies, *BASELINES)))
    short_s = max(1.0, SHORT_S * scale)
    yield run(
        lab, "static", replace(request, policies=rivals, seconds=short_s, only=BASELINE_ROWS), "baselines"
    )
    if request.cluster.name != BESIDE:
        singles = tuple(name for name in NAMES if name.startswith("s_"))
        there = replace(
            request, cluster=builtin_cluster(BESIDE), cluster_words=(), policies=policies, seconds=short_s
        )
        yield run(lab, "static", replace(there, only=singles))
        yield run(lab, "interference", replace(there, only=("read", "write", "mixed")))


def run(lab: Lab, name: str, request: Request, role: str | None = None) -> dict[str, Any]:
    """One experiment by name; `role` says what its document is for, where that is not its name."""
    document: dict[str, Any] = import_module(f"penstock.evaluate.{name}").evaluate(lab, request)
    return {**document, "role": role or name}
