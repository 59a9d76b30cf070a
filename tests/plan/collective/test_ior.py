"""Hints reach a program that knows nothing of Penstock: IOR where PENSTOCK_IOR names it, else a stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.plan.collective.launch import find_launcher

pytestmark = pytest.mark.live

STAND_IN = Path(__file__).parents[3] / "benchmarks" / "collective_job.py"


def writer() -> list[str]:
    """The command of the job, without its sizes."""
    ior = os.environ.get("PENSTOCK_IOR")
    return [ior, "-a", "MPIIO", "-c", "-w"] if ior else [sys.executable, str(STAND_IN)]


def test_hints_decide_who_writes_in_an_unmodified_program(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py", reason="needs MPI: pip install 'penstock[mpi]'")
    # Four ranks, 32 segments of 64 KiB each: 8 MiB in all, long enough for the kernel's account to be seen.
    sizes = ["-b", "64k", "-t", "64k", "-s", "32", "-i", "2", "-o", str(tmp_path / "out")]
    job = [find_launcher().command[0], "-n", "4", *writer(), *sizes]
    command = [sys.executable, "-m", "penstock", "run", "--cb-nodes", "2", "--json", "--", *job]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["verified"] is True, said["verdict"]
    wrote = [rank["written_bytes"] for rank in said["ranks"]]
    assert sum(size > max(wrote) / 10 for size in wrote) == 2
