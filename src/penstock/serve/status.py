"""What an agent shows of itself at one instant: plain figures, taken without stopping the loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ByReason = Mapping[str, int]
ByKnob = Mapping[tuple[str, str, str], int]


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """One target. `label` is its short name where that is unique on the node, else its full one.

    `knobs` are in base units (bytes, not MiB); `counters` are cumulative, by metric name; `up` is false while
    its last interval could not be trusted.
    """

    fs: str
    label: str
    knobs: Mapping[str, float]
    counters: Mapping[str, float]
    up: bool


@dataclass(frozen=True, slots=True)
class Tallies:
    """What happened since the agent started, counted."""

    knob_changes: ByKnob = field(default_factory=dict)
    changes: ByReason = field(default_factory=dict)
    advices: ByReason = field(default_factory=dict)
    refusals: ByReason = field(default_factory=dict)
    voids: ByReason = field(default_factory=dict)
    guarded_now: ByReason = field(default_factory=dict)
    failures: int = 0
    restores: int = 0
    job_marks: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """How the loop keeps its time."""

    started_s: float
    last_tick_s: float
    ticks: int
    busy_s: float
    overruns: int


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """What the node allows; None where it does not say."""

    dirty_limits_bytes: float
    dirty_budget_bytes: float | None
    memory_available_ratio: float | None


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The whole agent."""

    version: str
    mode: str
    modes: tuple[str, ...]
    policy: str
    paused: bool
    problems: int
    lost_log_lines: int
    jobs: int
    pace: Pace
    node: NodeStatus
    targets: tuple[TargetStatus, ...]
    tallies: Tallies
