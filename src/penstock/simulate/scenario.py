"""A scenario file: which clients run what, where and when, and what happens to the cluster meanwhile.

clients = 3
events = ["slow:ost=0:at=10:for=20:factor=5", "evict:client=1:ost=0:at=15"]

[[job]]
workload = "s_wr_sq_1m"   # on every client, unless `clients` lists some
shared = "checkpoint"     # one file for all of them
osts = [0]
start_s = 2.0             # stop_s = 0, the default, means for ever
"""

from __future__ import annotations

from pydantic import Field

from penstock.config import Section, parse
from penstock.errors import ConfigError, UsageError
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.faults import parse_fault
from penstock.workload import parse_workload


class JobSection(Section):
    """`[[job]]`: a workload on some or all clients."""

    workload: str
    clients: list[int] | None = Field(default=None, min_length=1)
    start_s: float = Field(default=0.0, ge=0)
    stop_s: float = Field(default=0.0, ge=0)
    osts: list[int] = Field(default_factory=list)
    shared: str = ""


class Scenario(Section):
    """A whole file."""

    clients: int = Field(default=1, ge=1, le=1000)
    events: list[str] = Field(default_factory=list)
    job: list[JobSection] = Field(min_length=1)


def parse_scenario(text: str, source: str) -> Scenario:
    """A scenario from TOML text; `source` names it in errors."""
    scenario = parse(text, Scenario, source)
    for job in scenario.job:
        _check(job, scenario.clients, source)
    return scenario


def _check(job: JobSection, clients: int, source: str) -> None:
    for client in job.clients or ():
        if not 0 <= client < clients:
            raise ConfigError(f"{source}: job.clients: {client} is not below clients = {clients}")
    for ost in job.osts:
        if ost < 0:
            raise ConfigError(f"{source}: job.osts: {ost} is negative")
    if 0.0 < job.stop_s <= job.start_s:
        raise ConfigError(f"{source}: job.stop_s = {job.stop_s:g} is not after start_s = {job.start_s:g}")


def scenario_plan(scenario: Scenario, cluster: Cluster, seed: int, source: str) -> Plan:
    """What the file describes, on a cluster. Errors name the file."""
    try:
        jobs = tuple(
            Job(parse_workload(job.workload), client, job.start_s, job.stop_s, tuple(job.osts), job.shared)
            for job in scenario.job
            for client in (job.clients if job.clients is not None else range(scenario.clients))
        )
        faults = tuple(map(parse_fault, scenario.events))
    except UsageError as error:
        raise ConfigError(f"{source}: {error}") from None
    return Plan(cluster, jobs, scenario.clients, seed, faults=faults)
