"""The kernels run compiled and uncompiled, event by event the same."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

CASE = """
import json, sys
from penstock.knobs import Setting
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.workload import parse_workload
from dataclasses import astuple, replace

name, pages, flight, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
work = replace(parse_workload(name), file_bytes=64 << 20, cache_bytes=32 << 20)
made = Simulation(Plan(builtin_cluster("c220g5"), (Job(work),), 1, 3, traced=True))
made.set_all(Setting(pages=pages, flight=flight))
made.run_until(seconds / 2)
made.set_all(Setting(pages=16, flight=4))
made.run_until(seconds)
print(json.dumps([int(made.world.trace[0]), list(astuple(made.totals()))]))
"""
CASES = [
    ("s_rd_rn_1m", 8, 16, 0.06),
    ("s_rd_sq_8k", 64, 8, 0.06),
    ("s_wr_rn_8k", 1, 8, 0.06),
    ("f_wr_rn_1m", 256, 8, 0.06),
]


def outcome(case: tuple[str, int, int, float] | tuple[()], plain: bool, source_text: str = CASE) -> object:
    source = Path(penstock.__file__).parent.parent
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_DISABLE_JIT": "1" if plain else "0"}
    done = subprocess.run(
        [sys.executable, "-c", source_text, *map(str, case)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return json.loads(done.stdout)


SCRIPTED = """
import ast
import json
from dataclasses import astuple, replace
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation

name = "dlio-bert:files=4,samples=2000,every=500,model=2m,threads=2,osts=2"
made = Simulation(replace(named_plan(builtin_cluster("c220g5"), name, 2, 3), traced=True))
made.run_until(0.06)
print(json.dumps([int(made.world.trace[0]), list(astuple(made.totals()))]))
"""


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_trace_is_identical_compiled_and_uncompiled(case: tuple[str, int, int, float]) -> None:
    assert outcome(case, plain=False) == outcome(case, plain=True)


def test_scripted_trace_is_identical_compiled_and_uncompiled() -> None:
    assert outcome((), plain=False, source_text=SCRIPTED) == outcome((), plain=True, source_text=SCRIPTED)


def decorated(tree: ast.Module, decorator: str) -> set[str]:
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == decorator for mark in node.decorator_list)
    }


def test_python_calls_only_kernels_that_have_a_way_in() -> None:
    root = Path(penstock.__file__).parent
    trees = {path: ast.parse(path.read_text("utf-8")) for path in root.rglob("*.py")}
    rooms = {path: tree for path, tree in trees.items() if path.parent == root / "simulate"}
    inner = {path.stem: decorated(tree, "kernel") for path, tree in rooms.items()}
    assert "_send_write" in inner["rpcs"]
    for path, tree in trees.items():
        closed = set(inner[path.stem]) if path in rooms else set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("penstock.simulate."):
                closed |= {name.name for name in node.names} & inner.get(
                    str(node.module).split(".")[2], set()
                )
        compiled = decorated(tree, "kernel") | decorated(tree, "entry")
        plain = [
            node for node in tree.body if not (isinstance(node, ast.FunctionDef) and node.name in compiled)
        ]
        used = {name.id for node in plain for name in ast.walk(node) if isinstance(name, ast.Name)}
        assert not used & closed, path
