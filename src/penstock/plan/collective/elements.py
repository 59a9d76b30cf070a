"""The elemental operations of a collective write, each done for real and timed on every rank.

Each function takes the communicator, the target directory and the point, and returns, by operation, the
seconds that this rank was busy; the caller takes the slowest rank. They run right after a barrier, inside
`worker` only.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from penstock.units import PAGE_BYTES

COLLECTIVE_CALLS = 5
SHUFFLES = 3
FULL_ROUNDS = 3
TAG = 7
STORAGE_PARTS = ("write_first", "write_full", "write_partial", "read")

Point = dict[str, Any]
Seconds = dict[str, float]
Element = Callable[[MPI.Intracomm, str, Point], Seconds]


def _repeated(name: str, call: Callable[[], object]) -> Seconds:
    start = MPI.Wtime()
    for _ in range(COLLECTIVE_CALLS):
        call()
    return {name: (MPI.Wtime() - start) / COLLECTIVE_CALLS}


def allreduce(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """One MPI_Allreduce of that many bytes."""
    sent, received = np.zeros((2, point["bytes"]), np.uint8)
    return _repeated("allreduce", lambda: comm.Allreduce(sent, received, MPI.MAX))


def bcast(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """One MPI_Bcast of that many bytes."""
    data = np.zeros(point["bytes"], np.uint8)
    return _repeated("bcast", lambda: comm.Bcast(data))


def allgather(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """One MPI_Allgather of that many bytes from each rank."""
    sent, received = np.zeros(point["bytes"], np.uint8), np.zeros(point["bytes"] * comm.size, np.uint8)
    return _repeated("allgather", lambda: comm.Allgather(sent, received))


def alltoall(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """One MPI_Alltoall of that many bytes between each pair of ranks."""
    sent, received = np.zeros((2, point["bytes"] * comm.size), np.uint8)
    return _repeated("alltoall", lambda: comm.Alltoall(sent, received))


def alltoallv(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """One MPI_Alltoallv in which every rank sends that many bytes to each aggregator."""
    size, aggregators = point["bytes"], point["aggregators"]
    sends = [size if rank < aggregators else 0 for rank in range(comm.size)]
    receives = [size if comm.rank < aggregators else 0] * comm.size
    sent, received = np.zeros(max(1, sum(sends)), np.uint8), np.zeros(max(1, sum(receives)), np.uint8)
    return _repeated(
        "alltoallv", lambda: comm.Alltoallv([sent, sends, MPI.BYTE], [received, receives, MPI.BYTE])
    )


def shuffle(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """One round's data to its aggregators: nonblocking sends, received in pieces that interleave by rank."""
    size, piece = point["bytes"], min(point["piece_bytes"], point["bytes"])
    pieces = max(1, size // piece)
    sent = np.zeros(size, np.uint8)
    receives = comm.rank < point["aggregators"]
    buffer = np.zeros(size * comm.size + piece, np.uint8) if receives else sent
    start = MPI.Wtime()
    for _ in range(SHUFFLES):
        types = [_pieces(comm, rank, pieces, piece) for rank in range(comm.size)] if receives else []
        requests = [comm.Irecv([buffer, 1, kind], rank, TAG) for rank, kind in enumerate(types)]
        requests += [
            comm.Isend([sent, pieces * piece, MPI.BYTE], to, TAG) for to in range(point["aggregators"])
        ]
        MPI.Request.Waitall(requests)
        for kind in types:
            kind.Free()
    return {"shuffle": (MPI.Wtime() - start) / SHUFFLES}


def _pieces(comm: MPI.Intracomm, rank: int, pieces: int, piece: int) -> MPI.Datatype:
    offsets = (np.arange(pieces, dtype=np.int64) * comm.size + rank) * piece
    kind = MPI.BYTE.Create_hindexed(np.full(pieces, piece).tolist(), offsets.tolist())
    return kind.Commit()


def touch(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """The first touch of a fresh buffer of that many bytes on each aggregator."""
    if comm.rank >= point["aggregators"]:
        return {"touch": 0.0}
    with mmap.mmap(-1, point["bytes"]) as fresh:
        start = MPI.Wtime()
        pages = np.frombuffer(fresh, np.uint8)[::PAGE_BYTES]
        pages[:] = 1
        seconds = MPI.Wtime() - start
        del pages
    return {"touch": seconds}


def storage(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """Concurrent writes as aggregators do them: own domains of one new file, round by round.

    The first buffer grows a new file and takes its locks; later full ones are averaged; the last is short;
    then one buffer is read back, as a round with holes does before it writes.
    """
    path = comm.bcast(f"{directory}/penstock-profile-{os.getpid()}")
    full, short = point["bytes"], point["short_bytes"]
    lengths = [full] * (1 + FULL_ROUNDS) + [short]
    if comm.rank >= point["aggregators"]:
        for _ in range(len(lengths) + 1):
            comm.Barrier()
        return dict.fromkeys(STORAGE_PARTS, 0.0)
    data = memoryview(bytearray(b"\1" * full))
    start = comm.rank * sum(lengths)
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        taken = [
            _after_barrier(comm, os.pwrite, handle, data[:length], start + number * full)
            for number, length in enumerate(lengths)
        ]
        taken.append(_after_barrier(comm, os.pread, handle, full, start))
    finally:
        os.close(handle)
        if comm.rank == 0:
            os.unlink(path)  # noqa: PTH108 - beside os.open and os.pwrite
    full_s = sum(taken[1 : 1 + FULL_ROUNDS]) / FULL_ROUNDS
    return dict(zip(STORAGE_PARTS, (taken[0], full_s, *taken[-2:]), strict=True))


def _after_barrier(comm: MPI.Intracomm, call: Callable[..., object], *arguments: object) -> float:
    comm.Barrier()
    start = MPI.Wtime()
    call(*arguments)
    return MPI.Wtime() - start


ELEMENTS: dict[str, Element] = {
    "allreduce": allreduce,
    "bcast": bcast,
    "allgather": allgather,
    "alltoall": alltoall,
    "alltoallv": alltoallv,
    "shuffle": shuffle,
    "touch": touch,
    "storage": storage,
}
