"""Runs a served client in real time until told to stop."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from penstock.emulate.faults import Faults
from penstock.emulate.mount import check_mountable, mount, unmount
from penstock.emulate.node import ServedNode
from penstock.emulate.plain import PlainTree

_TICK_S = 0.05
_PLAIN_TICK_S = 0.2
_PATIENCE_S = 0.5
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


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
    check_mountable(directory)
    faults = Faults(node)
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    _Pulse(node, _TICK_S).start()
    done = threading.Event()
    threading.Thread(target=_end_on_signal, args=(faults, directory, done), daemon=True).start()
    threading.Thread(target=_announce, args=(directory, ready), daemon=True).start()
    try:
        mount(node, faults, directory)
    finally:
        done.set()


def _end_on_signal(faults: Faults, directory: Path, done: threading.Event) -> None:
    signal.sigwait(_SIGNALS)
    faults.clear()
    unmount(directory)
    if not done.wait(_PATIENCE_S):
        # Somebody keeps files open: ending the process ends the connection, and they are told so.
        os._exit(0)


def _announce(directory: Path, ready: Callable[[], None]) -> None:
    while not directory.is_mount():
        time.sleep(0.01)
    ready()


def serve_plain(node: ServedNode, directory: Path, ready: Callable[[], None]) -> None:
    """Keep ordinary files in step until a signal ends it; they are removed then."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    tree = PlainTree(node, Faults(node), directory)
    pulse = _Pulse(node, _TICK_S)
    pulse.start()
    ready()
    while signal.sigtimedwait(_SIGNALS, _PLAIN_TICK_S) is None:
        tree.tick()
    pulse.stop()
    tree.clear()
