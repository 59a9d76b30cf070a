"""Advice for a job that has run: its log's facts, findings, hints, striping and predicted write times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from penstock.errors import UsageError
from penstock.observe.darshan_log import read_log
from penstock.plan.collective.access import Access
from penstock.plan.collective.advise import HintAdvice, advise
from penstock.plan.collective.operation_profile import load
from penstock.plan.collective.romio import Hints
from penstock.plan.collective.surrogates import Surrogates
from penstock.plan.hints import check_hint
from penstock.plan.job.causes import MORE_AGGREGATORS, TRY_AGGREGATORS
from penstock.plan.job.findings import MEDIUM_SHARE, JobFinding
from penstock.plan.job.job_facts import JobFacts
from penstock.plan.job.job_facts import facts as job_facts
from penstock.plan.job.review import WriteShape, review, shape, stripe_count
from penstock.plan.job.traffic import JobTraffic
from penstock.plan.job.traffic import traffic as job_traffic
from penstock.plan.storage import STRIPE_UNIT_BYTES, StorageSystem, load_system
from penstock.plan.write.location import locate
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.prediction import WritePrediction
from penstock.plan.write.published import published_model
from penstock.units import MIB, counted

RANKS_PER_NODE = 32
BUFFER_BYTES = 16 * MIB
LEAST_BYTES = MIB


@dataclass(frozen=True, slots=True)
class JobSite:
    """What the log does not contain: the nodes of the job, and the number and unit of targets of the file system."""

    nodes: int | None = None
    osts: int = 64
    stripe_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.nodes is not None and self.nodes < 1:
            raise UsageError(f"--nodes {self.nodes}: must be at least 1")
        if self.osts < 1:
            raise UsageError(f"--osts {self.osts}: must be at least 1")
        if self.stripe_bytes is not None and (self.stripe_bytes < 1 or self.stripe_bytes % STRIPE_UNIT_BYTES):
            raise UsageError(f"--stripe-size {self.stripe_bytes}: not a multiple of 64 KiB")


@dataclass(frozen=True, slots=True)
class Striping:
    """A file's layout on Lustre."""

    count: int
    unit_bytes: int


@dataclass(frozen=True, slots=True)
class JobAdvice:
    """The complete review of a job. `hints` is empty if no hint can help."""

    facts: JobFacts
    traffic: JobTraffic
    shape: WriteShape | None
    nodes: int
    findings: tuple[JobFinding, ...]
    hints: dict[str, str]
    striping: Striping | None
    reasons: tuple[str, ...]
    now: WritePrediction | None
    advised: WritePrediction | None
    collective: HintAdvice | None


def review_log(path: Path, site: JobSite, system: str | None, profile: Path | None) -> JobAdvice:
    """Read a log and review its job; a profile's file ranks the hints, a system's model forecasts its writes."""
    described = None if system is None else load_system(system)
    surrogates = None if profile is None else Surrogates(load(profile))
    raw = read_log(path)
    return advise_job((job_facts(raw), job_traffic(raw)), site, described, surrogates)


