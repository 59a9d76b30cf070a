"""The elemental operations of a collective write, each done for real and timed on every rank.

Each function takes the communicator, the target directory and the point, and returns the seconds that this
rank was busy; the caller takes the slowest rank. They run right after a barrier, inside `worker` only.
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

Point = dict[str, Any]
Element = Callable[[MPI.Intracomm, str, Point], float]


def _repeated(call: Callable[[], object]) -> float:
    start = MPI.Wtime()
    for _ in range(COLLECTIVE_CALLS):
        call()
    return (MPI.Wtime() - start) / COLLECTIVE_CALLS


def allreduce(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """One MPI_Allreduce of that many bytes."""
    sent, received = np.zeros((2, point["bytes"]), np.uint8)
    return _repeated(lambda: comm.Allreduce(sent, received, MPI.MAX))


def bcast(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """One MPI_Bcast of that many bytes."""
    data = np.zeros(point["bytes"], np.uint8)
    return _repeated(lambda: comm.Bcast(data))


def allgather(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """One MPI_Allgather of that many bytes from each rank."""
    sent, received = np.zeros(point["bytes"], np.uint8), np.zeros(point["bytes"] * comm.size, np.uint8)
    return _repeated(lambda: comm.Allgather(sent, received))


def alltoall(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """One MPI_Alltoall of that many bytes between each pair of ranks."""
    sent, received = np.zeros((2, point["bytes"] * comm.size), np.uint8)
    return _repeated(lambda: comm.Alltoall(sent, received))


def alltoallv(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """One MPI_Alltoallv in which every rank sends that many bytes to each aggregator and nothing elsewhere."""
    size, aggregators = point["bytes"], point["aggregators"]
    sends = [size if rank < aggregators else 0 for rank in range(comm.size)]
    receives = [size if comm.rank < aggregators else 0] * comm.size
    sent, received = np.zeros(max(1, sum(sends)), np.uint8), np.zeros(max(1, sum(receives)), np.uint8)
    return _repeated(lambda: comm.Alltoallv([sent, sends, MPI.BYTE], [received, receives, MPI.BYTE]))


def shuffle(comm: MPI.Intracomm, directory: str, point: Point) -> float:
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
        requests += [comm.Isend([sent, pieces * piece, MPI.BYTE], to, TAG) for to in range(point["aggregators"])]
        MPI.Request.Waitall(requests)
        for kind in types:
            kind.Free()
    return (MPI.Wtime() - start) / SHUFFLES


def _pieces(comm: MPI.Intracomm, rank: int, pieces: int, piece: int) -> MPI.Datatype:
    offsets = (np.arange(pieces, dtype=np.int64) * comm.size + rank) * piece
    kind = MPI.BYTE.Create_hindexed(np.full(pieces, piece).tolist(), offsets.tolist())
    return kind.Commit()


def touch(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """The first touch of a fresh buffer of that many bytes on each aggregator."""
    if comm.rank >= point["aggregators"]:
        return 0.0
    with mmap.mmap(-1, point["bytes"]) as fresh:
        start = MPI.Wtime()
        pages = np.frombuffer(fresh, np.uint8)[::PAGE_BYTES]
        pages[:] = 1
        seconds = MPI.Wtime() - start
        del pages
    return seconds


def write_first(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """The first buffer that each aggregator writes to a new file: it grows the file and takes its locks."""
    return _rounds(comm, directory, point)[0]


def write_full(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """A later full buffer, averaged over several rounds."""
    return _rounds(comm, directory, point)[1]


def write_partial(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """The last buffer of a file domain, shorter than those before it."""
    return _rounds(comm, directory, point)[2]


def read(comm: MPI.Intracomm, directory: str, point: Point) -> float:
    """Reading one buffer of bytes, as a round with holes does before it writes."""
    return _rounds(comm, directory, point)[3]


def _rounds(comm: MPI.Intracomm, directory: str, point: Point) -> tuple[float, float, float, float]:
    """Concurrent writes as aggregators do them: own domains of one new file, round by round."""
    size, full = point["bytes"], point["full_bytes"]
    path = comm.bcast(f"{directory}/penstock-profile-{os.getpid()}")
    if comm.rank >= point["aggregators"]:
        for _ in range(FULL_ROUNDS + 3):
            comm.Barrier()
        return 0.0, 0.0, 0.0, 0.0
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    data = memoryview(np.ones(max(size, full), np.uint8))
    start = comm.rank * (full * (1 + FULL_ROUNDS) + size)
    try:
        lengths = [full] * (1 + FULL_ROUNDS) + [size]
        taken = []
        for number, length in enumerate(lengths):
            comm.Barrier()
            taken.append(_timed(lambda at=start + number * full, n=length: os.pwrite(handle, data[:n], at)))
        comm.Barrier()
        reading = _timed(lambda: os.pread(handle, size, start))
    finally:
        os.close(handle)
        if comm.rank == 0:
            os.unlink(path)
    return taken[0], sum(taken[1:-1]) / FULL_ROUNDS, taken[-1], reading


def _timed(call: Callable[[], object]) -> float:
    start = MPI.Wtime()
    call()
    return MPI.Wtime() - start


ELEMENTS: dict[str, Element] = {
    "allreduce": allreduce,
    "bcast": bcast,
    "allgather": allgather,
    "alltoall": alltoall,
    "alltoallv": alltoallv,
    "shuffle": shuffle,
    "touch": touch,
    "write_first": write_first,
    "write_full": write_full,
    "write_partial": write_partial,
    "read": read,
}
