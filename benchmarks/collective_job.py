"""A job that knows nothing of Penstock: a shared file written collectively, in IOR's layout and with its letters.

mpiexec -n 8 python benchmarks/collective_job.py -b 64k -t 64k -s 32 -V -i 5 -o /scratch/me/out

Segment after segment holds one block a rank, written in transfers. As with `ior -a MPIIO -c` every transfer is a
collective call of its own; with -V (a file view, `ior -V`) one call writes a rank's whole share. Hints reach it
only through ROMIO_HINTS or the MPI library's own settings. Rank 0 prints every iteration's seconds and, by the
kernel's account, which ranks wrote in how many calls.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import mpi4py

mpi4py.rc.thread_level = os.environ.get("THREAD_LEVEL", "single")

from mpi4py import MPI  # noqa: E402 - the level must be chosen before MPI starts

from penstock.units import parse_size  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("-b", type=parse_size, default=1 << 20, help="block: bytes of one rank in a segment")
    parser.add_argument("-t", type=parse_size, default=None, help="transfer: bytes of one call (default: -b)")
    parser.add_argument("-s", type=int, default=1, help="segments")
    parser.add_argument("-i", type=int, default=1, help="iterations, each a new file")
    parser.add_argument("-V", action="store_true", help="one call a rank through a strided file view")
    parser.add_argument("-o", type=Path, required=True, help="the file")
    job = parser.parse_args()
    comm = MPI.COMM_WORLD
    data = bytearray(os.urandom(job.b)) * job.s
    for iteration in range(job.i):
        before = writes()
        seconds = _write(comm, job, data)
        calls = comm.gather(tuple(now - then for now, then in zip(writes(), before, strict=True)))
        slowest = comm.allreduce(seconds, MPI.MAX)
        if comm.rank == 0:
            job.o.unlink()
            mib = comm.size * len(data) / 2**20
            shown = " ".join(f"{rank}:{n}" for rank, (n, moved) in enumerate(calls or []) if moved)
            print(f"{iteration} {slowest:.6f} s {mib / slowest:.1f} MiB/s writes by rank {shown}", flush=True)


def _write(comm: MPI.Intracomm, job: argparse.Namespace, data: bytearray) -> float:
    comm.Barrier()
    start = MPI.Wtime()
    file = MPI.File.Open(comm, str(job.o), MPI.MODE_CREATE | MPI.MODE_WRONLY)
    if job.V:
        row = MPI.BYTE.Create_contiguous(job.b).Create_resized(0, comm.size * job.b).Commit()
        file.Set_view(comm.rank * job.b, MPI.BYTE, row)
        file.Write_all(data)
    else:
        step = job.t or job.b
        for segment in range(job.s):
            home = (segment * comm.size + comm.rank) * job.b
            for inside in range(0, job.b, step):
                file.Write_at_all(home + inside, memoryview(data)[inside : min(inside + step, job.b)])
    file.Close()
    return MPI.Wtime() - start


def writes() -> tuple[int, int]:
    """Calls of write and bytes written by this process so far."""
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["syscw"]), int(fields["wchar"])


if __name__ == "__main__":
    main()