def advise_job(
    job: tuple[JobFacts, JobTraffic],
    site: JobSite,
    system: StorageSystem | None,
    surrogates: Surrogates | None,
) -> JobAdvice:
    """Review a job.

    Hints are ranked if there is a profile. If a system is named, the same write is predicted there.

    That prediction is for another machine than the log's. It says nothing about the time in the log.
    """
    facts, traffic = job
    nodes = site.nodes or max(1, -(-facts.ranks // RANKS_PER_NODE))
    if nodes > facts.ranks:
        raise UsageError(f"--nodes {nodes}: the job has {counted(facts.ranks, 'rank')}")
    reasons: list[str] = []
    written = shape(facts)
    striping = _striping(facts, site)
    ranked = None
    hints: dict[str, str] = {}
    if written is not None and facts.shared and facts.bytes_written < LEAST_BYTES:
        reasons.append("less than 1 MiB written: hints cannot gain anything worth having")
    elif written is not None and facts.shared and facts.ranks > 1:
        hints, why = _hints(facts, written, nodes, striping)
        reasons += why
        if surrogates is not None:
            ranked = advise(surrogates, access_of(facts, written, nodes))
            hints, why = _ranked_hints(hints, ranked)
            reasons += [*why, *ranked.reasons]
    findings = tuple(review(facts, traffic, site.nodes))
    if any(finding.id == "R010" and finding.share(facts.run_s) >= MEDIUM_SHARE for finding in findings):
        given, why = _read_hints(facts, traffic, nodes)
        hints, reasons = given | hints, reasons + why
    if hints and site.nodes is None:
        reasons.insert(0, f"the log names no nodes: {RANKS_PER_NODE} ranks a node assumed; give --nodes")
    findings = tuple(_with_aggregators(finding, hints, facts) for finding in findings)
    stripes = striping.count if striping else 1
    now = None if written is None else _predict(system, facts, nodes, facts.stripe_count or 1)
    wider = striping is not None and striping.count != facts.stripe_count
    advised = _predict(system, facts, nodes, stripes) if wider else now
    return JobAdvice(
        facts, traffic, written, nodes, findings, hints, striping, tuple(reasons), now, advised, ranked
    )


def _with_aggregators(finding: JobFinding, hints: dict[str, str], facts: JobFacts) -> JobFinding:
    """The number of aggregators that is advised, in the command that tries it; no command where none is."""
    count = hints.get("cb_nodes")
    if finding.check == TRY_AGGREGATORS:
        finding = replace(finding, check=TRY_AGGREGATORS.format(cb_nodes=count) if count else "")
    if finding.change == MORE_AGGREGATORS:
        places = hints.get("cb_config_list", "*:*")
        finding = replace(
            finding, change=MORE_AGGREGATORS.format(cb_nodes=count or facts.ranks, places=places)
        )
    return finding


def _read_hints(facts: JobFacts, traffic: JobTraffic, nodes: int) -> tuple[dict[str, str], list[str]]:
    """Small reads of a shared file: let aggregators read whole ranges, and hand out the pieces."""
    if facts.ranks < 2 or not any(one.shared for one in traffic.of("read")):
        return {}, []
    given = {
        "romio_cb_read": "enable",
        "cb_nodes": str(min(facts.ranks, 2 * nodes)),
        "cb_config_list": f"*:{-(-min(facts.ranks, 2 * nodes) // nodes)}",
        "cb_buffer_size": str(BUFFER_BYTES),
    }
    reasons = ["romio_cb_read=enable: two aggregators a node read whole ranges for the others"]
    reads = next((use for use in traffic.mpiio if use.op == "read"), None)
    if reads is not None and not reads.collective and reads.independent:
        given |= {"romio_ds_read": "enable"}
        reasons.append("romio_ds_read=enable: independent reads with gaps fetch a range at once")
    if reads is None or not reads.collective:
        reasons.append("read hints take effect only once the program reads through MPI-IO, collectively")
    for name, value in given.items():
        check_hint(name, value)
    return given, reasons


def access_of(facts: JobFacts, written: WriteShape, nodes: int) -> Access:
    """The job's typical collective call for the operation-count model."""
    return Access(facts.ranks, nodes, written.bytes_per_call, written.block_bytes)


def _striping(facts: JobFacts, site: JobSite) -> Striping | None:
    if facts.stripe_count is None or not facts.shared or not facts.bytes_written:
        return None
    count = min(stripe_count(facts, site.osts), site.osts)
    return Striping(count, site.stripe_bytes or max(facts.stripe_bytes or MIB, MIB))


def _hints(
    facts: JobFacts, written: WriteShape, nodes: int, striping: Striping | None
) -> tuple[dict[str, str], list[str]]:
    """Hints by rule: aggregators in step with targets and nodes, buffers of whole stripes."""
    stripes = striping.count if striping else 1
    per_target = max(1, nodes // stripes)
    aggregators = min(facts.ranks, max(stripes * per_target, 2 * nodes))
    unit = striping.unit_bytes if striping else MIB
    buffer_bytes = max(unit, BUFFER_BYTES // unit * unit)
    given = Hints(aggregators, buffer_bytes, f"*:{-(-aggregators // nodes)}", "enable").given
    if striping and stripes != facts.stripe_count:
        given |= {"striping_factor": str(stripes), "striping_unit": str(unit)}
    for name, value in given.items():
        check_hint(name, value)
    reasons = [
        f"cb_nodes={aggregators}: at least one for each of {counted(stripes, 'target')} and two a node, "
        f"{counted(nodes, 'node')}",
        f"cb_config_list={given['cb_config_list']}: lets a node hold them; the default allows one a node",
        f"cb_buffer_size={buffer_bytes}: whole stripes, few rounds",
    ]
    if written.pattern == "contiguous":
        reasons.append("romio_cb_write=enable: left to itself ROMIO skips two phases for contiguous writes")
    if facts.mpiio is None:
        reasons.append("these take effect only once the program writes through MPI-IO")
    elif not written.collective:
        reasons.append("these take effect only once the program writes collectively")
    return given, reasons


def _ranked_hints(hints: dict[str, str], ranked: HintAdvice) -> tuple[dict[str, str], list[str]]:
    """The profile's choice in place of the rule's, striping kept."""
    kept = {name: value for name, value in hints.items() if name.startswith("striping_")}
    if ranked.chosen is None:
        return kept, ["the profile predicts no gain from collective-buffering hints here"]
    return ranked.chosen.candidate.hints.given | kept, ["aggregators and buffer as the profile ranks them"]


def _predict(
    system: StorageSystem | None, facts: JobFacts, nodes: int, stripes: int
) -> WritePrediction | None:
    """The published write-time model of a system of this kind; None where it cannot hold the job."""
    if system is None or not facts.bytes_written or nodes > system.compute.nodes:
        return None
    cores = max(1, min(system.compute.cores_per_node, -(-facts.ranks // nodes)))
    burst = max(1, facts.bytes_written // (nodes * cores))
    most = system.lustre.osts if system.lustre else 1
    places = locate(system, nodes, "scattered")
    return published_model(system).predict(system, WritePattern(places, cores, burst, min(stripes, most)))
