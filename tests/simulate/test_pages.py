"""Which extent a page belongs to: blocks of pages are labelled as a whole, and nobody can tell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import penstock

# Kernels cannot be called from Python when they are compiled, so this runs in a process where they are not.
RUNS = """
from dataclasses import replace
from random import Random
from penstock.simulate.assembly import Job, Plan, assemble
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.kernel.pages import clean_run, extent_at, label
from penstock.simulate.kernel.records import NONE, PAGE
from penstock.simulate.kernel.states import MIXED
from penstock.workload import parse_workload

# Neither file ends with a block.
pages = 1000
work = replace(parse_workload("f_wr_sq_1m"), streams=2, file_bytes=pages * PAGE)
world = assemble(Plan(builtin_cluster("c220g5"), (Job(work),), 1, 1))
plain = [[NONE] * pages for _ in range(2)]
rng, mixed, whole = Random(5), 0, 0
for _ in range(1500):
    f, first = rng.randrange(2), rng.randrange(pages)
    if rng.random() < 0.3:
        first -= first % 64
    run = min(rng.choice((1, 2, 16, 63, 64, 65, 128, 300)), pages - first)
    e = rng.choice((NONE, NONE, rng.randrange(50)))
    label(world, f, first, run, e)
    plain[f][first : first + run] = [e] * run
    page = rng.randrange(pages)
    behind = next((i for i in range(page, pages) if plain[f][i] != NONE), pages)
    assert clean_run(world, f, page, pages) == behind - page
    assert extent_at(world, f, page) == plain[f][page]
    mixed += int((world.block.extent == MIXED).sum())
    whole += int((world.block.extent > NONE).sum())
for f in range(2):
    assert [int(extent_at(world, f, page)) for page in range(pages)] == plain[f]
print(mixed, whole)
"""


def test_labels_of_blocks_are_those_of_their_pages() -> None:
    source = str(Path(penstock.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": source, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUNS], capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    mixed, whole = map(int, done.stdout.split())
    assert mixed > 1000
    assert whole > 1000
