"""Reports targets that vanish, return or lose their server: one line per event, however many targets it affects."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.events import TargetsEvent
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.window import CONNECTED

MOST_NAMED = 3
MOST_GONE = 4096
_WORDS = {
    "appeared": "appeared",
    "vanished": "vanished: unmounted, or its device was removed",
    "back": "came back",
    "lost": "lost its server",
    "deactivated": "was deactivated",
    "connected": "has its server again",
}


@dataclass(frozen=True, slots=True)
class Sighting:
    """One event that happened to targets of one file system between two observations."""

    what: str
    fs: str
    targets: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """For the service's log."""
        if len(self.targets) == 1:
            return f"{self.targets[0]} {_WORDS[self.what]}"
        named = ", ".join(self.targets[:MOST_NAMED])
        more = f" and {len(self.targets) - MOST_NAMED} more" if len(self.targets) > MOST_NAMED else ""
        return f"{len(self.targets)} targets of {self.fs}: each {_WORDS[self.what]}: {named}{more}"

    def event(self, wall_s: float) -> TargetsEvent:
        """For the decision log."""
        return TargetsEvent(time_s=wall_s, what=self.what, fs=self.fs, targets=self.targets)


@dataclass(slots=True)
class Presence:
    """Compares each observation with the one before. The first only reports targets without a server."""

    #: The state of every target at the last observation: `up`, `lost` or `deactivated`.
    states: dict[Target, str] = field(default_factory=dict)
    #: Targets that were seen before and are missing now.
    gone: set[Target] = field(default_factory=set)
    looked: bool = False

    def note(self, snapshot: NodeSnapshot) -> tuple[Sighting, ...]:
        """What happened since the last observation, grouped by kind and file system."""
        found: dict[tuple[str, str], list[str]] = {}
        for target, what in self._events(snapshot):
            found.setdefault((what, target.fs), []).append(target.name)
        self.looked = True
        return tuple(Sighting(what, fs, tuple(names)) for (what, fs), names in found.items())

    def _events(self, snapshot: NodeSnapshot) -> Iterator[tuple[Target, str]]:
        before, now = self.states, {one.target: _state(one) for one in snapshot.targets}
        self.states = now
        for target, state in now.items():
            yield from self._arrived(target) if target not in before else ()
            was = before.get(target, "up")
            if state != was:
                yield target, "connected" if state == "up" else state
        missing = [target for target in before if target not in now]
        troubled = " ".join(f"{one.source} {one.message}" for one in snapshot.problems) if missing else ""
        for target in missing:
            # A target that cannot be read still exists. The problem itself is reported elsewhere.
            if target.name in troubled:
                now[target] = before[target]
            else:
                self._leave(target)
                yield target, "vanished"

    def _arrived(self, target: Target) -> Iterator[tuple[Target, str]]:
        if target in self.gone:
            self.gone.discard(target)
            yield target, "back"
        elif self.looked:
            yield target, "appeared"

    def _leave(self, target: Target) -> None:
        if len(self.gone) >= MOST_GONE:
            self.gone.clear()
        self.gone.add(target)


def _state(snapshot: TargetSnapshot) -> str:
    if not snapshot.active:
        return "deactivated"
    return "up" if snapshot.state in CONNECTED else "lost"
