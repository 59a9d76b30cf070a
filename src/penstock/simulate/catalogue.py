"""Every workload by name, synthetic or application, resolved to a plan in one place."""

from __future__ import annotations

from penstock.errors import UsageError, did_you_mean
from penstock.simulate.applications import APPLICATIONS, Site
from penstock.simulate.assembly import Job, Plan
from penstock.simulate.cluster import Cluster
from penstock.simulate.metadata.workloads import is_metadata
from penstock.simulate.reading.reading_workloads import is_reading
from penstock.workload import NAMES, parse_workload

APPLICATION_NAMES = tuple(APPLICATIONS)


def workload_names() -> tuple[str, ...]:
    """The 24 synthetic workloads of the traces, then the applications."""
    return NAMES + APPLICATION_NAMES


def named_plan(cluster: Cluster, name: str, clients: int = 1, seed: int = 1) -> Plan:
    """The plan in which `clients` clients run a workload: `s_wr_rn_1m`, or `dlio-bert:threads=4,osts=2`.

    Every client runs a synthetic workload on files of its own; an application's clients work together as it does.
    """
    base, _, text = name.partition(":")
    if base in APPLICATIONS:
        script = APPLICATIONS[base].script(_given(name, text), Site(clients, cluster.layout.ost_count, seed))
        return Plan(cluster, (), clients, seed, scripts=(script,))
    if is_metadata(base) or is_reading(base):
        raise UsageError(f"{name}: metadata and readahead are played by penstock simulate run and serve only")
    if text or base.partition("_")[0] not in ("s", "f"):
        hint = did_you_mean(base, workload_names()) or "; see penstock simulate workloads"
        raise UsageError(f"unknown workload {name!r}{hint}")
    work = parse_workload(name)
    return Plan(cluster, tuple(Job(work, client) for client in range(clients)), clients, seed)


def _given(name: str, text: str) -> dict[str, str]:
    given: dict[str, str] = {}
    for part in filter(None, text.split(",")):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"{name}: {part!r} is not parameter=value")
        given[key.strip()] = value.strip()
    return given
