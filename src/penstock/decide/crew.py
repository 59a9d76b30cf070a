"""Targets of one mount that write at the same time, or read ahead in vain, tuned as one.

What applications get is counted per mount. A target's share of it is a guess by what it moved, and that guess is
wrong where it matters most: a setting under which pages are overwritten in the cache, or nothing is read ahead in
vain, moves less and so seems to bring less. All targets of a mount at one setting have no need of shares: what the
mount gets is what that setting brings.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.decide.policies._base import RPC_KNOBS
from penstock.decide.work import moved
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.window import Window

# Applications that get less than this of what is read for them have readahead that guesses wrong.
WASTED = 0.8


@dataclass(frozen=True, slots=True)
class Crew:
    """The members' windows of one interval, under a name of their own."""

    target: Target
    members: tuple[Window, ...]

    @property
    def place(self) -> Setting:
        """Where most members are; among equals, the first one's."""
        return Counter(member.setting.only(*RPC_KNOBS) for member in self.members).most_common(1)[0][0]

    def window(self) -> Window:
        """The members' mean, at the place of most."""
        first = self.members[0]
        names = dict.fromkeys(name for member in self.members for name in member.metrics)
        metrics = {name: _mean(member.metrics.get(name) for member in self.members) for name in names}
        return Window(self.target, first.t0_s, first.t1_s, first.setting.replace(self.place), metrics)


def crews(busy: Sequence[Window]) -> list[Crew]:
    """The crews among busy targets: two or more of one mount that do the same."""
    found: dict[tuple[str, str], list[Window]] = {}
    for window in busy:
        if trade := _trade(window):
            found.setdefault((trade, window.target.mount or window.target.fs), []).append(window)
    return [
        Crew(Target(f"{trade} of {mount}", members[0].target.fs), tuple(members))
        for (trade, mount), members in found.items()
        if len(members) > 1
    ]


def _trade(window: Window) -> str:
    """What a target has in common with those it must be tuned with; nothing for one that can be told apart."""
    read, write = moved(window)
    if write > read:
        return "writers"
    wanted = window.metrics.get("app.read_bytes")
    return "readers" if wanted is not None and wanted < WASTED * read else ""


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
