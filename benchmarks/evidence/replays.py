"""Rows of replay: policies in a closed loop over recorded intervals of real clients, if the recordings exist."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

from benchmarks.evidence.asks import Ask, Found, policy_of

from penstock.evaluate.replay import replay
from penstock.evaluate.request import Terms
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.train.intervals import RecordedWorkload, read_workloads

EXPERIMENT = "replay"
TRACES = "lustre-traces"
STEPS = 120
#: Labels that are not policies: the recorded default, and the recorded best setting.
RECORDED = ("default", "best-static")


def replayed(ask: Ask, traces: Path, model: str | None) -> Found:
    """One policy on one recorded workload: the mean value of its steps, and its last setting."""
    workload = _workloads(traces)[ask.case]
    if ask.label in RECORDED:
        setting = max(workload.mbps, key=lambda each: workload.mbps[each])
        if ask.label == "default":
            setting = next(each for each in workload.mbps if (each["pages"], each["flight"]) == (1024, 8))
        rate = workload.mbps[setting]
        return Found(rate, 0.0, 0.0, 0.0, setting=(setting["pages"], setting["flight"]))
    seconds = ask.seconds * INTERVAL_S  # of such a row, `seconds` counts steps
    terms = Terms((policy_of(ask.label),), seconds, guard=ask.guard == "on", model=model)
    steps = replay(workload, ask.seed, terms)
    late = Counter(step.setting for step in steps[len(steps) // 2 :])
    (setting, _), *_ = late.most_common(1)
    rate = sum(step.mbps for step in steps) / len(steps)
    return Found(rate, 0.0, 0.0, 0.0, setting=(setting["pages"], setting["flight"]))


@cache
def _workloads(traces: Path) -> dict[str, RecordedWorkload]:
    return {each.name: each for each in read_workloads(traces)}
