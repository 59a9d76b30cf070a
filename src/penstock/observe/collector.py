"""The observer of a real Lustre client: finds its targets and reads them all.

One broken target does not affect others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from penstock.knobs.target_kind import DATA, METADATA, READAHEAD
from penstock.observe.deadline import Deadline, Pass
from penstock.observe.kernelfs import KernelFs
from penstock.observe.lustre.client import explain
from penstock.observe.lustre.layout import PLACES, llite_target, mdc_target, osc_target
from penstock.observe.lustre.mount_readahead import with_carried
from penstock.observe.lustre.rpcstats import RpcStats
from penstock.observe.lustre.sources import LustreSource, MountSource, OscSource, source_of
from penstock.observe.lustre.version import read_version
from penstock.observe.recording import RecordedProbe
from penstock.snapshot import NodeSnapshot, Problem, Target, TargetSnapshot
from penstock.target_kinds import LUSTRE_READAHEAD, STATAHEAD

_RESCAN_S = 5.0
_SLOWEST_RESCAN_S = 60.0

Key = tuple[str, str]


class LustreObserver:
    """Observes every client data path below a root. Not for use from several threads.

    It looks for targets every few seconds, at once after one vanished, and less and less often while there is none. A
    target whose files block is reported as stale and left alone until its read returns. With `peek`, idle targets are
    read last and cost one short read each; a change of their knobs is then seen within a few passes.
    With `metadata` among its `kinds`, connections to metadata servers and the statahead of mounts are targets too,
    with `readahead` the readahead of mounts.
    """

    def __init__(
        self,
        root: str | Path = "/",
        *,
        deadline_s: float = 1.0,
        rescan_s: float = _RESCAN_S,
        peek: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fs = KernelFs(root)
        self._clock = clock
        self._peek = peek
        #: What is watched, in the words of `[scope] kinds`.
        self.kinds: Collection[str] = (DATA,)
        self._deadline: Deadline[LustreSource, object] = Deadline(deadline_s)
        self._rescan_s = rescan_s
        self._scan_again_s = rescan_s
        self._next_scan_s = float("-inf")
        self._sources: dict[Key, LustreSource] = {}
        self._order: list[LustreSource] = []
        self._scan_problems: tuple[Problem, ...] = ()
        self._version: str | None = None

    def observe(self) -> NodeSnapshot:
        t_s = self._clock()
        self._scan_when_due(t_s)
        outcome = self._look()
        targets: list[TargetSnapshot] = []
        mounts: dict[str, Mapping[str, float]] = {}
        problems = [*self._scan_problems]
        gone = False
        for source, result in zip(outcome.done, outcome.results, strict=True):
            if isinstance(result, TargetSnapshot):
                targets.append(result)
            elif isinstance(result, Problem):
                problems.append(result)
            elif isinstance(result, Mapping):
                mounts[source.name] = result
            else:
                gone = True
        problems += self._troubles(outcome)
        if gone:
            # A remounted target has a new name, so look for it at once.
            self._next_scan_s = float("-inf")
        return NodeSnapshot(
            t_s, tuple(with_carried(targets)), mounts, tuple(problems), "lustre", self._version
        )

    def _look(self) -> Pass[LustreSource, object]:
        if not self._peek:
            return self._deadline.run(self._order, lambda source: source.read())
        busy_first = sorted(self._order, key=lambda source: source.resting)
        return self._deadline.run(busy_first, lambda source: source.peek())

    def probe(self) -> RecordedProbe:
        """The raw texts of all files by path: one line of a recording."""
        t_s = self._clock()
        self._scan_when_due(t_s)
        files: dict[str, str] = {}
        for texts in self._deadline.run(self._order, lambda source: source.raw()).results:
            if isinstance(texts, dict):
                files.update(texts)
        return RecordedProbe(t_s, files)

    def rpc_stats(self) -> dict[str, RpcStats]:
        """The RPC histograms by target, if readable. They are for people, and too long for every pass."""
        oscs = [source for source in self._order if isinstance(source, OscSource)]
        outcome = self._deadline.run(
            oscs, lambda source: isinstance(source, OscSource) and source.histograms()
        )
        found = zip(outcome.done, outcome.results, strict=True)
        return {source.name: parsed for source, parsed in found if isinstance(parsed, RpcStats)}

    def close(self) -> None:
        """Release all descriptors and the worker."""
        self._deadline.close()
        blocked = self._deadline.blocked()
        for source in self._order:
            if source not in blocked:
                source.instance.close()
        self._sources, self._order = {}, []
        self._next_scan_s = float("-inf")

    def _troubles(self, outcome: Pass[LustreSource, object]) -> list[Problem]:
        found = [Problem(source.name, "stale: a read of its files blocks") for source in outcome.blocked]
        found += [Problem(source.name, "not read: too many reads block") for source in outcome.untouched]
        for source in outcome.done:
            if source.troubled():
                found += source.problems()
        return found

    def _scan_when_due(self, t_s: float) -> None:
        """Look for sources: new ones, vanished ones, and files that were missing before."""
        if t_s < self._next_scan_s:
            return
        listed, self._scan_problems = self._listed()
        blocked = self._deadline.blocked()
        for key in [key for key in self._sources if key not in listed and self._sources[key] not in blocked]:
            self._sources.pop(key).instance.close()
        for source in self._sources.values():
            if source not in blocked:
                source.instance.ask_again()
        for key, target in listed.items():
            if key not in self._sources:
                self._sources[key] = self._source(key, target)
        self._order = [self._sources[key] for key in sorted(self._sources)]
        self._version = self._version or read_version(self._fs)
        self._scan_again_s = self._rescan_s if listed else min(2 * self._scan_again_s, _SLOWEST_RESCAN_S)
        self._next_scan_s = t_s + self._scan_again_s

    def _source(self, key: Key, target: Target | None) -> LustreSource:
        if target is None:
            return MountSource(self._fs, key[1])
        return source_of(self._fs, target, self._clock)

    def _listed(self) -> tuple[dict[Key, Target | None], tuple[Problem, ...]]:
        """The present sources. The target is parsed only for OSCs that were not there before."""
        found: dict[Key, Target | None] = {}
        problems: list[Problem] = []
        for place in PLACES:
            try:
                for name in self._fs.names(f"{place}/osc"):
                    key = ("osc", name)
                    if key in self._sources or key in found:
                        found.setdefault(key, None)
                    elif (target := osc_target(name)) is not None:
                        found[key] = target
                mounts = self._fs.names(f"{place}/llite")
                found.update({("llite", name): None for name in mounts})
                if METADATA in self.kinds:
                    servers = (mdc_target(name) for name in self._fs.names(f"{place}/mdc"))
                    ahead = (llite_target(name, STATAHEAD) for name in mounts)
                    found.update({(t.kind.name, t.name): t for t in (*servers, *ahead) if t is not None})
                if READAHEAD in self.kinds:
                    ahead = (llite_target(name, LUSTRE_READAHEAD) for name in mounts)
                    found.update({(t.kind.name, t.name): t for t in ahead if t is not None})
            except OSError as error:
                problems.append(Problem(f"/{place}", explain(error, place)))
        return found, tuple(problems)
