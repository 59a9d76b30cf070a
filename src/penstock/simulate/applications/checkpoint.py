"""A simulation that computes and checkpoints: every rank writes a file of its own, all wait for the slowest."""

from __future__ import annotations

from penstock.simulate.applications._base import Parameter, SimulatedApplication, Site, Values
from penstock.simulate.script import Script, ScriptFile, ScriptGate, Steps, Task
from penstock.units import GIB, KIB, MIB


def _write(name: str, values: Values, site: Site) -> Script:
    ranks, chunk, size = values.count("ranks"), values.count("chunk"), values.count("bytes")
    osts = site.osts(values.count("osts"), name)
    total = ranks * site.clients
    files = tuple(ScriptFile(size, (osts[rank % len(osts)],)) for rank in range(total))
    tasks = []
    for rank in range(total):
        steps = Steps(files)
        steps.rest(values.number("compute"))
        steps.meet(0)
        steps.write(rank, 0, chunk, count=size // chunk)
        if size % chunk:
            steps.write(rank, size - size % chunk, size % chunk)
        steps.sync(rank)
        steps.meet(0)
        tasks.append(Task(rank // ranks, steps.ops))
    return Script(name, files, tuple(tasks), (ScriptGate(0, total, total),), values.count("cache"))


CHECKPOINT = SimulatedApplication(
    "checkpoint",
    "compute, then every rank writes its own file, syncs and waits for the others",
    "The usual defensive checkpoint, file per process, as in IOR with -F -e: 256 MiB a rank in 1 MiB calls. Ten "
    "seconds of computing are our choice, short enough to see phases.",
    (
        Parameter("ranks", 4, "processes a client", most=1024),
        Parameter("osts", 4, "OSTs the files lie on, in turn", most=4096),
        Parameter("bytes", 256 * MIB, "bytes a rank and checkpoint", "size", 4 * KIB, 1024 * GIB),
        Parameter("chunk", MIB, "bytes a call", "size", 4 * KIB, GIB),
        Parameter("compute", 10.0, "seconds between checkpoints", "time", 0, 86400),
        Parameter("cache", 90 * GIB, "page cache of a client", "size", MIB),
    ),
    _write,
)
