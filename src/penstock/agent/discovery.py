"""The mounts of a node, and what the agent will do with each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.agent.filesystems import why_no_target
from penstock.agent.presence import MOST_NAMED
from penstock.errors import PenstockError
from penstock.knobs import Acts, Knob, KnobSpace
from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import read_mounts
from penstock.snapshot import Target


@dataclass(frozen=True, slots=True)
class Discovered:
    """One mount or data path: the knobs that may be set, those that can only be advised, those that no policy tries,
    and the reason.
    """

    name: str
    fs: str
    tuned: tuple[str, ...] = ()
    advised: tuple[str, ...] = ()
    untried: tuple[str, ...] = ()
    why: str = ""

    @property
    def sentence(self) -> str:
        """A description in one line."""
        parts = [f"may set {', '.join(self.tuned)}"] if self.tuned else ["left alone"]
        parts += [f"can only advise {', '.join(self.advised)}"] if self.advised else []
        parts += [f"leaves {', '.join(self.untried)}, which no policy tries"] if self.untried else []
        parts += [self.why] if self.why else []
        where = self.fs if self.fs == self.name else f"{self.fs} ({self.name})"
        return f"{where}: {'; '.join(parts)}"


def sentences(findings: Iterable[Discovered]) -> tuple[str, ...]:
    """One line for all targets of a file system with the same description, because a node may have a thousand
    targets.
    """
    alike: dict[Discovered, list[str]] = {}
    for finding in findings:
        alike.setdefault(replace(finding, name=""), []).append(finding.name)
    return tuple(_together(like, names) for like, names in alike.items())


def _together(like: Discovered, names: Sequence[str]) -> str:
    if len(names) == 1:
        return replace(like, name=names[0]).sentence
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    listed = f"{len(names)} targets: {', '.join(names[:MOST_NAMED])}{more}"
    return replace(like, name=listed).sentence


def discover(
    root: Path, actuator: NodeActuator, in_scope: Callable[[Target], bool]
) -> tuple[Discovered, ...]:
    """Every target, then every network mount that is not a target. The mounts themselves are not accessed."""
    targets = actuator.targets()
    known = {target.fs for target in targets}
    return (
        *(_target(actuator, target, in_scope) for target in targets),
        *_others(root, known, actuator.reach),
    )


def _target(actuator: NodeActuator, target: Target, in_scope: Callable[[Target], bool]) -> Discovered:
    if not in_scope(target):
        return Discovered(target.name, target.fs, why="outside [scope] of the configuration")
    try:
        space = actuator.space(target)
    except (OSError, PenstockError) as error:
        return Discovered(target.name, target.fs, why=str(error))
    open_knobs = [knob for knob in space.knobs if space.may_set(knob.id) and knob.floor < knob.ceiling]
    tuned = tuple(_described(knob) for knob in open_knobs if knob.tried)
    untried = tuple(knob.id for knob in open_knobs if not knob.tried)
    advised = tuple(_described(knob) for knob in space.knobs if not space.may_set(knob.id))
    return Discovered(target.name, target.fs, tuned, advised, untried, _why_node_wide(space))


def _described(knob: Knob) -> str:
    return knob.id if knob.acts is Acts.NOW else f"{knob.id} ({knob.acts.value})"


def _why_node_wide(space: KnobSpace) -> str:
    closed = [knob.id for knob in space.knobs if knob.scope == "node" and not space.may_set(knob.id)]
    return (
        f"node-wide, so only by scope.node_knobs and for a single mount: {', '.join(closed)}"
        if closed
        else ""
    )


def _others(root: Path, known: set[str], reach: Reach) -> Iterator[Discovered]:
    """Network mounts that are not targets, with the reason."""
    try:
        table = read_mounts(KernelFs(root))
    except OSError:
        return
    for mount in table.in_sight():
        why = why_no_target(mount, reach)
        if mount.path not in known and why is not None:
            yield Discovered(mount.path, mount.path, why=f"{mount.kind}: {why}")
