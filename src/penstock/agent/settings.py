"""The agent's configuration file, option by option."""

from __future__ import annotations

import fnmatch
import ipaddress
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from penstock.config import Duration, Section, load_layered, validate
from penstock.decide.guard import GuardLimits
from penstock.snapshot import Target


class Mode(StrEnum):
    """How far the agent may go."""

    OBSERVE = "observe"
    ADVISE = "advise"
    TUNE = "tune"


class Rollback(StrEnum):
    """When originals come back: reverting under load has caused outages elsewhere."""

    ALWAYS = "always"
    NOT_ON_EXIT = "not_on_exit"
    ON_IDLE = "on_idle"


def _word(kind: type[StrEnum]) -> BeforeValidator:
    def choose(value: object) -> object:
        if not isinstance(value, str) or value not in list(kind):
            raise ValueError(f"must be one of {', '.join(kind)}")
        return kind(value)

    return BeforeValidator(choose)


Names = Annotated[tuple[str, ...], Field(strict=False)]


class ScopeSection(Section):
    """`[scope]`: which targets may be touched; shell patterns. Deny wins."""

    allow_fs: Names = ("*",)
    deny_fs: Names = ()
    allow_targets: Names = ("*",)
    deny_targets: Names = ()

    def covers(self, target: Target) -> bool:
        """Whether this target may be tuned."""
        return (
            _matches(target.fs, self.allow_fs)
            and _matches(target.name, self.allow_targets)
            and not _matches(target.fs, self.deny_fs)
            and not _matches(target.name, self.deny_targets)
        )


class GuardSection(Section):
    """`[guard]`: how cautious the guard is."""

    dwell_s: Duration = Field(1.4, ge=0)
    jitter_s: Duration = Field(1.0, ge=0)
    pause_s: Duration = Field(2.0, ge=0)
    hysteresis_s: Duration = Field(30.0, ge=0)
    hysteresis_confidence: float = Field(0.9, ge=0, le=1)
    changes_per_hour: int = Field(240, ge=0)
    worse_ratio: float = Field(0.85, gt=0, le=1)
    judge_windows: int = Field(10, ge=1)
    crash_ratio: float = Field(0.4, ge=0, le=1)
    crash_windows: int = Field(2, ge=1)
    blacklist_s: Duration = Field(60.0, gt=0)
    breaker_reverts: int = Field(4, ge=1)
    breaker_window_s: Duration = Field(300.0, gt=0)
    breaker_s: Duration = Field(300.0, gt=0)
    memory_floor_ratio: float = Field(0.05, ge=0, lt=1)

    def limits(self) -> GuardLimits:
        """The same numbers, as the guard takes them."""
        return GuardLimits(**self.model_dump())


def _loopback(listen: str) -> str:
    host, _, port = listen.rpartition(":")
    if not listen:
        return listen
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError("must be ADDRESS:PORT, such as 127.0.0.1:9477")
    try:
        local = ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        local = False
    if not local:
        raise ValueError("must be a loopback address: 127.0.0.1 or [::1]")
    return listen


def _prom_file(textfile: str) -> str:
    path = Path(textfile)
    if textfile and not (path.is_absolute() and path.suffix == ".prom" and ".." not in path.parts):
        raise ValueError("must be an absolute path that ends in .prom")
    return textfile


class MetricsSection(Section):
    """`[metrics]`: ways out for Prometheus; none is open unless named here."""

    listen: Annotated[str, AfterValidator(_loopback)] = ""
    textfile: Annotated[str, AfterValidator(_prom_file)] = ""
    textfile_period_s: Duration = Field(15.0, ge=1, le=3600)
    per_target: bool = True

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the page."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


class AgentConfig(Section):
    """The whole of `agent.toml`; every option has a safe default."""

    mode: Annotated[Mode, _word(Mode)] = Mode.OBSERVE
    policy: str = "weir"
    model: str = ""
    interval_s: Duration = Field(0.5, gt=0, le=60)
    rollback: Annotated[Rollback, _word(Rollback)] = Rollback.ALWAYS
    cache_ratio: float = Field(
        0.25, gt=0, le=0.5, description="part of memory all dirty limits may add up to"
    )
    watchdog_s: Duration = Field(30.0, ge=1, description="a loop that hangs this long is left to a restart")
    log_max_bytes: int = Field(10_000_000, ge=10_000)
    log_keep: int = Field(5, ge=1, le=100)
    scope: ScopeSection = ScopeSection()
    guard: GuardSection = GuardSection()
    metrics: MetricsSection = MetricsSection()

    def with_options(self, **options: object) -> Self:
        """This configuration with single options exchanged, validated like the file itself."""
        return validate({**self.model_dump(), **options}, type(self), "command line")

    @model_validator(mode="after")
    def _guard_fits_interval(self) -> Self:
        if self.guard.pause_s < self.interval_s:
            raise ValueError(
                f"guard.pause_s = {self.guard.pause_s:g} is shorter than interval_s = {self.interval_s:g}"
            )
        return self


def read_settings(path: Path | None) -> AgentConfig:
    """The given file with its drop-ins, or the defaults."""
    return AgentConfig() if path is None else load_layered(path, AgentConfig)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
