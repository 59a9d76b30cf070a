"""One observer for all file systems of a node."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from pathlib import Path

from penstock.knobs.target_kind import DATA
from penstock.observe.collector import LustreObserver
from penstock.observe.fuse.observer import ROOTS, FuseObserver, FuseScope
from penstock.observe.nfs.observer import NfsObserver
from penstock.snapshot import NodeSnapshot


class NodeObserver:
    """Observes Lustre, kernel NFS and FUSE mounts below a root. Not for use from several threads."""

    def __init__(
        self,
        root: str | Path = "/",
        *,
        peek: bool = False,
        kinds: Collection[str] = (DATA,),
        fuse: FuseScope = ROOTS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lustre = LustreObserver(root, peek=peek, clock=clock)
        self._lustre.kinds = kinds
        self._nfs = NfsObserver(root, clock=clock)
        self._fuse = FuseObserver(root, fuse, clock=clock)

    def observe(self) -> NodeSnapshot:
        """All targets now. The time is that of the first observer."""
        seen = [kind.observe() for kind in (self._lustre, self._nfs, self._fuse)]
        found = [one for one in seen if one.targets] or seen[:1]
        mounts = {name: counters for one in seen for name, counters in one.mounts.items()}
        return NodeSnapshot(
            seen[0].t_s,
            tuple(target for one in seen for target in one.targets),
            mounts,
            tuple(problem for one in seen for problem in one.problems),
            "+".join(one.system for one in found),
            seen[0].version,
        )

    def close(self) -> None:
        """Release all descriptors and workers."""
        for kind in (self._lustre, self._nfs, self._fuse):
            kind.close()
