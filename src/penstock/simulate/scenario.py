"""A scenario file: on which cluster which clients run what, where and when, and what happens to it meanwhile.

cluster = "c220g5"        # or a cluster file, found beside the scenario
clients = 3
events = ["slow:ost=0:at=10:for=20:factor=5", "evict:client=1:ost=0:at=15"]

[set]                     # as with --set
round_trip_us = 5000

[[job]]
workload = "s_wr_sq_1m"   # on every client, unless `clients` lists some
shared = "checkpoint"     # one file for all of them
osts = [0]
start_s = 2.0             # stop_s = 0, the default, means for ever

[[job]]
workload = { read_ratio = 0.5, access = "random", request = "1m", streams = 3, file = "3g", cache = "90g" }
clients = [0]
name = "database"
fsync_every = "256m"      # each stream calls fsync after so many bytes written,
close_every = "1g"        # and closes and opens its file after so many bytes read or written

[[job]]
workload = "s_rd_sq_1m"
clients = [1]
reads_of = "database"     # reads that job's files; by name, or by number: the first job is 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from penstock.config import Duration, Section, Size, parse
from penstock.errors import ConfigError, PenstockError, UsageError, did_you_mean
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.faults import parse_fault
from penstock.units import GIB, PAGE_BYTES
from penstock.workload import Workload, parse_workload

# What a workload's table leaves out is as in this one.
USUAL = parse_workload("s_rd_sq_1m")
DEFAULT_CLUSTER = "c220g5"


class WorkloadTable(Section):
    """`workload = {...}`: a workload that has no name. Sizes and times as people write them."""

    read_ratio: float = Field(default=USUAL.read_ratio, ge=0, le=1)
    access: Literal["random", "sequential"] = "sequential"
    request: Size = Field(default=USUAL.request_bytes, ge=1, le=GIB)
    streams: int = Field(default=USUAL.streams, ge=1, le=256)
    file: Size = Field(default=USUAL.file_bytes, ge=PAGE_BYTES, le=1 << 44)
    cache: Size = Field(default=USUAL.cache_bytes, ge=PAGE_BYTES, le=1 << 50)
    think_s: Duration = Field(default=0.0, ge=0)
    active_s: Duration = Field(default=0.0, ge=0)
    idle_s: Duration = Field(default=0.0, ge=0)

    def workload(self) -> Workload:
        """The same as the simulator knows it."""
        if self.request > self.file:
            raise UsageError(f"a request of {self.request} bytes does not fit a file of {self.file}")
        if self.idle_s > 0.0 and self.active_s == 0.0:
            raise UsageError("idle_s needs active_s: rests come after so much work")
        return Workload(
            name="described",
            streams=self.streams,
            read_ratio=self.read_ratio,
            sequential=self.access == "sequential",
            request_bytes=self.request,
            file_bytes=self.file,
            cache_bytes=self.cache,
            think_s=self.think_s,
            active_s=self.active_s,
            idle_s=self.idle_s,
        )


def _form(value: object) -> str:
    return "table" if isinstance(value, dict | WorkloadTable) else "name"


#: A workload as configuration files give it: by its name, or described.
AnyWorkload = Annotated[
    Annotated[str, Tag("name")] | Annotated[WorkloadTable, Tag("table")], Discriminator(_form)
]


class ScenarioJobSection(Section):
    """`[[job]]`: a workload on some or all clients."""

    workload: AnyWorkload
    clients: list[int] | None = Field(default=None, min_length=1)
    start_s: float = Field(default=0.0, ge=0)
    stop_s: float = Field(default=0.0, ge=0)
    osts: list[int] = Field(default_factory=list)
    shared: str = ""
    name: str = ""
    fsync_every: Size | None = Field(default=None, ge=1, le=1 << 50)
    close_every: Size | None = Field(default=None, ge=1, le=1 << 50)
    reads_of: int | str | None = None

    @property
    def cache_bytes(self) -> int | None:
        """The page cache this job names, if it names one."""
        if isinstance(self.workload, str) or "cache" not in self.workload.model_fields_set:
            return None
        return self.workload.cache


def _flat(value: object) -> object:
    """`client.cores = 1` in TOML is a table in a table; here it is one key."""
    if not isinstance(value, dict):
        return value
    inner = {key: part for key, part in value.items() if isinstance(part, dict)}
    return {
        **{key: part for key, part in value.items() if key not in inner},
        **{f"{section}.{key}": part for section, parts in inner.items() for key, part in parts.items()},
    }


class ScenarioFile(Section):
    """A whole file. `set` holds parameters of the cluster that differ from its description."""

    cluster: str = DEFAULT_CLUSTER
    clients: int = Field(default=1, ge=1, le=1000)
    events: list[str] = Field(default_factory=list)
    set: Annotated[dict[str, str | int | float], BeforeValidator(_flat)] = Field(default_factory=dict)
    job: list[ScenarioJobSection] = Field(min_length=1)

    def clients_of(self, job: ScenarioJobSection) -> list[int]:
        """The clients a job runs on, in order."""
        return job.clients if job.clients is not None else list(range(self.clients))


def parse_scenario(text: str, source: str) -> ScenarioFile:
    """A scenario from TOML text; `source` names it in errors."""
    scenario = parse(text, ScenarioFile, source)
    for job in scenario.job:
        _check(job, scenario.clients, source)
    names = [job.name for job in scenario.job if job.name]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{source}: job.name: {name!r} is the name of two jobs")
    _named_caches(scenario, source)
    return scenario


def _check(job: ScenarioJobSection, clients: int, source: str) -> None:
    for client in job.clients or ():
        if not 0 <= client < clients:
            raise ConfigError(f"{source}: job.clients: {client} is not below clients = {clients}")
    if job.clients is not None and len(set(job.clients)) < len(job.clients):
        raise ConfigError(f"{source}: job.clients: {job.clients} names a client twice")
    for ost in job.osts:
        if ost < 0:
            raise ConfigError(f"{source}: job.osts: {ost} is negative")
    if 0.0 < job.stop_s <= job.start_s:
        raise ConfigError(f"{source}: job.stop_s = {job.stop_s:g} is not after start_s = {job.start_s:g}")


def _named_caches(scenario: ScenarioFile, source: str) -> dict[int, int]:
    """The page cache each client's jobs name, in bytes. A client has one: two different ones are an error."""
    found: dict[int, int] = {}
    for job in scenario.job:
        if job.cache_bytes is None:
            continue
        for client in scenario.clients_of(job):
            other = found.setdefault(client, job.cache_bytes)
            if other != job.cache_bytes:
                raise ConfigError(
                    f"{source}: job.workload.cache: jobs of client {client} name caches of {other} and "
                    f"{job.cache_bytes} bytes; a client has one page cache"
                )
    return found


