"""Whole traces of decisions in simulated worlds, compared with the ones that were kept.

A trace is every decision of a run: when, which target, why, and the setting wanted. It changes only on purpose: who
changes what a policy, the guard or the simulator does looks at what moved and then writes the traces anew with

    .venv/bin/python tests/test_golden.py
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.agent.loop import Loop, ticks
from penstock.decision import Decision
from penstock.evaluate.drivers import INTERVAL_S
from penstock.evaluate.tuners import make_guard, make_tuner
from penstock.ports import Ports
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.probe import Probe
from penstock.simulate.simulation import Simulation
from penstock.units import GIB

KEPT = Path(__file__).parent / "golden" / "decisions.json"
# Policy, workload, changes of the cluster; under the guard where the policy is meant to be.
CASES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("weir", "s_rd_rn_1m", {}),
    ("weir", "f_rd_rn_1m", {"ost_count": "2"}),
    ("weir", "s_rd_rn_16m", {"round_trip_us": "2000"}),
    ("climb", "s_rd_rn_1m", {}),
    ("carat", "f_wr_sq_1m", {"ram_gb": "8"}),
    ("carat", "f_rd_rn_1m", {}),
    ("carat-authors", "s_wr_rn_8k", {}),
    ("dial", "s_rd_rn_1m", {}),
)
SECONDS, WARMUP_S, SEED = 60.0, 2.0, 7


def trace(policy: str, workload: str, changes: dict[str, str]) -> list[Decision]:
    """Every decision of one run."""
    plan = named_plan(builtin_cluster("c220g5").override(changes), workload, 1, SEED)
    simulation = Simulation(plan)
    simulation.run_until(WARMUP_S)
    probe = Probe(simulation)
    tuner = make_tuner(policy, SEED, int(plan.cluster.client.ram_gb * GIB))
    loop = ticks(Loop(Ports(probe, probe, probe), tuner, INTERVAL_S, make_guard(policy, SEED)))
    made: list[Decision] = []
    while simulation.now_s < WARMUP_S + SECONDS:
        made += [step.decision for step in next(loop) if step.decision is not None]
    return made


def summary(made: list[Decision]) -> dict[str, Any]:
    """What is kept of a trace: how long it is, its digest, and every move in words, to see what changed."""
    lines = [f"{d.t_s:.3f} {d.target.resource} {d.reason}: {d.wanted}" for d in made]
    moves = [line for line, decision in zip(lines, made, strict=True) if decision.changes]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"decisions": len(lines), "sha256": digest, "moves": moves}


def name_of(policy: str, workload: str, changes: dict[str, str]) -> str:
    return " ".join([policy, workload, *(f"{key}={value}" for key, value in changes.items())])


@pytest.mark.parametrize(("policy", "workload", "changes"), CASES, ids=lambda case: str(case)[:12])
def test_decisions_are_those_kept(policy: str, workload: str, changes: dict[str, str]) -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    found = summary(trace(policy, workload, changes))
    assert found["decisions"] > 20
    assert found["moves"], "a trace in which nothing moves shows nothing"
    assert found == kept[name_of(policy, workload, changes)]


if __name__ == "__main__":
    traces = {name_of(*case): summary(trace(*case)) for case in CASES}
    KEPT.write_text(json.dumps(traces, indent=1) + "\n", encoding="utf-8")
