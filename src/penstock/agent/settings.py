"""The agent's configuration file, option by option."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from penstock.actuate.node_actuator import Reach
from penstock.agent.filesystems import MOUNT_KINDS, NODE_KNOBS, SECTIONS, is_mount_kind, mount_scope
from penstock.agent.old_guard_keys import modernised
from penstock.agent.plugins import require_known
from penstock.config import Duration, Section, load_layered, validate
from penstock.decide.guard import GuardLimits
from penstock.decide.objective import Objective
from penstock.errors import PenstockError, did_you_mean
from penstock.knobs.target_kind import DATA
from penstock.snapshot import Target
from penstock.spaces import SPACES


class Mode(StrEnum):
    """Whether the agent only observes, also says what it would change, or changes it."""

    OBSERVE = "observe"
    ADVISE = "advise"
    TUNE = "tune"


class Rollback(StrEnum):
    """When originals are restored. Reverting under load has caused outages elsewhere."""

    ALWAYS = "always"
    NOT_ON_EXIT = "not_on_exit"
    ON_IDLE = "on_idle"


class Compile(StrEnum):
    """Whether inference is compiled, if the extra `[fast]` is installed."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def _word(kind: type[StrEnum]) -> BeforeValidator:
    def choose(value: object) -> object:
        if not isinstance(value, str) or value not in list(kind):
            near = did_you_mean(value, kind) if isinstance(value, str) else ""
            raise ValueError(f"must be one of {', '.join(kind)}, got {value!r}{near}")
        return kind(value)

    return BeforeValidator(choose)


def _known_policy(name: str) -> str:
    if name.endswith(".py") and not Path(name).exists():
        raise ValueError(f"{name!r}: no such file")
    try:
        return require_known(name)
    except PenstockError as error:
        raise ValueError(str(error)) from None


Names = Annotated[tuple[str, ...], Field(strict=False)]
Uid = Annotated[int, Field(ge=0, lt=1 << 32, strict=True)]


def _mount_kinds(kinds: tuple[str, ...]) -> tuple[str, ...]:
    for kind in kinds:
        if not is_mount_kind(kind):
            raise ValueError(
                f"{kind!r} cannot be tuned; known are {', '.join(MOUNT_KINDS)} and others like them"
            )
    return kinds


