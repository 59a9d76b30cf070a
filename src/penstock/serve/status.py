"""What an agent shows of itself at one instant, taken without stopping the loop.

There is one such object. Metrics, `penstock agent status` and `top` are three ways to print it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.decide.guard import BoundUse
from penstock.gains import Gain, GainVerdict
from penstock.knobs.target_kind import BYTES, DATA_PATH

ByReason = Mapping[str, int]
ByKnob = Mapping[tuple[str, str, str], int]


@dataclass(frozen=True, slots=True)
class LastChange:
    """A target's most recent change, made or advised, and what it turned out to do (after over before)."""

    id: str
    time_s: float
    changes: tuple[str, ...]
    reason: str
    sentence: str
    made: bool
    gain: Gain | None = None


@dataclass(frozen=True, slots=True)
class TargetStatus:
    """One target.

    `label` is its resource's name where that is unique within its file system, else its full name: a remount
    then continues its series. `short` is unique on the node. `knobs` are in base units (bytes, not MiB), `setting`
    in the system's own. `counters` are cumulative, by metric name.
    """

    name: str
    fs: str
    resource: str
    label: str
    short: str
    knobs: Mapping[str, float]
    counters: Mapping[str, float]
    setting: Mapping[str, int] = field(default_factory=dict)
    #: Why its last interval cannot be trusted; None while it can.
    void: str | None = None
    #: Whether there was an interval at all.
    seen: bool = True
    #: What it moves in each way of work, by the way's name, in `unit` per second.
    rates: Mapping[str, float] = field(default_factory=dict)
    unit: str = BYTES
    kind: str = DATA_PATH.name
    #: Whether it stands for a whole mount, whose connections count the same once more.
    whole_mount: bool = False
    #: The last word of the policy or the guard: id, reason and sentence of a decision.
    decision: str | None = None
    reason: str | None = None
    sentence: str | None = None
    #: What it would set, where it only advises.
    wish: tuple[str, ...] = ()
    paused: bool = False
    in_scope: bool = True
    #: Knobs that belong to their administrator.
    manual: tuple[str, ...] = ()
    #: The rule that holds it back, `trial`, or nothing.
    guard: str = ""
    last_change: LastChange | None = None

    @property
    def up(self) -> bool:
        """Whether its last interval can be trusted."""
        return self.seen and self.void is None


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
    policy_errors: int = 0


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
    """What the node allows. The memory left is None where it does not say."""

    dirty_limits_bytes: float
    dirty_budget_bytes: float
    memory_available_ratio: float | None


@dataclass(frozen=True, slots=True)
class AgentStatus:
    """The agent and all its targets at one instant."""

    version: str
    pid: int
    mode: str
    modes: tuple[str, ...]
    policy: str
    interval_s: float
    rollback: str
    #: Targets and file systems that are paused; `*` is everything.
    paused: tuple[str, ...]
    #: The conditions that stand, as sentences.
    problems: tuple[str, ...]
    lost_log_lines: int
    #: The jobs that run on this node.
    jobs: tuple[str, ...]
    pace: Pace
    node: NodeStatus
    targets: tuple[TargetStatus, ...]
    tallies: Tallies
    #: The headline: what tuning is worth here, by experiment or else before and after (`penstock.agent.effect`).
    effect: Mapping[str, Any] | None = None
    #: Those of them that asked to be left alone.
    hands_off: tuple[str, ...] = ()
    #: Where the client's /sys and /proc are.
    root: str = "/"
    #: How much of what changes may cost each mount has used.
    bounds: tuple[BoundUse, ...] = ()


def document(status: AgentStatus, now_s: float) -> dict[str, Any]:
    """The answer to `penstock agent status --json`."""
    return {
        "version": status.version,
        "pid": status.pid,
        "root": status.root,
        "mode": status.mode,
        "policy": status.policy,
        "interval_s": status.interval_s,
        "rollback": status.rollback,
        "uptime_s": now_s - status.pace.started_s,
        "ticks": status.pace.ticks,
        "paused": list(status.paused),
        "lost_log_lines": status.lost_log_lines,
        "policy_errors": status.tallies.policy_errors,
        "problems": list(status.problems),
        "jobs": list(status.jobs),
        "effect": dict(status.effect) if status.effect is not None else None,
        "hands_off": list(status.hands_off),
        "node": asdict(status.node),
        "bounds": [asdict(bound) for bound in status.bounds],
        "targets": [
            _row(target, status) for target in sorted(status.targets, key=lambda t: t.name) if target.seen
        ],
    }


