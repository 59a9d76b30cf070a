"""The demonstration: two equal simulated clients in equal worlds, one at its defaults and one tuned.

Everything happens on one OST, so the workload changes under a single tuned target. The tuner must leave the setting
of the earlier phase, and find it again when that work returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from penstock.agent.loop import Step, ticks
from penstock.config import Duration, Section, load
from penstock.errors import PenstockError
from penstock.knobs import Setting
from penstock.simulate.scenario import AnyWorkload, WorkloadTable, workload_of
from penstock.units import GIB, MIB
from penstock.window import Window
from penstock.workload import Workload

# An application that gets less than this share of its phase's mean waits.
WAITING = 0.3
# Where less than this share of what was written is sent, the rest was written over in memory.
REWRITTEN = 0.75
APPLICATION = ("app.read_bytes", "app.write_bytes")


class PhaseSection(Section):
    """`[[phase]]`: what the application does, until the next phase. The workload as in a scenario."""

    workload: AnyWorkload
    seconds: Duration = Field(gt=0)
    name: str = Field("", description="what the report calls it; the workload's own name if empty")

    @field_validator("workload")
    @classmethod
    def _is_known(cls, given: str | WorkloadTable) -> str | WorkloadTable:
        try:
            workload_of(given)
        except PenstockError as error:
            raise ValueError(str(error)) from error
        return given

    @property
    def work(self) -> Workload:
        """What the application does, under the name that the report gives it."""
        work = workload_of(self.workload)
        return replace(work, name=self.name or work.name)


#: Random writes over a file that fits the dirty limit: much of it is written again before it was sent.
REWRITING = WorkloadTable(read_ratio=0.0, access="random", request=MIB, file=GIB, cache=90 * GIB)


class DemoConfig(Section):
    """The whole file; everything has a default."""

    cluster: str = "c220g5"
    interval_s: Duration = Field(0.5, gt=0, le=60, description="time between two decisions")
    phase: tuple[PhaseSection, ...] = Field(
        (
            PhaseSection(workload="s_rd_rn_1m", seconds=40.0),
            PhaseSection(workload=REWRITING, seconds=40.0, name="rewriting"),
            PhaseSection(workload="s_rd_rn_1m", seconds=40.0),
        ),
        strict=False,
    )

    @model_validator(mode="after")
    def _has_enough_time(self) -> Self:
        if not self.phase:
            raise ValueError("at least one [[phase]] is needed")
        if self.seconds < 2 * self.interval_s:
            raise ValueError(f"the phases last {self.seconds:g} s, less than two intervals")
        return self

    @property
    def seconds(self) -> float:
        """How long the demonstration lasts, in virtual time."""
        return sum(phase.seconds for phase in self.phase)


@dataclass(frozen=True, slots=True)
class DemoPoint:
    """One client over one interval: what its application got, and what was done about it."""

    t_s: float
    bytes_per_s: float
    phase: int
    workload: str
    setting: Setting
    sentence: str
    changes: tuple[str, ...]
    #: What left the client's cache for the server.
    sent_bytes_per_s: float = 0.0
    written_bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Frame:
    """Both clients in the same interval."""

    default: DemoPoint
    tuned: DemoPoint


@dataclass(frozen=True, slots=True)
class PhaseFigures:
    """The figures of one phase. `settled_s` is the time of its last change, or None without a change."""

    workload: str
    start_s: float
    end_s: float
    default_mbps: float
    tuned_mbps: float
    setting: Setting
    changes: int
    settled_s: float | None
    #: The first setting that the tuner moved to in this phase.
    first_choice: Setting | None


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """The result in total, for the last quarter, and by phase. Time spent searching is included.

    A change is one decision that changed one or several knobs.
    """

    seconds: float
    default_mbps: float
    tuned_mbps: float
    default_end_mbps: float
    tuned_end_mbps: float
    changes: int
    phases: tuple[PhaseFigures, ...]

    @property
    def gain(self) -> float:
        """Tuned over default, over the whole time."""
        return self.tuned_mbps / self.default_mbps

    @property
    def returned(self) -> PhaseFigures | None:
        """The last phase with work seen before that ended at the setting the tuner had found for it then."""
        for late in range(len(self.phases) - 1, 1, -1):
            phase, between = self.phases[late], self.phases[late - 1]
            for early in self.phases[: late - 1]:
                same_work = early.workload == phase.workload
                if same_work and early.setting == phase.setting != between.setting:
                    return phase
        return None


@dataclass(frozen=True, slots=True)
class Leftover:
    """What a writer left in a client's cache is sent at the start of the next phase, whose own work waits for it."""

    workload: str
    start_s: float
    end_s: float
    sent_bytes: float


@dataclass(frozen=True, slots=True)
class Written:
    """What a phase's program wrote at one client, and what of it was sent: the rest was written over in memory."""

    workload: str
    written_mbps: float
    sent_mbps: float


def leftovers(seen: Sequence[Frame], summary: DemoSummary) -> list[tuple[Leftover, Leftover]]:
    """Where the work of a phase begins with waiting for the writes of the one before: at the default, and tuned."""
    found = []
    for number, phase in enumerate(summary.phases[1:], 1):
        part = [frame for frame in seen if frame.tuned.phase == number]
        before = summary.phases[number - 1].workload
        default = _leftover([frame.default for frame in part], before, phase.start_s, phase.default_mbps)
        tuned = _leftover([frame.tuned for frame in part], before, phase.start_s, phase.tuned_mbps)
        if default.end_s > phase.start_s:
            found.append((default, tuned))
    return found


