"""The observer of a real Lustre client: finds its targets, reads them all, lets none spoil the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from penstock.errors import DataError
from penstock.observe.deadline import Deadline
from penstock.observe.kernelfs import KernelFs
from penstock.observe.lustre.client import Instance, InstanceGoneError, explain
from penstock.observe.lustre.layout import (
    MOUNT_DETAILS,
    MOUNT_FILES,
    OSC_DETAILS,
    OSC_FILES,
    PLACES,
    osc_target,
)
from penstock.observe.lustre.llite import parse_mount
from penstock.observe.lustre.osc import TargetParser
from penstock.observe.lustre.rpcstats import RpcStats, parse_rpc_stats
from penstock.observe.lustre.version import read_version
from penstock.observe.recording import Probe
from penstock.snapshot import NodeSnapshot, Problem, Target, TargetSnapshot

_RESCAN_S = 5.0
_SLOWEST_RESCAN_S = 60.0

Key = tuple[str, str]


class LustreObserver:
    """Observes every client data path below a root. Not for use from several threads.

    Targets are looked for again every few seconds, at once after one vanished, and ever more rarely while
    there is none. A target whose files block is reported as stale and left alone until its read returns.
    """

    def __init__(
        self,
        root: str | Path = "/",
        *,
        deadline_s: float = 1.0,
        rescan_s: float = _RESCAN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fs = KernelFs(root)
        self._clock = clock
        self._deadline: Deadline[Key, object] = Deadline(deadline_s)
        self._rescan_s = rescan_s
        self._scan_again_s = rescan_s
        self._next_scan_s = float("-inf")
        self._instances: dict[Key, Instance] = {}
        self._parsers: dict[Key, TargetParser] = {}
        self._keys: list[Key] = []
        self._scan_problems: tuple[Problem, ...] = ()
        self._version: str | None = None

    def observe(self) -> NodeSnapshot:
        """All targets now."""
        t_s = self._clock()
        if t_s >= self._next_scan_s:
            self._scan(t_s)
        outcome = self._deadline.run(self._keys, self._read)
        targets: list[TargetSnapshot] = []
        mounts: dict[str, Mapping[str, float]] = {}
        problems: list[Problem] = [*self._scan_problems]
        for key, result in outcome.results:
            if isinstance(result, TargetSnapshot):
                targets.append(result)
            elif isinstance(result, Problem):
                problems.append(result)
            elif result is None:
                self._drop(key)
            elif isinstance(result, Mapping):
                mounts[key[1]] = result
        problems += [Problem(key[1], "stale: a read of its files blocks") for key in outcome.blocked]
        problems += [Problem(key[1], "not read: too many reads block") for key in outcome.untouched]
        problems += self._standing_problems()
        return NodeSnapshot(t_s, tuple(targets), mounts, tuple(problems), "lustre", self._version)

    def probe(self) -> Probe:
        """The raw texts of everything now, by path: one line of a recording."""
        t_s = self._clock()
        if t_s >= self._next_scan_s:
            self._scan(t_s)
        files: dict[str, str] = {}
        for _, texts in self._deadline.run(self._keys, self._raw).results:
            if isinstance(texts, dict):
                files.update(texts)
        return Probe(t_s, files)

    def rpc_stats(self) -> dict[str, RpcStats]:
        """The RPC histograms by target, where they can be read: for people, too long for every pass."""
        found = {}
        for key, parsed in self._deadline.run(self._keys, self._histograms).results:
            if isinstance(parsed, RpcStats):
                found[key[1]] = parsed
        return found

    def close(self) -> None:
        """Let all descriptors and the worker go."""
        self._deadline.close()
        for instance in self._instances.values():
            instance.close()
        self._instances.clear()
        self._keys = []

    def _read(self, key: Key) -> TargetSnapshot | Mapping[str, float] | Problem | None:
        """One target or mount; None when it was unmounted. Runs in the worker."""
        try:
            t_s = self._clock()
            texts = self._instances[key].read()
            if key[0] == "osc":
                return self._parsers[key].parse(t_s, texts)
            return parse_mount(texts)
        except InstanceGoneError:
            return None
        except DataError as error:
            return Problem(key[1], f"discarded: {error}")

    def _raw(self, key: Key) -> dict[str, str]:
        instance = self._instances[key]
        try:
            texts = instance.read()
        except InstanceGoneError:
            return {}
        found = {
            path: text
            for path, text in zip(instance.paths(), texts, strict=True)
            if path and text is not None
        }
        found.update(instance.read_named(OSC_DETAILS if key[0] == "osc" else MOUNT_DETAILS))
        return {path: text.decode("utf-8", "replace") for path, text in found.items()}

    def _histograms(self, key: Key) -> RpcStats | None:
        try:
            for _, text in self._instances[key].read_named(("rpc_stats",) if key[0] == "osc" else ()):
                return parse_rpc_stats(text)
        except DataError:
            pass
        return None

    def _scan(self, t_s: float) -> None:
        """Look for instances: those that came, those that went, and files of those that stay."""
        found, self._scan_problems = self._listed()
        blocked = self._deadline.blocked()
        for key in [key for key in self._instances if key not in found and key not in blocked]:
            self._drop(key)
        for key, instance in self._instances.items():
            if key not in blocked:
                instance.ask_again()
        for key, target in found.items():
            if key not in self._instances:
                files = MOUNT_FILES if target is None else OSC_FILES
                self._instances[key] = Instance(self._fs, key[0], key[1], files)
                if target is not None:
                    self._parsers[key] = TargetParser(target)
        self._keys = sorted(self._instances)
        self._version = self._version or read_version(self._fs)
        self._scan_again_s = self._rescan_s if found else min(2 * self._scan_again_s, _SLOWEST_RESCAN_S)
        self._next_scan_s = t_s + self._scan_again_s

    def _listed(self) -> tuple[dict[Key, Target | None], tuple[Problem, ...]]:
        found: dict[Key, Target | None] = {}
        problems: list[Problem] = []
        for place in PLACES:
            try:
                for name in self._fs.names(f"{place}/osc"):
                    if (target := osc_target(name)) is not None:
                        found[("osc", name)] = target
                found.update({("llite", name): None for name in self._fs.names(f"{place}/llite")})
            except OSError as error:
                problems.append(Problem(f"/{place}", explain(error, place)))
        return found, tuple(problems)

    def _drop(self, key: Key) -> None:
        """Forget what was unmounted, and look around at once: a remount comes under a new name."""
        self._instances.pop(key).close()
        self._parsers.pop(key, None)
        self._keys = [other for other in self._keys if other != key]
        self._next_scan_s = float("-inf")

    def _standing_problems(self) -> list[Problem]:
        found = []
        for key in self._keys:
            instance, parser = self._instances[key], self._parsers.get(key)
            if instance.problems:
                found += [Problem(key[1], f"{file}: {why}") for file, why in instance.problems.items()]
            if parser is not None and parser.problems:
                found += [Problem(key[1], why) for why in parser.problems.values()]
        return found
