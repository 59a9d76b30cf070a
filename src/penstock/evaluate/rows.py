"""The documents of the experiments, key by key: returned by a run, printed by `--json`, and used by reports.

All rates are application rates in 10^6 bytes per second, unless a key says wire. A setting is a value per knob.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict, final

Values = dict[str, int]
#: Seconds since the measured time began, pages and flight that were in force from then on.
KnobPath = list[list[float]]


class Head(TypedDict):
    """What every document begins with. `role` is what it is for, where that is not the experiment's name."""

    set: str
    cluster: str
    policy: str
    seconds: float
    seed: int
    seeds: int
    only: list[str]
    command: str
    role: NotRequired[str]


class Ratios(TypedDict):
    """A policy over all rows. Head-room is None where no row has any."""

    geomean_vs_default: float
    geomean_vs_best_static: float
    worst_vs_default: float
    headroom_captured: float | None


class RunTrail(TypedDict):
    """One run in time: a rate an interval."""

    default: list[float]
    policy: list[float]
    path: KnobPath


class StaticRow(TypedDict):
    """One workload. The ci95 keys are there where several seeds were run."""

    workload: str
    seen: bool
    seen_by: dict[str, str]
    default_mbps: float
    best_static_mbps: float
    policy_mbps: float
    default_wire_mbps: float
    best_static_wire_mbps: float
    policy_wire_mbps: float
    rewriting: bool
    vs_default_ci95: NotRequired[list[float | None]]
    gain_claimed: NotRequired[bool]
    default_ci95: NotRequired[float | None]
    best_static_ci95: NotRequired[float | None]
    policy_ci95: NotRequired[float | None]
    best_static: Values
    command: str


class StaticPolicy(Ratios):
    """One policy, and its rate on each workload."""

    mbps: dict[str, float]


class StaticDocument(Head, Ratios):
    """`evaluate static`. `surfaces` holds the rate of every setting, in the order of the grid."""

    rows: list[StaticRow]
    headline: dict[str, Any] | None
    policies: dict[str, StaticPolicy]
    surfaces: dict[str, list[float]]
    trails: dict[str, RunTrail]


class PhaseRow(TypedDict):
    """One phase of a sequence, counted from 1. `ceiling` is the setting that a search found for it."""

    list: str
    phase: int
    workload: str
    seconds: float
    default_mbps: float
    best_single_mbps: float
    ceiling_mbps: float
    ceiling: Values
    policy_mbps: float
    policies: dict[str, float]
    command: str


class SequenceTotal(TypedDict):
    """One sequence as a whole. `also` are other names of it.

    `adapt_s` has an entry a phase, None where 90 % of its ceiling was never reached.
    """

    list: str
    also: list[str]
    phases: list[str]
    phase_s: float
    default_mbps: float
    best_single_mbps: float
    best_single: Values
    ceiling_mbps: float
    policy_mbps: float
    vs_default: float
    vs_best_single: float
    vs_ceiling: float
    policies: dict[str, float]
    phases_vs_default: dict[str, float]
    phases_vs_ceiling: dict[str, float]
    adapt_s: list[float | None]
    changes: int
    trail: dict[str, list[float]]
    path: KnobPath
    command: str


class SequenceRatios(TypedDict):
    """A policy over sequences, against the default, the best single setting and every phase's ceiling."""

    geomean_vs_default: float
    worst_vs_default: float
    geomean_vs_best_single: float
    worst_vs_best_single: float
    phases_geomean_vs_default: float
    phases_geomean_vs_ceiling: float


class DynamicPolicy(SequenceRatios):
    """One policy over the long phases, and over the fast ones where there were any."""

    fast_switching: SequenceRatios | None


class DynamicDocument(Head, DynamicPolicy):
    """`evaluate dynamic`: a row a phase, and the sequences as wholes."""

    rows: list[PhaseRow]
    lists: list[SequenceTotal]
    policies: dict[str, DynamicPolicy]


class BothRates(TypedDict):
    """What the writer and the reader got."""

    write_mbps: float
    read_mbps: float


class BothRatios(TypedDict):
    """Writer and reader, each against the default."""

    write: float
    read: float


class IndependentRow(TypedDict):
    """One pair of processes; the three totals are of both together. `ceiling` has a setting for each process."""

    workload: str
    processes: list[str]
    best_static: Values
    ceiling: list[Values]
    mbps: dict[str, BothRates]
    vs_default: dict[str, BothRatios]
    default_mbps: float
    best_static_mbps: float
    policy_mbps: float
    command: str


