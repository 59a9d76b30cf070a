"""Ends the process if the loop hangs, and meanwhile tells the service manager that it runs.

The process ends without restoring anything, because whatever hangs may hang the restore too. The next start finds the
journal and restores from it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time

from penstock.threads import try_to_start

HUNG_EXIT_CODE = 70


def notify(message: str) -> bool:
    """Notify the service manager (`READY=1`, `WATCHDOG=1`). Returns false if there is none."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
            out.settimeout(1.0)
            out.connect(address)
            out.sendall(message.encode())
    except OSError:
        return False
    return True


class Watchdog:
    """Ends the process if `beat` was not called for too long."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._last_s = time.monotonic()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._staff()

    def beat(self) -> None:
        """The loop lives. A thread that could not be had before is tried for again."""
        self._last_s = time.monotonic()
        self._staff()
        notify("WATCHDOG=1")

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _staff(self) -> None:
        if self._thread is None:
            thread = threading.Thread(target=self._watch, name="penstock-watchdog", daemon=True)
            self._thread = thread if try_to_start(thread) else None

    def _watch(self) -> None:
        while not self._stop.wait(self._limit_s / 4):
            silent_s = time.monotonic() - self._last_s
            if silent_s > self._limit_s:
                sys.stderr.write(
                    f"penstock: the control loop hung for {silent_s:.0f} s; leaving it to a restart\n"
                )
                sys.stderr.flush()
                os._exit(HUNG_EXIT_CODE)
