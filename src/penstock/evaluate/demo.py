"""The demonstration: two equal clients in equal worlds, one left at its defaults, one tuned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from penstock.agent.loop import Loop, Ports, Step, ticks
from penstock.config import Duration, Section, Size, load
from penstock.decide.policies import policy_class
from penstock.decide.tuner import Tuner
from penstock.knobs import Setting
from penstock.simulate.queueing import Hardware, Load, QueueingTarget
from penstock.units import KIB, MIB
from penstock.window import Window


class TargetSection(Section):
    """`[target]`: the simulated server."""

    bandwidth: Size = Field(1200 * MIB, gt=0, description="bytes the server can take per second")
    overhead_s: Duration = Field(60e-6, ge=0, description="server time per request")
    noise: float = Field(0.05, ge=0, le=1, description="relative spread of the server's rate")


class PhaseSection(Section):
    """`[[phase]]`: what the application does, until the next phase."""

    seconds: Duration = Field(gt=0)
    request: Size = Field(gt=0, description="bytes of one application request")
    latency_s: Duration = Field(ge=0, description="time a request spends on its way")


class DemoConfig(Section):
    """The whole file; everything has a default."""

    interval_s: Duration = Field(0.5, gt=0, le=60, description="time between two decisions")
    target: TargetSection = TargetSection()
    phase: tuple[PhaseSection, ...] = Field(
        (
            PhaseSection(seconds=40.0, request=256 * KIB, latency_s=6e-3),
            PhaseSection(seconds=40.0, request=4 * MIB, latency_s=1e-3),
            PhaseSection(seconds=40.0, request=64 * KIB, latency_s=2e-3),
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
class Point:
    """One client over one interval."""

    t_s: float
    bytes_per_s: float
    setting: Setting
    sentence: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """Both clients over the same interval."""

    default: Point
    tuned: Point


@dataclass(frozen=True, slots=True)
class Summary:
    """The outcome, over everything and over the last quarter, when the search is over."""

    seconds: float
    default_mbps: float
    tuned_mbps: float
    default_end_mbps: float
    tuned_end_mbps: float
    changes: int
    final: Setting

    @property
    def gain(self) -> float:
        """Tuned over default, over the whole time: the search itself counts."""
        return self.tuned_mbps / self.default_mbps


def read_config(path: Path | None) -> DemoConfig:
    """The given file, or the built-in demonstration."""
    return DemoConfig() if path is None else load(path, DemoConfig)


def frames(config: DemoConfig, policy: str, seed: int) -> Iterator[Frame]:
    """Run both clients side by side, interval by interval."""
    plain = _client(config, "default", seed)
    tuned = _client(config, policy, seed)
    for left, right in zip(plain, tuned, strict=False):
        yield Frame(left, right)


def summarise(seen: Sequence[Frame]) -> Summary:
    """Mean throughputs of both sides."""
    last = seen[-max(1, len(seen) // 4) :]
    return Summary(
        seconds=seen[-1].tuned.t_s,
        default_mbps=_mean_mbps([frame.default for frame in seen]),
        tuned_mbps=_mean_mbps([frame.tuned for frame in seen]),
        default_end_mbps=_mean_mbps([frame.default for frame in last]),
        tuned_end_mbps=_mean_mbps([frame.tuned for frame in last]),
        changes=sum(frame.tuned.changed for frame in seen),
        final=seen[-1].tuned.setting,
    )


def _mean_mbps(points: Sequence[Point]) -> float:
    return sum(point.bytes_per_s for point in points) / len(points) / 1e6


def _client(config: DemoConfig, policy: str, seed: int) -> Iterator[Point]:
    world = _world(config, seed)
    tuner = Tuner(policy_class(policy), seed)
    for steps in ticks(Loop(Ports(world, world, world), tuner, config.interval_s)):
        yield _point(steps[0])
        if world.now() >= config.seconds - 1e-9:
            return


def _world(config: DemoConfig, seed: int) -> QueueingTarget:
    start_s, loads = 0.0, []
    for phase in config.phase:
        loads.append(Load(start_s, phase.request, phase.latency_s))
        start_s += phase.seconds
    target = config.target
    return QueueingTarget(Hardware(target.bandwidth, target.overhead_s, target.noise), loads, seed)


def _point(step: Step) -> Point:
    window = step.window
    rate = window.bytes_per_s if isinstance(window, Window) else 0.0
    setting = window.setting if isinstance(window, Window) else Setting()
    sentence = step.decision.sentence if step.decision is not None else ""
    return Point(window.t1_s, rate, setting, sentence, step.receipt is not None)
