"""The two kinds of sources on a client that are read in every pass: OSCs and mounts."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

from penstock.errors import DataError
from penstock.knobs.target_kind import DATA_PATH
from penstock.observe.kernelfs import KernelFs
from penstock.observe.lustre.client import Instance, InstanceGoneError
from penstock.observe.lustre.layout import (
    LLITE_FILES,
    MDC_DETAILS,
    MDC_FILES,
    MDC_KNOBS,
    MOUNT_DETAILS,
    MOUNT_FILES,
    OSC_DETAILS,
    OSC_FILES,
    READAHEAD_DETAILS,
    READAHEAD_KNOBS,
    STATAHEAD_DETAILS,
    STATAHEAD_KNOBS,
)
from penstock.observe.lustre.llite import parse_mount
from penstock.observe.lustre.metadata import LliteParser, MdcParser, MetadataParser
from penstock.observe.lustre.mount_readahead import ReadaheadParser
from penstock.observe.lustre.osc import TargetParser
from penstock.observe.lustre.rpcstats import RpcStats, parse_rpc_stats
from penstock.snapshot import Problem, Target, TargetSnapshot
from penstock.target_kinds import LUSTRE_READAHEAD, MDC

# A target is idle after this many passes without movement. One of this many peeks at an idle target reads everything.
STILL_PASSES = 4
PEEKS = 8


class LustreSource(ABC):
    """One directory whose files are read together. Hashed by identity."""

    def __init__(self, instance: Instance, details: Sequence[str]) -> None:
        self.name = instance.name
        self.instance = instance
        self._details = details

    @abstractmethod
    def read(self) -> TargetSnapshot | Mapping[str, float] | Problem | None:
        """The present data; None after an unmount, a `Problem` if the text must be discarded."""

    @property
    def resting(self) -> bool:
        """Whether a cheaper read is enough."""
        return False

    def peek(self) -> TargetSnapshot | Mapping[str, float] | Problem | None:
        """Like `read`, but cheaper if little is expected to change."""
        return self.read()

    @abstractmethod
    def problems(self) -> list[Problem]:
        """What could not be read or parsed the last time."""

    def troubled(self) -> bool:
        """Whether `problems` is not empty."""
        return bool(self.instance.problems)

    def raw(self) -> dict[str, str]:
        """All its texts by path, details included; nothing once it was unmounted."""
        try:
            texts = self.instance.read_carefully()
        except InstanceGoneError:
            return {}
        found = {path: text for path, text in zip(self.instance.paths(), texts, strict=True) if path and text}
        found.update(self.instance.read_named(self._details))
        return {path: text.decode("utf-8", "replace") for path, text in found.items()}


class TargetSource(LustreSource):
    """A target, whose texts a parser makes sense of."""

    _parser: TargetParser | MetadataParser

    def troubled(self) -> bool:
        """Whether `problems` has anything to say."""
        return bool(self.instance.problems or self._parser.problems)

    def problems(self) -> list[Problem]:
        """What could not be read or made sense of the last time."""
        unread = [f"{file}: {why}" for file, why in self.instance.problems.items()]
        return [Problem(self.name, why) for why in (*unread, *self._parser.problems.values())]


class OscSource(TargetSource):
    """One client data path."""

    _parser: TargetParser

    def __init__(self, fs: KernelFs, target: Target, clock: Callable[[], float]) -> None:
        super().__init__(Instance(fs, "osc", target.name, OSC_FILES), OSC_DETAILS)
        self._parser = TargetParser(target)
        self._clock = clock
        self._still = 0
        self._peeks = zlib.crc32(target.name.encode()) % PEEKS

    @property
    def resting(self) -> bool:
        """Whether its counters have not moved for a while."""
        return self._still >= STILL_PASSES

    def peek(self) -> TargetSnapshot | Problem | None:
        """Its snapshot. For an idle target mostly only the counters are read."""
        self._peeks += 1
        stats = self.instance.read_first() if self.resting and self._peeks % PEEKS else None
        if stats is not None:
            try:
                snapshot = self._parser.again(self._clock(), stats)
            except DataError:
                snapshot = None
            if snapshot is not None:
                return snapshot
        before = self._parser.counters
        found = self.read()
        moved = not isinstance(found, TargetSnapshot) or found.counters != before
        self._still = 0 if moved else self._still + 1
        return found

    def read(self) -> TargetSnapshot | Problem | None:
        """Its snapshot, every file read."""
        t_s = self._clock()
        try:
            texts = self.instance.read()
            try:
                snapshot = self._parser.parse(t_s, texts)
                if not self._parser.problems:
                    return snapshot
            except DataError:
                pass
            return self._parser.parse(t_s, self.instance.read_carefully())
        except InstanceGoneError:
            return None
        except DataError as error:
            return Problem(self.name, f"discarded: {error}")

    def histograms(self) -> RpcStats | None:
        """Its `rpc_stats`, where that can be read."""
        for _, text in self.instance.read_named(("rpc_stats",)):
            try:
                return parse_rpc_stats(text)
            except DataError:
                return None
        return None


class WholeSource(TargetSource):
    """One target of a client's metadata or readahead, all of whose files are read in every pass."""

    def __init__(
        self,
        instance: Instance,
        parser: MetadataParser,
        details: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(instance, details)
        self.name = parser.target.name
        self._parser = parser
        self._clock = clock

    def read(self) -> TargetSnapshot | Problem | None:
        """Its snapshot."""
        t_s = self._clock()
        try:
            return self._parser.parse(t_s, self.instance.read_carefully())
        except InstanceGoneError:
            return None
        except DataError as error:
            return Problem(self.name, f"discarded: {error}")


def source_of(fs: KernelFs, target: Target, clock: Callable[[], float]) -> LustreSource:
    """The source of a data path, a connection to a metadata server, or a mount's statahead or readahead."""
    if target.kind == DATA_PATH:
        return OscSource(fs, target, clock)
    if target.kind == MDC:
        instance = Instance(fs, "mdc", target.name, (*MDC_FILES, *MDC_KNOBS.values()))
        return WholeSource(instance, MdcParser(target, MDC_KNOBS), MDC_DETAILS, clock)
    return llite_source(
        fs, target, READAHEAD_KNOBS if target.kind == LUSTRE_READAHEAD else STATAHEAD_KNOBS, clock
    )


def llite_source(
    fs: KernelFs, target: Target, knobs: Mapping[str, str], clock: Callable[[], float]
) -> WholeSource:
    """The source of a mount's target with these knobs."""
    instance = Instance(fs, "llite", target.mount, (*LLITE_FILES, *knobs.values()))
    if target.kind == LUSTRE_READAHEAD:
        return WholeSource(instance, ReadaheadParser(target, knobs), READAHEAD_DETAILS, clock)
    return WholeSource(instance, LliteParser(target, knobs), STATAHEAD_DETAILS, clock)


class MountSource(LustreSource):
    """One mounted file system."""

    def __init__(self, fs: KernelFs, name: str) -> None:
        super().__init__(Instance(fs, "llite", name, MOUNT_FILES), MOUNT_DETAILS)

    def read(self) -> Mapping[str, float] | Problem | None:
        """Its counters."""
        try:
            return parse_mount(self.instance.read_carefully())
        except InstanceGoneError:
            return None
        except DataError as error:
            return Problem(self.name, f"discarded: {error}")

    def problems(self) -> list[Problem]:
        """What could not be read the last time."""
        return [Problem(self.name, f"{file}: {why}") for file, why in self.instance.problems.items()]
