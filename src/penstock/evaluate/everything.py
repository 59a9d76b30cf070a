"""All experiments in one run: all of them on the validated cluster, some also on the papers' own cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from penstock.errors import UsageError, did_you_mean
from penstock.evaluate.experiments import EXPERIMENTS
from penstock.evaluate.lab import Lab
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
# Further names that `--only` accepts.
MORE = ("baselines", "beside")


def evaluate(lab: Lab, request: Request, scale: float = 1.0) -> Iterator[dict[str, Any]]:
    """Yield one document after the other.

    `scale` shortens every run. The first policy is evaluated, with CARAT beside it.

    `request.only` names experiments; if it is empty, all are run.
    """
    names = (*EXPERIMENTS, *MORE)
    for unknown in (name for name in request.only if name not in names):
        raise UsageError(f"--only {unknown}: no such experiment{did_you_mean(unknown, names)}")
    chosen = set(request.only or names)
    rivals = tuple(dict.fromkeys((*request.policies, *BASELINES)))
    request = replace(request, only=(), policies=tuple(dict.fromkeys((*request.policies, RIVAL))))
    for name, experiment in EXPERIMENTS.items():
        if name in chosen:
            yield run(lab, name, replace(request, seconds=max(1.0, experiment.seconds * scale)))
    short = replace(request, seconds=max(1.0, SHORT_S * scale))
    if "baselines" in chosen:
        yield run(lab, "static", replace(short, policies=rivals, only=BASELINE_ROWS), "baselines")
    if "beside" in chosen and request.cluster.name != BESIDE:
        there = replace(short, cluster=builtin_cluster(BESIDE), cluster_words=())
        singles = tuple(name for name in NAMES if name.startswith("s_"))
        yield run(lab, "static", replace(there, only=singles))
        yield run(lab, "interference", there)


def run(lab: Lab, name: str, request: Request, role: str | None = None) -> dict[str, Any]:
    """One experiment by name; `role` says what its document is for, where that is not its name."""
    return {**EXPERIMENTS[name].run(lab, request), "role": role or name}