def _leftover(part: Sequence[DemoPoint], before: str, start_s: float, usual_mbps: float) -> Leftover:
    waits = list(takewhile(partial(_waits, 1e6 * usual_mbps), part))
    if not waits:
        return Leftover(before, start_s, start_s, 0.0)
    step_s = (waits[-1].t_s - start_s) / len(waits)
    return Leftover(before, start_s, waits[-1].t_s, sum(point.sent_bytes_per_s for point in waits) * step_s)


def _waits(usual_bytes_per_s: float, point: DemoPoint) -> bool:
    return point.bytes_per_s < min(WAITING * usual_bytes_per_s, point.sent_bytes_per_s)


def rewritten(seen: Sequence[Frame]) -> list[tuple[Written, Written]]:
    """The phases whose program writes over much of its data before it is sent: at the default, and tuned."""
    numbers = dict.fromkeys(frame.tuned.phase for frame in seen)
    parts = [[frame for frame in seen if frame.tuned.phase == number] for number in numbers]
    both = [
        (_written([frame.default for frame in part]), _written([frame.tuned for frame in part]))
        for part in parts
    ]
    return [
        (default, tuned) for default, tuned in both if default.sent_mbps < REWRITTEN * default.written_mbps
    ]


def _written(part: Sequence[DemoPoint]) -> Written:
    written = sum(point.written_bytes_per_s for point in part) / len(part) / 1e6
    return Written(
        part[-1].workload, written, sum(point.sent_bytes_per_s for point in part) / len(part) / 1e6
    )


def read_config(path: Path | None) -> DemoConfig:
    """The given file, or the built-in demonstration."""
    return DemoConfig() if path is None else load(path, DemoConfig)


def frames(config: DemoConfig, policy: str, seed: int) -> Iterator[Frame]:
    """Run both clients side by side, interval by interval."""
    plain = _client(config, "default", seed)
    tuned = _client(config, policy, seed)
    for left, right in zip(plain, tuned, strict=True):
        yield Frame(left, right)


def summarise(seen: Sequence[Frame]) -> DemoSummary:
    """Mean throughputs of both sides, as the applications saw them."""
    last = seen[-max(1, len(seen) // 4) :]
    numbers = dict.fromkeys(frame.tuned.phase for frame in seen)
    parts = [[frame for frame in seen if frame.tuned.phase == number] for number in numbers]
    ends = [part[-1].tuned.t_s for part in parts]
    phases = [_phase(part, start_s) for part, start_s in zip(parts, [0.0, *ends], strict=False)]
    changes = sum(phase.changes for phase in phases)
    return DemoSummary(seen[-1].tuned.t_s, *_means(seen), *_means(last), changes, tuple(phases))


def _phase(part: Sequence[Frame], start_s: float) -> PhaseFigures:
    last = part[-1].tuned
    moved = [frame.tuned.t_s - start_s for frame in part if frame.tuned.changes]
    settled_s = moved[-1] if moved else None
    entered = part[0].tuned.setting
    chosen = next((frame.tuned.setting for frame in part if frame.tuned.setting != entered), None)
    return PhaseFigures(
        last.workload, start_s, last.t_s, *_means(part), last.setting, len(moved), settled_s, chosen
    )


def _means(part: Sequence[Frame]) -> tuple[float, float]:
    default = sum(frame.default.bytes_per_s for frame in part) / len(part) / 1e6
    tuned = sum(frame.tuned.bytes_per_s for frame in part) / len(part) / 1e6
    return default, tuned


def _client(config: DemoConfig, policy: str, seed: int) -> Iterator[DemoPoint]:
    from penstock.evaluate.simulated_client import Tuning, simulated_client
    from penstock.simulate.assembly import Job, Plan
    from penstock.simulate.cluster import builtin_cluster
    from penstock.simulate.simulation import Simulation

    cluster = builtin_cluster(config.cluster).override({"layout.ost_count": "1"})
    start_s, jobs = 0.0, []
    for phase in config.phase:
        jobs.append(Job(phase.work, 0, start_s, start_s + phase.seconds))
        start_s += phase.seconds
    simulation = Simulation(Plan(cluster, tuple(jobs), 1, seed))
    running = ticks(simulated_client(simulation, Tuning(policy, interval_s=config.interval_s)))
    for _ in range(round(config.seconds / config.interval_s)):
        steps = next(running)
        now = max(number for number, job in enumerate(jobs) if job.start_s < simulation.now_s - 1e-9)
        yield _point(steps, now, jobs[now].workload.name)


def _point(steps: Sequence[Step], phase: int, workload: str) -> DemoPoint:
    """All targets of the client combined: the sum of their bytes, and the decision about the busiest."""
    windows = [step.window for step in steps if isinstance(step.window, Window)]
    rate = sum(window.rate(metric) for window in windows for metric in APPLICATION)
    busiest = max(
        steps, key=lambda step: step.window.moved_per_s if isinstance(step.window, Window) else -1.0
    )
    setting = busiest.window.setting if isinstance(busiest.window, Window) else Setting()
    sentence = busiest.decision.sentence if busiest.decision is not None else "idle"
    changes = tuple(
        str(change)
        for step in steps
        if step.decision is not None and step.receipt is not None and step.receipt.error is None
        for change in step.decision.changes
    )
    sent, written = (sum(window.rate(name) for window in windows) for name in ("write.bytes", APPLICATION[1]))
    return DemoPoint(busiest.window.t1_s, rate, phase, workload, setting, sentence, changes, sent, written)
