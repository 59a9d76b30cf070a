"""Tuning groups: targets of one mount that do the same kind of work are tuned as one and share one setting.

There are two reasons. The kernel counts application bytes per mount, so a single target's share would be a guess. And
targets of one client share its network, so a target that sends more takes bandwidth from its neighbours; this cannot
happen between targets that change together. A group keeps its own history. A target whose work changes joins the
group of its new work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.decide.objective import OTHERS_BUSY, OTHERS_BYTES, rates_of
from penstock.decide.work import Work
from penstock.decision import unit_name
from penstock.knobs import Setting
from penstock.knobs.target_kind import BYTES, DATA
from penstock.snapshot import Target
from penstock.window import Window


@dataclass(frozen=True, slots=True)
class Group:
    """The windows of all members in one interval. `target` is a made-up target that names the group."""

    target: Target
    work: Work
    members: tuple[Window, ...]

    def window(self, knob_ids: Sequence[str], others: Others | None = None) -> Window:
        """The mean of the members' windows, with the setting of `knob_ids` that most members hold (the first, on a
        tie), the first one's original, and what the node's other targets did meanwhile.
        """
        first, beside = self.members[0], others.metrics(len(self.members)) if others is not None else {}
        if len(self.members) == 1:
            return replace(first, target=self.target, metrics={**first.metrics, **beside})
        names = dict.fromkeys(name for member in self.members for name in member.metrics)
        metrics = {name: _mean(m.metrics[name] for m in self.members if name in m.metrics) for name in names}
        usual = Counter(member.setting.only(*knob_ids) for member in self.members).most_common(1)[0][0]
        return replace(
            first,
            target=self.target,
            setting=first.setting.replace(usual),
            metrics=metrics | beside,
            original=first.home,
        )


@dataclass(frozen=True, slots=True)
class Others:
    """The busy targets of a node outside one group: what they moved in an interval, and how many they are."""

    moved_bytes: float
    busy: int

    def metrics(self, members: int) -> dict[str, float]:
        """As metrics of a group's window, whose values are means over the members."""
        return {OTHERS_BYTES: self.moved_bytes / members, OTHERS_BUSY: self.busy / members}


def beside(found: Sequence[Group]) -> list[Others | None]:
    """For each group, the targets of all others that move bytes as it does; None where there are no others.

    What is counted by the mount and by its connections alike counts once, so there the others are no others.
    """
    kinds = [group.target.kind for group in found]
    carriers = [
        group for group, kind in zip(found, kinds, strict=True) if kind.unit == BYTES and not kind.whole_mount
    ]
    if len(carriers) < 2:
        return [None] * len(found)
    moved = {
        group.target: sum(rates_of(window).total * window.seconds for window in group.members)
        for group in carriers
    }
    total, busy = sum(moved.values()), sum(len(group.members) for group in carriers)
    return [
        Others(max(total - moved[group.target], 0.0), busy - len(group.members))
        if group.target in moved
        else None
        for group in found
    ]


def groups(busy: Sequence[tuple[Window, Work, Setting]]) -> list[Group]:
    """The groups among the busy targets, in the order of their first members.

    Each comes with its work and with the knobs that only have one value, because somebody else has set them. Targets
    that differ in these cannot share a setting, so they form groups of their own.
    """
    found: dict[tuple[str, str, Work, Setting], list[Window]] = {}
    for window, work, held in busy:
        target = window.target
        found.setdefault((mount_of(target), target.kind.name, work, held), []).append(window)
    return [
        Group(_target(members[0].target, work, held), work, tuple(members))
        for (_, _, work, held), members in found.items()
    ]


def _target(first: Target, work: Work, held: Setting) -> Target:
    named = str(work) if first.kind.section == DATA else f"{first.kind.name}: {work}"
    return Target(unit_name(first, f"{named} with {held}" if held else named), first.fs, kind=first.kind)


def mount_of(target: Target) -> str:
    """The mount of a target, or its file system if the mount is unknown."""
    return target.mount or target.fs


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return sum(known) / len(known)
