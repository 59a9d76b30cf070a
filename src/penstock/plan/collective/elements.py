"""The elemental operations of a collective write. Each is executed and timed on every rank.

Each function takes the communicator, the target directory and the point to measure. It returns the seconds that this
rank was busy, by operation; the caller uses the slowest rank. The functions run right after a barrier, inside
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
FULL_ROUNDS = 3
TAG = 7
ROUND_PARTS = ("shuffle", "write_first", "write_full", "write_partial", "read")

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


def rounds(comm: MPI.Intracomm, directory: str, point: Point) -> Seconds:
    """A sequence of rounds as in a collective write, without pauses, on a new file.

    Each round exchanges counts, sends every rank's next bytes to each aggregator, and writes the aggregators'
    buffers. The pieces of all ranks interleave in a buffer. The first write extends the file and takes its locks; the
    later full ones are averaged; the last one is short. Then a buffer is read back, as in a round with holes. There
    is no barrier in between: the time an aggregator waits for others belongs to its exchange, so that the parts add
    up to the whole. Memory was touched before, as in every call of a job except the first.
    """
    exchange = _Exchange(comm, point)
    path = comm.bcast(f"{directory}/penstock-profile-{os.getpid()}")
    handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o600) if exchange.aggregates else -1
    lengths = [point["bytes"]] * (1 + FULL_ROUNDS) + [point["short_bytes"]]
    start = comm.rank * sum(lengths)
    moved, written, read = [], [], 0.0
    try:
        comm.Barrier()
        for number, length in enumerate(lengths):
            moved.append(_timed(exchange.run, number))
            if exchange.aggregates:
                data, offset = exchange.buffer[:length], start + number * point["bytes"]
                written.append(_timed(os.pwrite, handle, data, offset))
        if exchange.aggregates:
            read = _timed(os.preadv, handle, [exchange.buffer[: point["bytes"]]], start)
    finally:
        exchange.free()
        if exchange.aggregates:
            os.close(handle)
        if comm.rank == 0:
            os.unlink(path)  # noqa: PTH108 - beside os.open and os.pwrite
    full = slice(1, 1 + FULL_ROUNDS)
    own = (_mean(moved[full]), *_parts(written, full), read) if exchange.aggregates else (0.0,) * 5
    return dict(zip(ROUND_PARTS, _aggregators_mean(comm, own, point["aggregators"]), strict=True))


def _parts(written: list[float], full: slice) -> tuple[float, float, float]:
    return written[0], _mean(written[full]), written[-1]


def _mean(seconds: list[float]) -> float:
    return sum(seconds) / len(seconds)


def _aggregators_mean(comm: MPI.Intracomm, own: tuple[float, ...], aggregators: int) -> list[float]:
    total = np.array(own)
    comm.Allreduce(MPI.IN_PLACE, total, MPI.SUM)
    return [float(seconds) / aggregators for seconds in total]


def _timed(call: Callable[..., object], *arguments: object) -> float:
    start = MPI.Wtime()
    call(*arguments)
    return MPI.Wtime() - start


class _Exchange:
    """The traffic of one round. Its memory and data types are prepared in advance."""

    def __init__(self, comm: MPI.Intracomm, point: Point) -> None:
        self._comm, self._aggregators = comm, point["aggregators"]
        self.aggregates = comm.rank < self._aggregators
        self._message = max(1, point["bytes"] // comm.size)
        piece = min(point["piece_bytes"], self._message)
        pieces = max(1, self._message // piece)
        self._sent = _memory("sent", (2 + FULL_ROUNDS) * self._message)
        self.buffer = _memory("buffer", point["bytes"] + comm.size * piece)
        self._types = (
            [_pieces(comm, rank, pieces, piece) for rank in range(comm.size)] if self.aggregates else []
        )
        self._length = pieces * piece
        self._counts = np.zeros((2, comm.size), np.int32)

    def run(self, number: int) -> None:
        """Round `number`; the bytes sent are new to the caches each time."""
        comm = self._comm
        comm.Alltoall(self._counts[0], self._counts[1])
        requests = [comm.Irecv([self.buffer, 1, kind], rank, TAG) for rank, kind in enumerate(self._types)]
        start = number * self._message
        data = self._sent[start : start + self._length]
        requests += [comm.Isend([data, MPI.BYTE], to, TAG) for to in range(self._aggregators)]
        MPI.Request.Waitall(requests)

    def free(self) -> None:
        """Give the data types back."""
        for kind in self._types:
            kind.Free()


_kept: dict[str, bytearray] = {}


def _memory(name: str, size: int) -> memoryview:
    """Memory that was written before. It is kept from point to point.

    It is not a numpy array, because numpy asks the kernel for huge pages. Messages from huge pages are cheaper than
    those of a job or of ROMIO.
    """
    kept = _kept.setdefault(name, bytearray())
    if len(kept) < size:
        _kept[name] = kept = bytearray(os.urandom(size))
    return memoryview(kept)


def _pieces(comm: MPI.Intracomm, rank: int, pieces: int, piece: int) -> MPI.Datatype:
    offsets = (np.arange(pieces, dtype=np.int64) * comm.size + rank) * piece
    kind = MPI.BYTE.Create_hindexed(np.full(pieces, piece).tolist(), offsets.tolist())
    return kind.Commit()


ELEMENTS: dict[str, Element] = {
    "allreduce": allreduce,
    "bcast": bcast,
    "allgather": allgather,
    "alltoall": alltoall,
    "alltoallv": alltoallv,
    "touch": touch,
    "rounds": rounds,
}
