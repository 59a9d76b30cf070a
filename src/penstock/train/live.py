"""Collects on a live client. Originals are journalled before any knob changes and restored in every case."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lock import StateLock
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.errors import MissingError
from penstock.observe.collector import LustreObserver
from penstock.ports import Ports


class RealClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Seconds since an arbitrary origin."""
        return time.monotonic()

    def sleep_until(self, t_s: float) -> None:
        """Sleep; at once when `t_s` has passed."""
        time.sleep(max(0.0, t_s - time.monotonic()))


@contextmanager
def live_world(root: Path, state_dir: Path) -> Iterator[Ports]:
    """The client below `root`. Originals are in the journal before the first change and restored on leaving."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = StateLock(state_dir)
    observer = LustreObserver(root)
    try:
        if not observer.observe().targets:
            raise MissingError(f"{root}: no Lustre data path (osc) there")
        yield Ports(RealClock(), observer, LustreActuator(root, Journal(state_dir, owner_of(root))))
    finally:
        observer.close()
        lock.release()
        restore_all(root, state_dir)
