"""The demonstration: two equal simulated clients in equal worlds, one at its defaults and one tuned.

Everything happens on one OST, so the workload changes under a single tuned target. The tuner must leave the setting
of the earlier phase, and find it again when that work returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from penstock.agent.loop import Step, ticks
from penstock.config import Duration, Section, load
from penstock.errors import PenstockError
from penstock.knobs import Setting
from penstock.window import Window
from penstock.workload import parse_workload

# An application that gets less than this share of its phase's mean waits.
WAITING = 0.3
APPLICATION = ("app.read_bytes", "app.write_bytes")


class PhaseSection(Section):
    """`[[phase]]`: what the application does, until the next phase."""

    workload: str
    seconds: Duration = Field(gt=0)

    @field_validator("workload")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            return parse_workload(name).name
        except PenstockError as error:
            raise ValueError(str(error)) from error


class DemoConfig(Section):
    """The whole file; everything has a default."""

    cluster: str = "c220g5"
    interval_s: Duration = Field(0.5, gt=0, le=60, description="time between two decisions")
    phase: tuple[PhaseSection, ...] = Field(
        (
            PhaseSection(workload="s_rd_rn_1m", seconds=40.0),
            PhaseSection(workload="s_wr_rn_8k", seconds=40.0),
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
    """What a writer left in the cache is sent at the start of the next phase, whose own work waits for it."""

    workload: str
    start_s: float
    end_s: float
    sent_bytes: float


def leftovers(seen: Sequence[Frame], summary: DemoSummary) -> list[Leftover]:
    """Where the work of a phase begins with waiting for the writes of the one before, by the default client."""
    found = []
    for number, phase in enumerate(summary.phases[1:], 1):
        part = [frame.default for frame in seen if frame.default.phase == number]
        waits = list(takewhile(partial(_waits, 1e6 * phase.default_mbps), part))
        if waits:
            step_s = (waits[-1].t_s - phase.start_s) / len(waits)
            sent = sum(point.sent_bytes_per_s for point in waits) * step_s
            found.append(Leftover(summary.phases[number - 1].workload, phase.start_s, waits[-1].t_s, sent))
    return found


def _waits(usual_bytes_per_s: float, point: DemoPoint) -> bool:
    return point.bytes_per_s < min(WAITING * usual_bytes_per_s, point.sent_bytes_per_s)


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
        jobs.append(Job(parse_workload(phase.workload), 0, start_s, start_s + phase.seconds))
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
    sent = sum(window.rate("write.bytes") for window in windows)
    return DemoPoint(busiest.window.t1_s, rate, phase, workload, setting, sentence, changes, sent)