class MeanRatio(TypedDict):
    """A policy over all pairs, by the geometric mean of writer and reader."""

    geomean_vs_default: float


class IndependentDocument(Head):
    """`evaluate independent`."""

    rows: list[IndependentRow]
    geomean_vs_default: float
    geomean_vs_best_static: float
    policies: dict[str, MeanRatio]


class SharedFigures(TypedDict):
    """Clients that share OSTs under one policy. The last two are None if no client or every client is tuned."""

    mbps: float
    ci95: float | None
    wire_mbps: float
    fairness: float
    moves_per_client_minute: float
    under_used: float
    tuned_vs_default: float | None
    untuned_vs_default: float | None


class ClientRow(TypedDict):
    """One client of a list, counted from 0. `alone_mbps` is what its workload gets at the default without others.

    The ceiling maximises the total, so a single client may get more elsewhere. Lists of which only some clients are
    tuned have none.
    """

    list: str
    client: int
    workload: str
    tuned: bool
    alone_mbps: float
    default_mbps: float
    best_single_mbps: float | None
    ceiling_mbps: float | None
    ceiling: Values | None
    policy_mbps: float
    policies: dict[str, float]
    command: str


class InterferenceTotal(TypedDict):
    """All clients of a list together. `also` are other names of it; `kind` is read, write or mixed."""

    list: str
    also: list[str]
    kind: str
    clients: int
    tuned_clients: int
    default_mbps: float
    best_single_mbps: float | None
    best_single: Values | None
    ceiling_mbps: float | None
    policy_mbps: float
    vs_default: float
    default_fairness: float
    policy_fairness: float
    policies: dict[str, SharedFigures]
    command: str


class InterferencePolicy(TypedDict):
    """A policy over all lists; the last is None if no list has a ceiling."""

    geomean_vs_default: float
    worst_vs_default: float
    geomean_vs_ceiling: float | None


class InterferenceDocument(Head, InterferencePolicy):
    """`evaluate interference`: a row a client, and the lists as wholes."""

    rows: list[ClientRow]
    lists: list[InterferenceTotal]
    policies: dict[str, InterferencePolicy]


class WorkTime(TypedDict):
    """How long fixed work took, and the parts of it in which the application read and wrote.

    Work that was not `done` was given up after that time.
    """

    seconds: float
    read_s: float
    write_s: float
    done: bool


class ApplicationRow(TypedDict):
    """One application and its fixed work. Rates are that work over the time it took; the best static setting is one
    for the whole run. `policies` and `times` have the default and the best static setting, too.
    """

    workload: str
    read_gb: float
    write_gb: float
    default_mbps: float
    best_static_mbps: float
    best_static: Values
    policy_mbps: float
    policies: dict[str, float]
    times: dict[str, WorkTime]
    speedup: float
    command: str


class ApplicationsDocument(Head, Ratios):
    """`evaluate applications`."""

    rows: list[ApplicationRow]
    policies: dict[str, Ratios]


@final
class Stage2Row(TypedDict):
    """A node short of memory: `stage2_gain` is carat's rate over dial's, which lacks the cache tuner."""

    workload: str
    default_mbps: float
    policy_mbps: float
    policies: dict[str, float]
    stage2_gain: float
    command: str


class InPlaceFigures(TypedDict):
    """Writes that fit the cache; `absorbed` is the share that never went over the wire."""

    app_mbps: float
    wire_mbps: float
    absorbed: float
    setting: Values


@final
class InPlaceRow(TypedDict):
    """Writes that fit the cache, under everything."""

    workload: str
    application: str
    default_mbps: float
    best_static_mbps: float
    best_static: Values
    policy_mbps: float
    policies: dict[str, InPlaceFigures]
    command: str


@final
class OvershootRow(TypedDict):
    """Algorithm 2 on drawn demands: ratios are what it hands out over the node's budget."""

    workload: str
    draws: int
    over_budget: float
    mean_ratio: float
    worst_ratio: float
    worst_ratio_capped: float
    command: str


@final
class BudgetRow(TypedDict):
    """A budget that many targets share: equal shares, the best split found, and policies."""

    workload: str
    budget_mib: float
    default_mbps: float
    equal_mbps: float
    best_split_mbps: float
    best_split: list[int]
    policies: dict[str, float]
    ci95: dict[str, float | None]
    policy_mbps: float
    binds: bool
    command: str


class CacheDocument(Head):
    """`evaluate cache`: rows of four kinds."""

    rows: list[Stage2Row | InPlaceRow | OvershootRow | BudgetRow]
    budgets: dict[str, Any] | None
    geomean_stage2_gain: float | None
