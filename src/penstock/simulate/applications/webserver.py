"""A web server: threads that open small files at random, read them whole, and now and then append to a log."""

from __future__ import annotations

from random import Random

from penstock.simulate.applications._base import Parameter, SimulatedApplication, Site, Values
from penstock.simulate.applications.dlio import OPEN_S
from penstock.simulate.script import Script, ScriptFile, Steps, Task
from penstock.units import GIB, KIB, MIB

READS_A_LOG_LINE = 10
LOG_BYTES = 4 * MIB
# Filebench draws sizes from a gamma distribution of this shape.
SHAPE = 1.5


def _write(name: str, values: Values, site: Site) -> Script:
    osts, count = site.osts(values.count("osts"), name), values.count("files")
    rng = Random(f"{name}/{site.seed}")
    mean = values.count("bytes")
    sizes = [max(1, round(rng.gammavariate(SHAPE, mean / SHAPE))) for _ in range(count)]
    pages = [ScriptFile(size, (osts[n % len(osts)],)) for n, size in enumerate(sizes)]
    threads, line = values.count("threads"), values.count("append")
    logs = [ScriptFile(LOG_BYTES, (osts[n % len(osts)],)) for n in range(threads * site.clients)]
    files = tuple(pages + logs)
    tasks = []
    for client in range(site.clients):
        for thread in range(threads):
            steps = Steps(files)
            for append in range(LOG_BYTES // line):
                steps.read_any_whole(0, count, count=READS_A_LOG_LINE, think_s=OPEN_S)
                steps.write(count + client * threads + thread, append * line, line)
            tasks.append(Task(client, steps.ops))
    return Script(name, files, tuple(tasks), (), values.count("cache"))


WEBSERVER = SimulatedApplication(
    "webserver",
    "many threads read small files whole at random and append to logs",
    "Filebench webserver.f: 100 threads, gamma-distributed sizes, each thread reads ten whole files and appends "
    "16 KiB to a log. Filebench's 1,000 files of 16 KiB would all be cached: here 4,000 of 64 KiB are twice "
    "the cache, and each thread has a log of its own.",
    (
        Parameter("threads", 100, "threads a client", most=1000),
        Parameter("osts", 4, "OSTs the files lie on", most=4096),
        Parameter("files", 4000, "files to serve", most=100_000),
        Parameter("bytes", 64 * KIB, "mean bytes a file", "size", 1, GIB),
        Parameter("append", 16 * KIB, "bytes of log written after ten files", "size", 1, LOG_BYTES),
        Parameter("cache", 128 * MIB, "page cache of a client", "size", MIB),
    ),
    _write,
)
