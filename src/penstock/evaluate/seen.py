"""Whether a policy's knowledge comes from the workload it is evaluated on. That differs between policies."""

from __future__ import annotations

from functools import cache
from typing import Any

from penstock.evaluate.request import OWN
from penstock.evaluate.tuners import find_policy
from penstock.predict import shipped
from penstock.report.heatmap import trace_name
from penstock.workload import SINGLE_STREAM


def seen(runs: tuple[str, str, str], cluster: str, case: str) -> str:
    """`yes`: this workload, on this cluster or on the machines it describes; `elsewhere`: on others; `no`."""
    policy, model, _ = runs
    if not find_policy(policy).uses_model:
        return "no"
    kind = find_policy(policy).model_kind
    if model == OWN:
        return "yes" if case in SINGLE_STREAM else "no"
    if kind == "survey":
        return _surveyed(case)
    trained = _trained(kind)
    if case not in trained and trace_name(case) not in trained:
        return "no"
    return "yes" if cluster == "c220g5" else "elsewhere"


@cache
def _trained(kind: str) -> frozenset[str]:
    model = shipped.printed_model() if kind == "printed" else shipped.default_model()
    runs: Any = model.provenance["runs"]
    return frozenset(str(run).partition("/")[0] for run in runs)


def _surveyed(case: str) -> str:
    """A survey has recordings of real clients by name, and similar work in random worlds, which is not the same
    work.
    """
    recorded = {each.origin.rpartition("/")[2] for each in shipped.default_survey().cases}
    return "yes" if trace_name(case) in recorded else "like it"
