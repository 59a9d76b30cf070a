from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.plan.collective.wrap import (
    RankWrites,
    descendants,
    judge,
    may_be_output,
    parse_io,
    parse_rank,
    writes_a_file,
)
from penstock.units import MIB

HINTS = {"cb_nodes": "2", "cb_buffer_size": str(MIB), "romio_cb_write": "enable"}


@pytest.mark.parametrize(
    ("ranks", "hints", "verified", "said"),
    [
        ([(8, 8), (8, 8), (0, 0)], HINTS, True, "2 of 3 local ranks"),
        ([(8, 8), (8, 8), (8, 8)], HINTS, False, "does not write collectively"),
        ([(2, 8), (2, 8), (0, 0)], HINTS, False, "more than cb_buffer_size"),
        ([(16, 16), (0, 0), (0, 0)], HINTS, False, "check cb_config_list"),
        ([(0, 0), (0, 0)], HINTS, None, "too little"),
        ([], HINTS, None, "no MPI rank"),
        ([(8, 8)], {"romio_ds_write": "disable"}, None, "leave no mark"),
    ],
)
def test_verdict_follows_what_ranks_wrote(
    ranks: list[tuple[int, int]], hints: dict[str, str], verified: bool | None, said: str
) -> None:
    seen = [RankWrites(number, calls, mib * MIB) for number, (calls, mib) in enumerate(ranks)]
    found, verdict = judge(seen, hints)
    assert found is verified
    assert said in verdict


def test_rank_is_read_from_any_launchers_variable() -> None:
    assert parse_rank(b"A=1\0OMPI_COMM_WORLD_RANK=7\0") == 7
    assert parse_rank(b"PMI_RANK=x\0SLURM_PROCID=2\0") == 2
    assert parse_rank(b"HOME=/\0broken\0") is None


@pytest.mark.parametrize(
    ("target", "counts"),
    [
        ("/scratch/out", True),
        ("/dev/shm/out", True),
        ("/dev/shm/ucx_shm_posix_1 (deleted)", False),
        ("/dev/shm/mpich_shm_1_0", False),
        ("/dev/null", False),
        ("pipe:[7]", False),
    ],
)
def test_outputs_are_files_that_a_job_may_have_opened(target: str, counts: bool) -> None:
    assert may_be_output(target) is counts


def test_account_is_read_from_the_kernels_text() -> None:
    assert parse_io("rchar: 1\nwchar: 300\nsyscr: 2\nsyscw: 4\n") == (4, 300)


def test_processes_below_one_are_found_and_their_files_seen(tmp_path: Path) -> None:
    code = "import sys; f = open(sys.argv[1], 'w'); print('up', flush=True); sys.stdin.read()"
    child = subprocess.Popen(
        ["sh", "-c", f'{sys.executable} -c "{code}" {tmp_path / "out"}; true'],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    assert child.stdin is not None
    try:
        assert child.stdout.readline() == b"up\n"
        below = descendants(os.getpid(), Path("/proc"))
        assert child.pid in below
        assert any(writes_a_file(Path("/proc", str(pid))) for pid in below if pid != child.pid)
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()
