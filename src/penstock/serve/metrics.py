"""The agent's figures as Prometheus metrics: base units, `_total` and `_info`, few labels.

Labels are `fs`, `target`, `knob` and `reason`, and the three modes. A target's label survives a remount, so
that its series goes on. Job ids, decision ids and settings are no labels: they would grow without bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from penstock.decision_reasons import Reason
from penstock.knobs.target_kind import BYTES
from penstock.serve.status import AgentStatus, TargetStatus

MOST_REASONS = 40
TARGET = ("fs", "target")
VOLUMES = (
    ("read.bytes", "penstock_target_read_bytes", "Bytes that read requests brought.", 1.0),
    ("write.bytes", "penstock_target_write_bytes", "Bytes that write requests carried.", 1.0),
    ("read.rpcs", "penstock_target_read_rpcs", "Completed read requests.", 1.0),
    ("write.rpcs", "penstock_target_write_rpcs", "Completed write requests.", 1.0),
    ("read.usec", "penstock_target_read_rpc_seconds", "Time read requests spent on the wire.", 1e-6),
    ("write.usec", "penstock_target_write_rpc_seconds", "Time write requests spent on the wire.", 1e-6),
)
# Of targets that move no bytes.
OPERATIONS_DONE = (
    ("query.ops", "penstock_target_query_operations", "Metadata operations that looked something up.", 1.0),
    ("modify.ops", "penstock_target_modify_operations", "Metadata operations that changed something.", 1.0),
)


class AgentCollector(Collector):
    """Asks for the agent's figures whenever it is scraped; the loop never waits for it."""

    def __init__(self, status: Callable[[], AgentStatus], *, per_target: bool = True) -> None:
        self._status = status
        self._per_target = per_target

    def collect(self) -> Iterator[Metric]:
        """All families, from one look."""
        status = self._status()
        yield from _agent(status)
        yield from _pace(status)
        yield from _node(status)
        yield from _tallies(status)
        yield from _volumes(status.targets, self._per_target)
        if self._per_target:
            yield from _targets(status)

    def describe(self) -> Iterator[Metric]:
        """Nothing in advance: registering must not take a look."""
        return iter(())


def registry(collector: AgentCollector) -> CollectorRegistry:
    """A registry of the agent's own: nothing of the interpreter's is in it."""
    own = CollectorRegistry(auto_describe=False)
    own.register(collector)
    return own


def text(own: CollectorRegistry) -> bytes:
    """The exposition in the text format that both a scrape and node_exporter's collector take."""
    return generate_latest(own)


def _agent(status: AgentStatus) -> Iterator[Metric]:
    yield InfoMetricFamily(
        "penstock_agent",
        "The running agent.",
        value={"version": status.version, "policy": status.policy},
    )
    modes = GaugeMetricFamily(
        "penstock_agent_mode", "How far the agent goes: 1 for the mode it is in.", labels=("mode",)
    )
    for mode in status.modes:
        modes.add_metric((mode,), float(mode == status.mode))
    yield modes
    yield _gauge("penstock_agent_paused", "1 while everything is paused.", float("*" in status.paused))
    yield _gauge("penstock_agent_problems", "Conditions that stand now.", len(status.problems))
    yield _gauge("penstock_agent_jobs", "Jobs marked as running on this node.", len(status.jobs))
    yield _counter("penstock_agent_log_lines_lost", "Log lines no disk took.", status.lost_log_lines)


def _pace(status: AgentStatus) -> Iterator[Metric]:
    pace = status.pace
    yield _gauge("penstock_agent_start_time_seconds", "When it started, Unix time.", pace.started_s)
    yield _gauge("penstock_agent_last_tick_timestamp_seconds", "The last tick, Unix time.", pace.last_tick_s)
    yield SummaryMetricFamily(
        "penstock_agent_tick_duration_seconds",
        "What one look at all targets, and what follows from it, takes.",
        count_value=pace.ticks,
        sum_value=pace.busy_s,
    )
    yield _counter("penstock_agent_overruns", "Ticks that outlasted their interval.", pace.overruns)


def _node(status: AgentStatus) -> Iterator[Metric]:
    node = status.node
    yield _gauge(
        "penstock_node_dirty_limit_bytes", "Dirty limits of all targets together.", node.dirty_limits_bytes
    )
    yield _gauge("penstock_node_dirty_budget_bytes", "What they may add up to.", node.dirty_budget_bytes)
    if node.memory_available_ratio is not None:
        yield _gauge(
            "penstock_node_memory_available_ratio",
            "Memory left, as a part of all.",
            node.memory_available_ratio,
        )