def scenario_cluster(scenario: ScenarioFile, base: Cluster, source: str) -> Cluster:
    """The cluster that the file names, which `base` is, with the file's own changes."""
    try:
        return base.override({key: str(value) for key, value in scenario.set.items()})
    except PenstockError as error:
        raise ConfigError(f"{source}: [set]: {str(error).removeprefix('--set').lstrip(' :')}") from None


def scenario_plan(scenario: ScenarioFile, cluster: Cluster, seed: int, source: str) -> Plan:
    """What the file describes, on a cluster; its jobs in the file's order, each client by client. Errors name it."""
    try:
        jobs = _one_cache_a_client(_jobs(scenario), _named_caches(scenario, source))
        faults = tuple(map(parse_fault, scenario.events))
    except UsageError as error:
        raise ConfigError(f"{source}: {error}") from None
    return Plan(cluster, jobs, scenario.clients, seed, faults=faults)


def _jobs(scenario: ScenarioFile) -> Iterator[Job]:
    works = [workload_of(job.workload) for job in scenario.job]
    clients = [scenario.clients_of(job) for job in scenario.job]
    first = list(accumulate(map(len, clients), initial=0))
    for number, (job, work) in enumerate(zip(scenario.job, works, strict=True)):
        if job.fsync_every is not None and work.read_ratio == 1.0:
            raise UsageError("job.fsync_every: the job only reads; fsync is for jobs that write")
        source = None if job.reads_of is None else _source(scenario.job, number, works)
        for turn, client in enumerate(clients[number]):
            reads_of = None if source is None else first[source] + _elsewhere(clients[source], turn, client)
            yield Job(
                work,
                client,
                job.start_s,
                job.stop_s,
                tuple(job.osts),
                job.shared,
                fsync_bytes=job.fsync_every or 0,
                close_bytes=job.close_every or 0,
                reads_of=reads_of,
            )


def workload_of(given: str | WorkloadTable) -> Workload:
    """What a file names or describes."""
    return parse_workload(given) if isinstance(given, str) else given.workload()


def _source(jobs: Sequence[ScenarioJobSection], number: int, works: Sequence[Workload]) -> int:
    """The number of the job whose files job `number` reads."""
    job = jobs[number]
    source = _numbered(jobs, job.reads_of)
    if source == number:
        raise UsageError(f"job.reads_of: {job.reads_of!r} is the job itself; name a job that writes")
    if works[source].read_ratio == 1.0:
        raise UsageError(f"job.reads_of: job {job.reads_of!r} writes nothing; name a job that writes")
    if works[number].read_ratio < 1.0:
        raise UsageError("job.reads_of: the job writes itself; give both jobs one `shared` file instead")
    file_named = isinstance(job.workload, WorkloadTable) and "file" in job.workload.model_fields_set
    for key, given in (("osts", job.osts), ("shared", job.shared), ("workload.file", file_named)):
        if given:
            raise UsageError(f"job.{key}: a job with reads_of has the files of the other job; leave it out")
    if works[number].request_bytes > works[source].file_bytes:
        raise UsageError(
            f"job.reads_of: a request of {works[number].request_bytes} bytes does not fit the other job's files "
            f"of {works[source].file_bytes}"
        )
    return source


def _numbered(jobs: Sequence[ScenarioJobSection], wanted: int | str | None) -> int:
    if isinstance(wanted, int):
        if not 0 <= wanted < len(jobs):
            raise UsageError(f"job.reads_of: there is no job {wanted}; the jobs are 0 to {len(jobs) - 1}")
        return wanted
    names = [job.name for job in jobs]
    if not wanted or wanted not in names:
        raise UsageError(f"job.reads_of: no job has the name {wanted!r}{did_you_mean(str(wanted), names)}")
    return names.index(wanted)


def _elsewhere(writers: Sequence[int], turn: int, client: int) -> int:
    """Which of the writing clients the reader on `client` follows: each its own in turn, never itself."""
    for step in range(len(writers)):
        place = (turn + step) % len(writers)
        if writers[place] != client:
            return place
    raise UsageError(f"job.reads_of: client {client} would read its own files; let another client read them")


def _one_cache_a_client(jobs: Iterator[Job], named: dict[int, int]) -> tuple[Job, ...]:
    """Every job gets its client's page cache: the one named there, else the largest its workloads imply."""
    found = tuple(jobs)
    sizes: dict[int, int] = {}
    for job in found:
        sizes[job.client] = max(sizes.get(job.client, 0), job.workload.cache_bytes)
    sizes.update(named)
    return tuple(replace(job, workload=replace(job.workload, cache_bytes=sizes[job.client])) for job in found)