def _sections(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in SECTIONS:
            raise ValueError(
                f"{name!r} is no kind; known are {', '.join(SECTIONS)}{did_you_mean(name, SECTIONS)}"
            )
    return names


def _node_knobs(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in NODE_KNOBS:
            raise ValueError(f"{name!r} is no node-wide knob; known is {', '.join(NODE_KNOBS)}")
    return names


def _knob_rules(rules: tuple[str, ...]) -> tuple[str, ...]:
    known = tuple(dict.fromkeys(knob_id for space in SPACES for knob_id in space.ids))
    for rule in rules:
        knob_id = rule.rpartition(":")[2]
        if knob_id not in known:
            raise ValueError(f"{rule!r} ends in no knob: {', '.join(known)}{did_you_mean(knob_id, known)}")
    return rules


class ScopeSection(Section):
    """`[scope]`: which targets and knobs may be touched; shell patterns. Deny wins.

    `kinds` are the kinds of work that may be tuned: `data`, and `metadata` and `readahead` only where they are named.

    `mount_users` are the uids whose own mounts may be tuned; a user can mount anything under any name.

    Targets are named in full or in short (`scratch-OST0003`). `deny_knobs` holds `KNOB` or `TARGETS:KNOB`.
    """

    allow_fs: Names = ("*",)
    deny_fs: Names = ()
    allow_targets: Names = ("*",)
    deny_targets: Names = ()
    kinds: Annotated[Names, AfterValidator(_sections)] = (DATA,)
    mount_kinds: Annotated[Names, AfterValidator(_mount_kinds)] = MOUNT_KINDS
    mount_users: Annotated[tuple[Uid, ...], Field(strict=False)] = (0,)
    node_knobs: Annotated[Names, AfterValidator(_node_knobs)] = ()
    deny_knobs: Annotated[Names, AfterValidator(_knob_rules)] = ()

    def reach(self) -> Reach:
        """Which mounts and which node-wide knobs this lets the agent at."""
        mounts = mount_scope(self.mount_kinds, self.mount_users)
        sections = frozenset(self.kinds)
        return Reach(mounts, frozenset(self.node_knobs), self.denied_knobs, sections)

    def covers(self, target: Target) -> bool:
        """Whether this target may be tuned."""
        return (
            target.kind.section in self.kinds
            and _matches(target.fs, self.allow_fs)
            and _names(target, self.allow_targets)
            and not _matches(target.fs, self.deny_fs)
            and not _names(target, self.deny_targets)
        )

    def covers_fs(self, fs: str) -> bool:
        """Whether targets of this file system may be tuned at all."""
        return _matches(fs, self.allow_fs) and not _matches(fs, self.deny_fs)

    def unmatched(self, targets: Sequence[Target]) -> Iterator[tuple[str, str]]:
        """The key and the text of each pattern that matches none of these targets."""
        for key in ("allow_fs", "deny_fs"):
            for pattern in getattr(self, key):
                if not any(_matches(target.fs, (pattern,)) for target in targets):
                    yield key, pattern
        for key in ("allow_targets", "deny_targets"):
            for pattern in getattr(self, key):
                if not any(_names(target, (pattern,)) for target in targets):
                    yield key, pattern

    def denied_knobs(self, target: Target) -> frozenset[str]:
        """The knobs of a target that must stay as they are."""
        rules = (rule.rpartition(":") for rule in self.deny_knobs)
        return frozenset(knob_id for where, _, knob_id in rules if not where or _names(target, (where,)))


_LIMITS = GuardLimits()


class GuardSection(Section):
    """`[guard]`: how cautious the guard is. Keys of an earlier version are read too (`old_guard_keys`)."""

    objective: Objective = _LIMITS.objective
    reference_windows: int = Field(_LIMITS.reference_windows, ge=1)
    reference_error: float = Field(_LIMITS.reference_error, gt=0)
    visit_loss_s: Duration = Field(_LIMITS.visit_loss_s, gt=0)
    visit_credit_s: Duration = Field(_LIMITS.visit_credit_s, ge=0)
    price: float = Field(_LIMITS.price, ge=0, le=1)
    minute_loss_s: Duration = Field(_LIMITS.minute_loss_s, ge=0)
    aftermath_s: Duration = Field(_LIMITS.aftermath_s, ge=0)
    reach: float = Field(_LIMITS.reach, gt=1)
    reach_down: float = Field(_LIMITS.reach_down, gt=1)
    fair_share: float = Field(_LIMITS.fair_share, ge=0, le=1)
    crowd_log2: float = Field(_LIMITS.crowd_log2, ge=0, le=1)
    cache_gains: bool = _LIMITS.cache_gains
    unsent_s: Duration = Field(_LIMITS.unsent_s, gt=0)
    least_drain: float = Field(_LIMITS.least_drain, ge=0, le=1)
    trial_s: Duration = Field(_LIMITS.trial_s, ge=0)
    blacklist_s: Duration = Field(_LIMITS.blacklist_s, gt=0)
    switchback_first_s: Duration = Field(_LIMITS.switchback_first_s, gt=0)
    switchback_most_s: Duration = Field(_LIMITS.switchback_most_s, gt=0)
    switchback_share: float = Field(_LIMITS.switchback_share, gt=0, le=1)
    least_gain: float = Field(_LIMITS.least_gain, ge=0, le=1)
    switchback_windows: int = Field(_LIMITS.switchback_windows, ge=1)
    dwell_s: Duration = Field(_LIMITS.dwell_s, ge=0)
    jitter_s: Duration = Field(_LIMITS.jitter_s, ge=0)
    pause_s: Duration = Field(_LIMITS.pause_s, ge=0)
    changes_per_hour: int = Field(_LIMITS.changes_per_hour, ge=0)
    breaker_s: Duration = Field(_LIMITS.breaker_s, gt=0)
    memory_floor_ratio: float = Field(_LIMITS.memory_floor_ratio, ge=0, lt=1)

    @model_validator(mode="before")
    @classmethod
    def _read_old_keys(cls, given: object) -> object:
        return modernised(given) if isinstance(given, dict) else given

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
    """`[metrics]`: exports for Prometheus; each is off unless named here."""

    listen: Annotated[str, AfterValidator(_loopback)] = ""
    textfile: Annotated[str, AfterValidator(_prom_file)] = ""
    textfile_period_s: Duration = Field(15.0, ge=1, le=3600)
    per_target: bool = True

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the page."""
        host, _, port = self.listen.rpartition(":")
        return host.strip("[]"), int(port)


def _share(share: str) -> str:
    if share and not (Path(share).is_absolute() and ".." not in Path(share).parts):
        raise ValueError("must be an absolute path")
    return share


def _node_name(name: str) -> str:
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise ValueError("must be a plain name of letters, digits, '.', '_' and '-'")
    return name


class SharedKnowledgeSection(Section):
    """`[knowledge]`: what nodes tell each other through a folder that all of them see; off unless `share` names one.

    `node` is what this node is called there, the host's name where it is empty. Job ids are told only with
    `share_jobs`. A folder on a file system that is tuned is refused without `share_on_tuned`.
    """

    share: Annotated[str, AfterValidator(_share)] = ""
    share_jobs: bool = False
    share_on_tuned: bool = False
    node: Annotated[str, AfterValidator(_node_name)] = ""


class AgentConfig(Section):
    """The whole of `agent.toml`; every option has a safe default."""

    mode: Annotated[Mode, _word(Mode)] = Mode.OBSERVE
    policy: Annotated[str, AfterValidator(_known_policy)] = "weir"
    model: str = ""
    interval_s: Duration = Field(0.5, gt=0, le=60)
    compile: Annotated[Compile, _word(Compile)] = Compile.AUTO
    rollback: Annotated[Rollback, _word(Rollback)] = Rollback.ALWAYS
    cache_ratio: float = Field(
        0.25, gt=0, le=0.5, description="part of memory all dirty limits may add up to"
    )
    watchdog_s: Duration = Field(30.0, ge=1, description="a loop that hangs this long is left to a restart")
    log_max_bytes: int = Field(10_000_000, ge=10_000)
    log_keep: int = Field(5, ge=1, le=100)
    record_max_bytes: int = Field(
        32_000_000, ge=0, description="of the windows that `agent replay` decides from; 0 keeps none"
    )
    scope: ScopeSection = ScopeSection()
    guard: GuardSection = GuardSection()
    metrics: MetricsSection = MetricsSection()
    knowledge: SharedKnowledgeSection = SharedKnowledgeSection()

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


def _names(target: Target, patterns: tuple[str, ...]) -> bool:
    return _matches(target.name, patterns) or _matches(f"{target.fs}-{target.resource}", patterns)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