def _tallies(status: AgentStatus) -> Iterator[Metric]:
    tallies = status.tallies
    # What an alert watches is there from the start: Prometheus sees no increase in a series that begins above 0.
    changes = {Reason.GUARD_REVERT: 0, **tallies.changes}
    yield _by_reason("penstock_changes", "Changes carried out.", changes)
    yield _by_reason("penstock_advices", "Changes advised and not carried out.", tallies.advices)
    yield _by_reason("penstock_refusals", "Intervals in which the guard refused a change.", tallies.refusals)
    yield _by_reason("penstock_void_windows", "Intervals that could not be trusted.", tallies.voids)
    guarded = GaugeMetricFamily(
        "penstock_guarded_targets", "Targets the guard holds back now.", labels=("reason",)
    )
    for reason, count in _bounded(tallies.guarded_now).items():
        guarded.add_metric((reason,), count)
    yield guarded
    yield _counter("penstock_change_failures", "Changes the system refused.", tallies.failures)
    yield _counter("penstock_restores", "Targets that were given their originals back.", tallies.restores)
    yield _counter(
        "penstock_policy_errors",
        "Intervals in which the policy raised or answered nonsense.",
        tallies.policy_errors,
    )
    yield _counter("penstock_job_marks", "Begins and ends of jobs taken from prologs.", tallies.job_marks)


def _volumes(targets: tuple[TargetStatus, ...], per_target: bool) -> Iterator[Metric]:
    parts = tuple(target for target in targets if not target.whole_mount)
    carriers = tuple(target for target in parts if target.unit == BYTES)
    yield from _summed(carriers, VOLUMES, per_target)
    servers = tuple(target for target in parts if target.unit != BYTES)
    if servers:
        yield from _summed(servers, OPERATIONS_DONE, per_target)


def _summed(
    targets: tuple[TargetStatus, ...], volumes: Sequence[tuple[str, str, str, float]], per_target: bool
) -> Iterator[Metric]:
    labels = TARGET if per_target else TARGET[:1]
    for name, metric, documentation, scale in volumes:
        sums: dict[tuple[str, ...], float] = {}
        for target in targets:
            key = (target.fs, target.label)[: len(labels)]
            value = target.counters.get(name, 0.0)
            if value == value:  # noqa: PLR0124 - a counter that is NaN is not known
                sums[key] = sums.get(key, 0.0) + value * scale
        family = CounterMetricFamily(metric, documentation, labels=labels)
        for key, value in sums.items():
            family.add_metric(key, value)
        yield family


def _targets(status: AgentStatus) -> Iterator[Metric]:
    up = GaugeMetricFamily("penstock_target_up", "1 while its figures can be trusted.", labels=TARGET)
    knobs = GaugeMetricFamily(
        "penstock_knob_setting", "What is in force, in base units.", labels=(*TARGET, "knob")
    )
    changed = CounterMetricFamily("penstock_knob_changes", "Moves of a knob.", labels=(*TARGET, "knob"))
    for target in status.targets:
        up.add_metric((target.fs, target.label), float(target.up))
        for knob_id, value in target.knobs.items():
            knobs.add_metric((target.fs, target.label, knob_id), value)
    present = {(target.fs, target.label) for target in status.targets}
    for (fs, label, knob_id), count in status.tallies.knob_changes.items():
        if (fs, label) in present:
            changed.add_metric((fs, label, knob_id), count)
    yield from (up, knobs, changed)


def _gauge(name: str, documentation: str, value: float) -> Metric:
    return GaugeMetricFamily(name, documentation, value=value)


def _counter(name: str, documentation: str, value: float) -> Metric:
    return CounterMetricFamily(name, documentation, value=value)


def _by_reason(name: str, documentation: str, counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, documentation, labels=("reason",))
    for reason, count in _bounded(counts).items():
        family.add_metric((reason,), count)
    return family


def _bounded(counts: Mapping[str, int]) -> dict[str, int]:
    """A user's policy may invent reasons without end: beyond so many they are one."""
    bounded: dict[str, int] = {}
    for reason, count in counts.items():
        key = reason if len(bounded) < MOST_REASONS or reason in bounded else "other"
        bounded[key] = bounded.get(key, 0) + count
    return bounded