def standing(target: TargetStatus, mode: str, hands_off: bool) -> tuple[str, str]:
    """Where a target stands: a word of at most nine letters, and what there is to say, for every command and page."""
    moved = any(target.rates.values())
    held = (
        (target.void is not None, "void", str(target.void)),
        (not target.in_scope, "denied", "out of the configured scope"),
        (hands_off, "hands off", "left alone: a job asked for it"),
        (target.paused, "paused", "left as it is until resumed"),
        (mode == "observe", "observed" if moved else "idle", "only observed"),
    )
    for applies, state, words in held:
        if applies:
            return state, words
    said = target.sentence or ("nothing was decided yet" if moved else "idle")
    if target.wish and mode == "advise":
        said = f"would set {', '.join(target.wish)}: {said}"
    if target.manual:
        said += f"; left to its administrator: {', '.join(target.manual)}"
    return ("admin's" if target.manual else target.guard or ("steady" if moved else "idle")), said


def _row(target: TargetStatus, status: AgentStatus) -> dict[str, Any]:
    place = {"target": target.name, "short": target.short, "fs": target.fs, "resource": target.resource}
    state, words = standing(target, status.mode, bool(status.hands_off))
    standing_of = {
        "state": state,
        "words": words,
        "paused": target.paused,
        "in_scope": target.in_scope,
        "manual": list(target.manual),
        "guard": target.guard,
        "last_change": _change(target.last_change) if target.last_change is not None else None,
    }
    if target.void is not None:
        return {**place, "void": target.void, **standing_of}
    return {
        **place,
        "kind": target.kind,
        "setting": dict(target.setting),
        **{f"{way}_{target.unit}_per_s": rate for way, rate in target.rates.items()},
        "decision": target.decision,
        "reason": target.reason,
        "sentence": target.sentence,
        **standing_of,
    }


def _change(last: LastChange) -> dict[str, Any]:
    gain = last.gain
    figures = {} if gain is None else {"low": gain.low, "high": gain.high, "verdict": gain.verdict.value}
    return {**asdict(last), "gain": None if gain is None else gain.ratio, **figures}


def rate_words(rows: Iterable[Mapping[str, Any]], unit: str = " MB/s") -> tuple[str, str]:
    """What targets of one kind moved together in their last interval: 10^6 bytes a second read and written with this
    unit behind, or operations a second that look something up and that change something.

    >>> rate_words([{"read_bytes_per_s": 4e6, "write_bytes_per_s": 0.0}] * 2)
    ('8.0 MB/s', '0.0 MB/s')
    >>> rate_words([{"query_operations_per_s": 12.4, "modify_operations_per_s": 14321.0}])
    ('12 op/s', '14.3k op/s')
    """
    known = list(rows)
    if any("query_operations_per_s" in row for row in known):
        looked, changed = (_total(known, f"{way}_operations_per_s") for way in ("query", "modify"))
        return _operations(looked), _operations(changed)
    read, written = (_total(known, f"{way}_bytes_per_s") / 1e6 for way in ("read", "write"))
    return f"{read:.1f}{unit}", f"{written:.1f}{unit}"


def is_busy(row: Mapping[str, Any]) -> bool:
    """Whether a target moved anything in its last interval."""
    return any(bool(value) for name, value in row.items() if name.endswith("_per_s"))


def _total(rows: Iterable[Mapping[str, Any]], name: str) -> float:
    return sum(float(row.get(name) or 0.0) for row in rows)


def _operations(rate: float) -> str:
    return f"{rate:.0f} op/s" if rate < 999.5 else f"{rate / 1e3:.3g}k op/s"


def effect_sentence(effect: Mapping[str, Any] | None) -> str:
    """The headline in words that claim no more than the figure does."""
    if effect is None:
        return "effect: nothing was judged yet"
    said = f"effect: {_times(effect)}"
    if effect["kind"] == "switchback":
        return f"{said} (switchback, {effect['pairs']} pairs)"
    judged = "1 comparison" if effect["changes"] == 1 else f"{effect['changes']} comparisons"
    tried = effect.get("trial")
    told = (
        "agent trial tells more"
        if tried is None
        else f"a trial of {tried['pairs']} pairs was {_times(tried)}"
    )
    return f"{said} (before/after, {judged}; {told})"


def _times(effect: Mapping[str, Any]) -> str:
    gain = Gain(effect["gain"], effect.get("low"), effect.get("high"))
    if gain.low is None or gain.high is None:
        return f"undecided: {gain.ratio:.2f} times as fast, with an error that nobody knows"
    if gain.verdict is GainVerdict.UNDECIDED:
        return f"undecided, {gain.words} as fast"
    return f"{gain.words} as fast, 95 % between {gain.low:.2f} and {gain.high:.2f}"
