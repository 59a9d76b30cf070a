"""H5bench's kernels: VPIC-IO writes eight variables of particles step by step, BDCATS-IO reads them back.

All ranks work on one striped file. Contiguous: each variable is a dataset, each rank's part of it one call (a 2D or
3D block of a rank is contiguous too, h5bench splits the first dimension). Interleaved: one dataset of structures;
HDF5 writes a variable into it through its 1 MiB conversion buffer, reading the structures back before each later
variable. A strided selection takes a block out of every stride. It reaches the file system through ROMIO's data
sieving: a call of 4 MiB from the next wanted byte on, small holes included; what lies between two calls is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.errors import UsageError
from penstock.simulate.applications._base import Parameter, SimulatedApplication, Site, Values
from penstock.simulate.script import Script, ScriptFile, ScriptGate, Steps, Task, repeated
from penstock.units import GIB, MIB

VARIABLES, VALUE_BYTES = 8, 4
CONVERSION_BYTES = MIB
SIEVE_BYTES = 4 * MIB
# Runs follow each other on new files; the ring of them is larger than what clients keep dirty or read again.
RING_BYTES, MOST_RUNS = 24 * GIB, 1024
# Per rank, as in h5bench's samples for each number of dimensions.
DIMENSIONS = {"1d": (4_194_304,), "2d": (1024, 1024), "3d": (64, 64, 64)}

_SHARED = (
    Parameter("ranks", 4, "processes a client", most=1024),
    Parameter("osts", 4, "OSTs the file is striped over", most=4096),
    Parameter("stripe", MIB, "stripe size", "size", 65536, 4 * GIB),
    Parameter("steps", 5, "time steps in the file", most=10_000),
    Parameter("compute", 0.0, "seconds of computing after each step (h5bench: 1)", "time", 0, 86400),
)
# As the traces' authors ran writes and reads: by_rank data stays cached, read data is never found again.
_WRITE_CACHE = Parameter("cache", 90 * GIB, "page cache of a client; dirty data must fit", "size", 8 * GIB)
_READ_CACHE = Parameter("cache", GIB, "page cache of a client", "size", MIB)


def _dataset(values: Values, site: Site, name: str) -> tuple[int, int, ScriptFile]:
    """Bytes of one variable of one rank, the number of ranks, and the file that holds it all."""
    part = values.count("particles") * VALUE_BYTES
    ranks = values.count("ranks") * site.clients
    size = part * VARIABLES * ranks * values.count("steps")
    return part, ranks, ScriptFile(size, site.osts(values.count("osts"), name), values.count("stripe"))


def _script(name: str, values: Values, by_rank: list[Steps], file: ScriptFile) -> Script:
    """One run after the other, each on a file of its own, until so much was moved that the first is old."""
    ranks = values.count("ranks")
    runs = min(MOST_RUNS, max(1, -(-RING_BYTES // file.size_bytes)))
    tasks = tuple(
        Task(rank // ranks, repeated(steps.ops, len(file.osts), runs)) for rank, steps in enumerate(by_rank)
    )
    gates = (ScriptGate(0, len(tasks), len(tasks)),)
    return Script(name, (file,) * runs, tasks, gates, values.count("cache"))


def _end_step(steps: Steps, values: Values) -> None:
    steps.meet(0)
    steps.rest(values.number("compute"))


def _write_contiguous(name: str, values: Values, site: Site) -> Script:
    part, ranks, file = _dataset(values, site, name)
    by_rank = []
    for rank in range(ranks):
        steps = Steps((file,))
        for step in range(values.count("steps")):
            for variable in range(VARIABLES):
                steps.write(0, ((step * VARIABLES + variable) * ranks + rank) * part, part)
            _end_step(steps, values)
        by_rank.append(steps)
    return _script(name, values, by_rank, file)


def _write_interleaved(name: str, values: Values, site: Site) -> Script:
    part, ranks, file = _dataset(values, site, name)
    by_rank = []
    for rank in range(ranks):
        steps = Steps((file,))
        for step in range(values.count("steps")):
            start, size = (step * ranks + rank) * part * VARIABLES, part * VARIABLES
            for variable in range(VARIABLES):
                for offset in range(start, start + size, CONVERSION_BYTES):
                    piece = min(CONVERSION_BYTES, start + size - offset)
                    if variable > 0:
                        steps.read(0, offset, piece)
                    steps.write(0, offset, piece)
            _end_step(steps, values)
        by_rank.append(steps)
    return _script(name, values, by_rank, file)


def _read(name: str, values: Values, site: Site) -> Script:
    asked = int(values.count("particles") * VALUE_BYTES * values.number("part"))
    return _read_calls(name, values, site, [(0, asked)])


def _read_strided(name: str, values: Values, site: Site) -> Script:
    block, stride = values.count("block"), values.count("stride")
    if block > stride:
        raise UsageError(f"{name}: block={block} is larger than stride={stride}; the blocks would overlap")
    return _read_calls(name, values, site, _sieved(values.count("particles") * VALUE_BYTES, block, stride))


def _sieved(size: int, block: int, stride: int) -> list[tuple[int, int]]:
    """The calls (offset, bytes) that read a block out of every stride.

    >>> _sieved(12 << 20, 1 << 20, 8 << 20) == [(0, 4 << 20), (8 << 20, 1 << 20)]
    True
    """
    end = (size - 1) // stride * stride
    end += min(block, size - end)
    calls, at = [], 0
    while at < end:
        call = min(SIEVE_BYTES, end - at)
        calls.append((at, call))
        at += call
        # Behind the block that the call ended in or before, the next one begins.
        at = at if at % stride < block else at // stride * stride + stride
    return calls


def _read_calls(name: str, values: Values, site: Site, calls: Sequence[tuple[int, int]]) -> Script:
    """Every rank reads its part of every variable of every step by these calls (offset within the part, bytes)."""
    part, ranks, file = _dataset(values, site, name)
    by_rank = []
    for rank in range(ranks):
        steps = Steps((file,))
        for step in range(values.count("steps")):
            for variable in range(VARIABLES):
                start = ((step * VARIABLES + variable) * ranks + rank) * part
                for offset, size in calls:
                    steps.read(0, start + offset, size)
            _end_step(steps, values)
        by_rank.append(steps)
    return _script(name, values, by_rank, file)


def _particles(dimensions: tuple[int, ...]) -> Parameter:
    count = 1
    for extent in dimensions:
        count *= extent
    return Parameter("particles", count, "particles a rank and step", least=1024, most=1e9)


_VPIC_SOURCE = (
    "h5bench samples/sync-write-*.json: 4 ranks, 5 steps, 4,194,304 (1D), 1024 x 1024 (2D) or 64^3 (3D) particles a "
    "rank; h5bench_write.c: 8 variables of 4 bytes. The second of computing a step is left out by default, as in "
    "h5bench's raw rate."
)
_BDCATS_SOURCE = (
    "h5bench samples/sync-write-1d-contig-contig-read-*.json and h5bench_read.c, on the file VPIC-IO writes in 1D; "
    "ROMIO's ind_rd_buffer_size of 4 MiB. The second of computing a step is left out by default."
)

VPIC = tuple(
    SimulatedApplication(
        f"vpic-{dims}{suffix}",
        f"VPIC-IO {dims.upper()} array write, {pattern} in the file",
        _VPIC_SOURCE
        + (" H5bench has no interleaved 3D write; this is the 2D one with a 3D block." if odd else ""),
        (*_SHARED, _WRITE_CACHE, _particles(DIMENSIONS[dims])),
        write,
    )
    for suffix, pattern, write in (
        ("", "contiguous", _write_contiguous),
        ("-interleaved", "interleaved", _write_interleaved),
    )
    for dims, odd in (("1d", False), ("2d", False), ("3d", suffix != ""))
)

_BDCATS_SHARED = (*_SHARED, _READ_CACHE, _particles(DIMENSIONS["1d"]))
BDCATS = (
    *(
        SimulatedApplication(
            f"bdcats-{kind}",
            f"BDCATS-IO {kind} read of VPIC-IO's particles",
            _BDCATS_SOURCE,
            (
                *_BDCATS_SHARED,
                Parameter("part", part, "share of each rank's particles that is read", "ratio", 0.001, 1),
            ),
            _read,
        )
        for kind, part in (("full", 1.0), ("partial", 0.5))
    ),
    SimulatedApplication(
        "bdcats-strided",
        "BDCATS-IO strided read of VPIC-IO's particles",
        f"{_BDCATS_SOURCE} The stride is ours: h5bench's sample (stride 2, block 2) selects everything, and DIAL "
        "does not say which it used.",
        (
            *_BDCATS_SHARED,
            Parameter("block", MIB, "bytes that are wanted of every stride", "size", 4, GIB),
            Parameter("stride", 8 * MIB, "bytes from one wanted block to the next", "size", 4, GIB),
        ),
        _read_strided,
    ),
)
