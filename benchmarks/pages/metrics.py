"""Reference of the metrics: what a real collector says of a made-up agent that has everything once."""

from __future__ import annotations

from benchmarks.pages.markdown import code, page, table

from penstock.serve.metrics import AgentCollector
from penstock.serve.status import AgentStatus, NodeStatus, Pace, Tallies, TargetStatus

LEAD = """\
Where Prometheus gets these is set in `agent.toml`: `metrics.listen` (a page on loopback) or `metrics.textfile`
(a file for node_exporter's collector, no new port). Both are off by default. `metrics.per_target = false`
leaves the label `target` out: sums by file system only, for clients of a thousand targets.

Rules for recording and alerting ship as `/opt/penstock/share/penstock.rules.yml`, a Grafana dashboard as
`penstock-fleet.json` beside it. [Rolling out to a fleet](../how-to/fleet.md#watch) says which figures to watch."""


def text() -> str:
    """The page."""
    families = sorted(AgentCollector(_example).collect(), key=lambda each: each.name)
    rows = [
        (
            code(
                family.name
                + ("_total" if family.type == "counter" else "_info" if family.type == "info" else "")
            ),
            family.type,
            ", ".join(code(name) for name in _labels(family)),
            family.documentation,
        )
        for family in families
    ]
    return page("Metrics", LEAD, table(("metric", "type", "labels", "meaning"), rows))


def _labels(family: object) -> list[str]:
    names = {name: None for sample in getattr(family, "samples", ()) for name in sample.labels}
    return list(names)


def _example() -> AgentStatus:
    """An agent with one target, to which everything that is counted has happened."""
    once = {"reason": 1}
    target = TargetStatus(
        name="scratch-OST0000-osc-0", fs="scratch", resource="OST0000", label="OST0000", short="OST0000",
        knobs={"pages": 1024.0}, counters={"read.bytes": 1.0}, setting={"pages": 1024},
    )  # fmt: skip
    return AgentStatus(
        version="0", pid=1, mode="observe", modes=("observe", "advise", "tune"), policy="weir", interval_s=0.5,
        rollback="always", paused=(), problems=(), lost_log_lines=0, jobs=(), pace=Pace(0.0, 0.0, 1, 0.0, 0),
        node=NodeStatus(1.0, 1.0, 0.5), targets=(target,),
        tallies=Tallies({("scratch", "OST0000", "pages"): 1}, once, once, once, once, once),
    )  # fmt: skip
