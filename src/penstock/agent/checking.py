"""Checks what an agent would see, change and refuse on this node, without starting one and without writing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.knob_errors import JournalCorruptError
from penstock.actuate.lock import holder
from penstock.agent.discovery import discover
from penstock.agent.filesystems import CLIENT, open_actuator, open_observer, tuned_type
from penstock.agent.model_choice import load_own
from penstock.agent.names import short_names
from penstock.agent.settings import AgentConfig, Mode, ScopeSection
from penstock.agent.sharing.share_check import share_problems
from penstock.agent.startup import NoJournal, Places
from penstock.decide.policies._base import Policy
from penstock.errors import PenstockError
from penstock.knobs import Knob
from penstock.snapshot import Target, TargetSnapshot
from penstock.trusted import require_own

TUNED, UNTRIED = "may be tuned", "left as it is: no policy tries it"


@dataclass(frozen=True, slots=True)
class KnobCheck:
    """One knob: its value, its bounds, and whether the agent would change it."""

    knob_id: str
    value: int
    floor: int
    ceiling: int
    verdict: str
    #: Why it cannot be written although it may be set, or None.
    closed: str | None = None


@dataclass(frozen=True, slots=True)
class TargetCheck:
    """One target. `refused` is the reason why nothing of it would be changed, or None."""

    target: str
    short: str
    fs: str
    state: str
    refused: str | None
    knobs: tuple[KnobCheck, ...]
    #: Whether it was refused because of an error.
    faulty: bool = False


@dataclass(frozen=True, slots=True)
class NodeCheck:
    """The whole node.

    `problems` keep the agent from starting, or from tuning as configured; `warnings` may be meant so.
    """

    mode: str
    policy: str
    agent_pid: int | None
    targets: tuple[TargetCheck, ...]
    #: Network mounts that are not targets, with the reason.
    others: tuple[str, ...]
    problems: tuple[str, ...]
    warnings: tuple[str, ...]


def check_node(config: AgentConfig, places: Places, policy: type[Policy]) -> NodeCheck:
    """Check once. Raises for a journal of a newer version, as `penstock agent run` would."""
    problems = [*_state_problems(places), *_model_problems(policy, config), *share_problems(config)]
    try:
        journal: Journal | None = Journal(places.state_dir, owner_of(places.root))
        if journal is not None and not journal.trusted:
            problems.append(str(journal.note))
    except JournalCorruptError as error:
        journal = None
        problems.append(f"observing only: {error}")
    observer = open_observer(places.root, config.scope.reach().patient())
    try:
        seen = observer.observe()
    finally:
        observer.close()
    problems += [f"{problem.source}: {problem.message}" for problem in seen.problems]
    warnings = list(_unmatched(config.scope, [one.target for one in seen.targets]))
    if not seen.targets:
        warnings = [f"no {CLIENT} below {places.root}: the agent would wait for a mount"]
    shorts = short_names(one.target for one in seen.targets)
    node = _Node(config, places, journal)
    found = tuple(node.look(one, shorts[one.target]) for one in seen.targets)
    if config.mode is Mode.TUNE:
        problems += closed_knobs(found)
    names = {one.target.name for one in seen.targets}
    others = discover(places.root, node.actuator, config.scope.covers)
    ignored = tuple(one.sentence for one in others if one.name not in names)
    pid = holder(places.state_dir) if places.state_dir.is_dir() else None
    return NodeCheck(config.mode.value, policy.name, pid, found, ignored, tuple(problems), tuple(warnings))


class _Node:
    """Reads what each target's files would accept."""

    def __init__(self, config: AgentConfig, places: Places, journal: Journal | None) -> None:
        self._config = config
        self._manual = {name: entry.manual for name, entry in journal.entries.items()} if journal else {}
        known = journal or NoJournal(places, "not read")
        self.actuator = open_actuator(places.root, known, config.scope.reach().patient())

    def look(self, one: TargetSnapshot, short: str) -> TargetCheck:
        target = one.target
        faulty = False
        refused = None if self._config.scope.covers(target) else "out of the configured scope"
        if refused is None and not one.active:
            refused = "deactivated"
        try:
            knobs = tuple(self._knobs(target)) if refused is None else ()
        except (OSError, PenstockError) as error:
            knobs, refused, faulty = (), str(error), True
        if knobs and all(knob.verdict != TUNED for knob in knobs):
            refused = "none of its knobs may be set"
        return TargetCheck(target.name, short, target.fs, one.state or "unknown", refused, knobs, faulty)

    def _knobs(self, target: Target) -> Iterator[KnobCheck]:
        space = self.actuator.space(target)
        with self.actuator.open(target) as files:
            for knob in space.knobs:
                value, closed = files.read(knob.id)[0], files.why_not_writable(knob.id)
                forbidden = self._forbidden(target, knob)
                verdict = forbidden or closed or TUNED
                yield KnobCheck(
                    knob.id, value, knob.floor, knob.ceiling, verdict, closed if not forbidden else None
                )

    def _forbidden(self, target: Target, knob: Knob) -> str | None:
        if not self.actuator.space(target).may_set(knob.id):
            return "can only be advised"
        if knob.id in self._config.scope.denied_knobs(target):
            return "denied by the configuration"
        if knob.id in self._manual.get(target.name, ()):
            return "its administrator's"
        return None if knob.tried else UNTRIED


def closed_knobs(targets: Sequence[TargetCheck]) -> Iterator[str]:
    """One line for each way in which knobs that should be tuned cannot be written."""
    where: dict[tuple[str, str], list[str]] = {}
    for target in targets:
        if target.faulty:
            yield f"{target.short}: {target.refused}"
        for knob in target.knobs:
            if knob.closed is not None:
                where.setdefault((knob.knob_id, knob.closed), []).append(target.short)
    for (knob_id, why), shorts in where.items():
        yield f"{shorts[0]}{f' and {len(shorts) - 1} more' if shorts[1:] else ''}: {knob_id}: {why}"


def _unmatched(scope: ScopeSection, targets: Sequence[Target]) -> Iterator[str]:
    """The patterns of the configuration that match nothing here."""
    for key, pattern in scope.unmatched(targets):
        yield f"[scope] {key} {pattern!r} matches nothing here"


def _state_problems(places: Places) -> Iterator[str]:
    directory = places.state_dir
    there = directory if directory.exists() else directory.parent
    try:
        if there is directory:
            require_own(directory)
        if kind := tuned_type(directory):
            yield f"{directory}: on a {kind} file system; the agent keeps nothing on what it tunes"
    except (OSError, PenstockError) as error:
        yield str(error)
    if not os.access(there, os.W_OK):
        yield f"{there}: cannot be written, so nothing could be journalled and no knob would move"


def _model_problems(policy: type[Policy], config: AgentConfig) -> Iterator[str]:
    if not policy.uses_model:
        return
    try:
        if config.model:
            load_own(policy.model_kind, Path(config.model))
    except PenstockError as error:
        yield f"policy {policy.name} has no usable model: {error}"
