"""Runs a served client in real time until told to stop."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from penstock.emulate.faultcontrol import Faults
from penstock.emulate.mount import check_mountable, mount, unmount
from penstock.emulate.plain import PlainTree
from penstock.emulate.served_node import ServedNode
from penstock.errors import PenstockError

_TICK_S = 0.05
_PLAIN_TICK_S = 0.2
_PATIENCE_S = 0.5
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _Signals:
    """Hears the signals that end a service, whichever thread they reach and whatever the main one is doing.

    Libraries start threads that mask nothing, so waiting for a masked signal would miss some. The byte that
    Python's own handler writes comes at once, even while the main thread is inside libfuse.
    """

    def __init__(self) -> None:
        self._heard, write_end = os.pipe()
        os.set_blocking(write_end, False)
        signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, lambda *_: None)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether a signal came within that time."""
        return bool(select.select([self._heard], [], [], seconds)[0])


class _Pulse(threading.Thread):
    """Moves the simulated client along with the wall clock; where it cannot keep up, time slips."""

    def __init__(self, node: ServedNode, period_s: float) -> None:
        super().__init__(daemon=True, name="pulse")
        self._node = node
        self._period_s = period_s
        self._stop = threading.Event()

    def run(self) -> None:
        last_s = time.monotonic()
        while not self._stop.wait(self._period_s):
            now_s = time.monotonic()
            self._node.advance(min(now_s - last_s, 4 * self._period_s))
            last_s = now_s

    def stop(self) -> None:
        self._stop.set()


def serve_mounted(node: ServedNode, directory: Path, ready: Callable[[], None]) -> None:
    """Mount, run, and unmount on SIGTERM, SIGINT or SIGHUP, whatever is open or hangs meanwhile."""
    # libfuse changes the working directory to /, so a relative path would name another place from then on.
    directory = directory.resolve()
    check_mountable(directory)
    faults = Faults(node)
    signals = _Signals()
    _Pulse(node, _TICK_S).start()
    ending, done = threading.Event(), threading.Event()

    def end() -> None:
        signals.wait()
        ending.set()
        faults.clear()
        unmount(directory)
        if not done.wait(_PATIENCE_S):
            # Somebody keeps files open: ending the process ends the connection, and they are told so.
            os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    threading.Thread(target=_announce, args=(directory, ready), daemon=True).start()
    try:
        mount(node, faults, directory)
    except PenstockError:
        # libfuse takes being unmounted under way for a failure; when it was asked for, it is none.
        if not ending.is_set():
            raise
    finally:
        done.set()


def _announce(directory: Path, ready: Callable[[], None]) -> None:
    while not directory.is_mount():
        time.sleep(0.01)
    ready()


def serve_plain(node: ServedNode, directory: Path, ready: Callable[[], None]) -> None:
    """Keep ordinary files in step until a signal ends it; they are removed then."""
    signals = _Signals()
    tree = PlainTree(node, Faults(node), directory.resolve())
    pulse = _Pulse(node, _TICK_S)
    pulse.start()
    ready()
    while not signals.wait(_PLAIN_TICK_S):
        tree.tick()
    pulse.stop()
    tree.clear()
