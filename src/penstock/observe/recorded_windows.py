"""Turns a recording back into windows, with the same parsers as on a live client."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from penstock.errors import DataError
from penstock.observe.lustre.layout import MOUNT_FILES, OSC_FILES, osc_target, preference, split_path
from penstock.observe.lustre.llite import parse_mount
from penstock.observe.lustre.osc import TargetParser
from penstock.observe.recording import RecordedProbe
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.window import Void, Window, window, windows

_SLOTS = {
    "osc": {file: slot for slot, file in enumerate(OSC_FILES)},
    "llite": {file: slot for slot, file in enumerate(MOUNT_FILES)},
}


@dataclass(frozen=True, slots=True)
class Discarded:
    """A pair of probes without a window, because one of them is unusable for this target."""

    target: Target
    t0_s: float
    t1_s: float
    reason: str


@dataclass(slots=True)
class _Texts:
    """The texts of one instance in one probe, by slot, with the rank of the place each came from."""

    texts: list[bytes | None]
    ranks: list[int]


@dataclass(slots=True)
class Replay:
    """Feeds probes through the parsers. It keeps state, so use one instance per recording."""

    _homes: dict[str, tuple[str, str, int, int] | None] = field(default_factory=dict)
    _parsers: dict[str, TargetParser | None] = field(default_factory=dict)
    _last: dict[Target, TargetSnapshot] = field(default_factory=dict)
    _broken: dict[Target, tuple[float, str]] = field(default_factory=dict)
    _before: NodeSnapshot | None = None

    def windows(self, probes: Iterable[RecordedProbe]) -> Iterator[Window | Void | Discarded]:
        """One item per target and pair of its consecutive probes, in the order of time, then of names."""
        for probe in probes:
            snapshot, broken = self._snapshot(probe)
            found: list[Window | Void | Discarded] = list(self._compare(snapshot))
            found += self._discard(probe.t_s, snapshot, broken)
            yield from sorted(found, key=lambda item: item.target.name)
            self._before = snapshot
            self._last.update({item.target: item for item in snapshot.targets})
            for target in broken:
                self._last.pop(target, None)

    def _compare(self, after: NodeSnapshot) -> Iterator[Window | Void]:
        if self._before is None:
            return
        yield from windows(self._before, after)
        recent = {item.target for item in self._before.targets}
        for snapshot in after.targets:
            # A probe without a target's texts does not end the series of that target.
            if snapshot.target in self._last and snapshot.target not in recent:
                yield window(self._last[snapshot.target], snapshot)

    def _discard(self, t_s: float, after: NodeSnapshot, broken: Mapping[Target, str]) -> Iterator[Discarded]:
        for target, reason in broken.items():
            if target in self._last:
                yield Discarded(target, self._last[target].t_s, t_s, reason)
            elif target in self._broken:
                yield Discarded(target, self._broken[target][0], t_s, reason)
        for snapshot in after.targets:
            if snapshot.target in self._broken:
                then_s, reason = self._broken.pop(snapshot.target)
                yield Discarded(snapshot.target, then_s, t_s, reason)
        self._broken.update({target: (t_s, reason) for target, reason in broken.items()})

    def _snapshot(self, probe: RecordedProbe) -> tuple[NodeSnapshot, dict[Target, str]]:
        oscs, mounts = self._sort_out(probe.files)
        targets: list[TargetSnapshot] = []
        broken: dict[Target, str] = {}
        for name, found in oscs.items():
            parser = self._parser(name)
            if parser is None or found.texts[0] is None:
                continue
            try:
                targets.append(parser.parse(probe.t_s, found.texts))
            except DataError as error:
                broken[parser.target] = str(error)
        counters = {}
        for name, found in mounts.items():
            try:
                counters[name] = parse_mount(found.texts)
            except DataError:
                continue
        return NodeSnapshot(probe.t_s, tuple(targets), counters, system="lustre"), broken

    def _sort_out(self, files: Mapping[str, str]) -> tuple[dict[str, _Texts], dict[str, _Texts]]:
        found: dict[str, dict[str, _Texts]] = {"osc": {}, "llite": {}}
        for path, text in files.items():
            home = self._homes.get(path, path)
            if isinstance(home, str):
                home = self._homes[path] = _home(path)
            if home is None:
                continue
            kind, name, slot, rank = home
            entry = found[kind].get(name)
            if entry is None:
                width = len(_SLOTS[kind])
                entry = found[kind][name] = _Texts([None] * width, [len(_SLOTS)] * width)
            if entry.texts[slot] is None or rank < entry.ranks[slot]:
                entry.texts[slot], entry.ranks[slot] = text.encode("utf-8", "replace"), rank
        return found["osc"], found["llite"]

    def _parser(self, name: str) -> TargetParser | None:
        if name not in self._parsers:
            target = osc_target(name)
            self._parsers[name] = None if target is None else TargetParser(target)
        return self._parsers[name]


def _home(path: str) -> tuple[str, str, int, int] | None:
    parts = split_path(path)
    if parts is None or parts[0] not in _SLOTS or parts[2] not in _SLOTS[parts[0]]:
        return None
    return parts[0], parts[1], _SLOTS[parts[0]][parts[2]], preference(path)
