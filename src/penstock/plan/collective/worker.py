"""The program that runs under MPI: reads tasks as JSON, executes them on all ranks, and rank 0 writes the answers.

It is started as `mpiexec -n N python -m penstock.plan.collective.worker TASKS ANSWERS [LEVEL]`. One launch handles
many tasks, because starting ranks costs more than most tasks. It imports only the measuring parts of Penstock.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import mpi4py

# The job's thread level instead of mpi4py's default: `multiple` takes nearly twice as long with ranks on shared
# cores.
mpi4py.rc.thread_level = sys.argv[3] if len(sys.argv) > 3 else "single"

from mpi4py import MPI  # noqa: E402 - the level must be chosen before MPI starts

RUNS_A_CASE = 2
IO_FIELDS = ("syscw", "wchar", "syscr")


def main(arguments: Sequence[str]) -> None:
    """Do every task of the first file and leave their answers in the second.

    Beside the answers rank 0 leaves its progress. A rank that fails leaves its error there and ends all others, which
    would wait for it forever.
    """
    comm, answered = MPI.COMM_WORLD, Path(arguments[1])
    try:
        tasks = comm.bcast(json.loads(Path(arguments[0]).read_text()) if comm.rank == 0 else None)
        told = answered.with_suffix(".progress")
        answers = [TASKS[task["task"]](comm, {**task, "progress": told}) for task in tasks]
        if comm.rank == 0:
            answered.write_text(json.dumps(answers))
    except Exception as error:  # noqa: BLE001 - whatever it is, the other ranks must not wait
        with contextlib.suppress(OSError):
            answered.with_suffix(".error").write_text(" ".join(f"{type(error).__name__}: {error}".split()))
        comm.Abort(1)


def write_cases(comm: MPI.Intracomm, task: dict[str, Any]) -> list[dict[str, Any]]:
    """Collective writes as a job does them: per rank its storage calls, and the slowest rank's seconds.

    The time is that from opening the file to its closing, because hints also change what these two cost. Every case
    runs twice and the second time counts. After a case with another buffer the C library has to ask the kernel for
    memory again, which a job pays only once.
    """
    return [[_write_case(comm, task["dir"], case) for _ in range(RUNS_A_CASE)][-1] for case in task["cases"]]


def _write_case(comm: MPI.Intracomm, directory: str, case: dict[str, Any]) -> dict[str, Any]:
    path = f"{directory}/penstock-case-{os.getppid()}"
    path = comm.bcast(path)
    data = _data(case["bytes_per_rank"])
    comm.Barrier()
    start = MPI.Wtime()
    file = _open(comm, path, case["hints"])
    if "file_bytes" in case:
        file.Set_size(case["file_bytes"])
    _set_view(comm, file, case)
    before = _storage_calls()
    file.Write_all(data)
    calls = [now - then - base for now, then, base in zip(_storage_calls(), before, (0, 0, 1), strict=True)]
    file.Close()
    seconds = MPI.Wtime() - start
    slowest = comm.allreduce(seconds, MPI.MAX)
    per_rank = comm.gather(calls)
    if comm.rank == 0:
        Path(path).unlink()
        return {"seconds": slowest, "per_rank": per_rank}
    return {}


_kept = bytearray()


def _data(size: int) -> memoryview:
    """What a rank writes: memory it has filled, as a job has, kept from case to case."""
    if len(_kept) < size:
        _kept.extend(os.urandom(size - len(_kept)))
    return memoryview(_kept)[:size]


def _open(comm: MPI.Intracomm, path: str, hints: dict[str, str]) -> MPI.File:
    info = MPI.Info.Create()
    for name, value in hints.items():
        info.Set(name, value)
    file = MPI.File.Open(comm, path, MPI.MODE_CREATE | MPI.MODE_RDWR, info)
    info.Free()
    return file


def _set_view(comm: MPI.Intracomm, file: MPI.File, case: dict[str, Any]) -> None:
    """A tile of one block in a row of slots, or plain bytes for a contiguous access."""
    block, slot = case["block_bytes"], case["block_bytes"] + case["gap_bytes"]
    if block >= case["bytes_per_rank"]:
        file.Set_view(comm.rank * slot, MPI.BYTE, MPI.BYTE)
        return
    tile = MPI.BYTE.Create_contiguous(block)
    row = tile.Create_resized(0, comm.size * slot).Commit()
    file.Set_view(comm.rank * slot, MPI.BYTE, row)
    row.Free()
    tile.Free()


def _storage_calls() -> list[int]:
    """Calls of write, bytes written and calls of read by this process so far, by the kernel's own account."""
    handle = os.open("/proc/self/io", os.O_RDONLY)
    try:
        lines = os.read(handle, 4096).decode().splitlines()
    finally:
        os.close(handle)
    fields = dict(line.split(": ") for line in lines)
    return [int(fields[name]) for name in IO_FIELDS]


def measure_elements(comm: MPI.Intracomm, task: dict[str, Any]) -> list[dict[str, list[float]]]:
    """Measure every point. Points are measured in turn, so that a disturbance affects many points a little.

    After `limit_s` no further pass is begun, once there are `fewest` of them. The first pass warms up; it counts only
    if there are no more than these.
    """
    found: list[dict[str, list[float]]] = [{} for _ in task["points"]]
    start = MPI.Wtime()
    for done in range(1 + task["repetitions"]):
        if comm.bcast(done >= task["fewest"] and MPI.Wtime() - start > task["limit_s"]):
            break
        for number, (seconds, point) in enumerate(zip(found, task["points"], strict=True)):
            _tell(comm, task, done, number)
            for operation, busy in _measured(comm, task["dir"], point).items():
                taken = seconds.setdefault(operation, [])
                if done == task["fewest"]:
                    del taken[0]
                taken.append(busy)
    return found


def _measured(comm: MPI.Intracomm, directory: str, point: dict[str, Any]) -> dict[str, float]:
    """One repetition of one point: the slowest rank's seconds by operation."""
    from penstock.plan.collective.elements import ELEMENTS

    comm.Barrier()
    own = ELEMENTS[point["operation"]](comm, directory, point)
    slowest = array("d", own.values())
    comm.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
    return dict(zip(own, slowest, strict=True))


def _tell(comm: MPI.Intracomm, task: dict[str, Any], done: int, number: int) -> None:
    """Rank 0 leaves how far it is, every tenth point."""
    if comm.rank == 0 and number % 10 == 0:
        words = f"repetition {done} of {task['repetitions']}" if done else "warming up"
        task["progress"].write_text(f"{words}, {number * 100 // len(task['points'])}%")


TASKS: dict[str, Callable[[MPI.Intracomm, dict[str, Any]], Any]] = {
    "write_cases": write_cases,
    "measure_elements": measure_elements,
}


if __name__ == "__main__":
    main(sys.argv[1:])
