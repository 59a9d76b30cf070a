"""Faults on demand: each line written to the control file of a served tree causes or ends one.

    block OST0000 stats            reads of that file hang (`*`: of every file of the target)
    fail OST0000 max_dirty_mb write ERANGE    answer with an errno; read or write
    vanish OST0000 | unmount | remount
    reconnect OST0000 1048576      the server comes back with that bulk size in bytes
    evict OST0000 | deactivate OST0000 | activate OST0000
    chunk OST0000 65536            sizes are rounded up to that many bytes from now on
    clear                          end every block and fail

A line that cannot be obeyed is refused with EINVAL. Reading the file lists what is in force.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.emulate.served_node import ServedNode
from penstock.emulate.stores import refuse
from penstock.errors import PenstockError
from penstock.units import PAGE_BYTES

CONTROL_FILE = ".control"


@dataclass(slots=True)
class Faults:
    """The faults that are in force on a served node."""

    node: ServedNode
    _blocked: dict[tuple[str, str], threading.Event] = field(default_factory=dict)
    _failing: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def check(self, path: str, verb: str) -> None:
        """Called before a file is read or written: hangs or raises where a fault says so."""
        parts = path.rsplit("/", 2)
        if len(parts) < 3 or not (self._blocked or self._failing):
            return
        _, directory, file = parts
        for ost in self.node.osts:
            if f"-{ost}-osc-" in directory:
                self._apply(ost, file, verb)

    def obey(self, text: str) -> None:
        """Carry out the commands of one write."""
        for line in text.splitlines():
            if line.strip():
                try:
                    self._command(line.split())
                except (PenstockError, ValueError, KeyError, TypeError, AttributeError):
                    raise refuse(errno.EINVAL) from None

    def describe(self) -> str:
        """The commands in force, one a line."""
        lines = [f"block {ost} {file}" for ost, file in self._blocked]
        lines += [
            f"fail {ost} {file} {verb} {errno.errorcode[number]}"
            for (ost, file, verb), number in self._failing.items()
        ]
        return "".join(f"{line}\n" for line in lines)

    def clear(self) -> None:
        """End all of it: whoever hangs goes on."""
        for event in self._blocked.values():
            event.set()
        self._blocked.clear()
        self._failing.clear()

    def _apply(self, ost: str, file: str, verb: str) -> None:
        for pattern in (file, "*"):
            number = self._failing.get((ost, pattern, verb))
            if number is not None:
                raise refuse(number)
            event = self._blocked.get((ost, pattern)) if verb == "read" else None
            if event is not None:
                event.wait()

    def _command(self, words: list[str]) -> None:
        verb, *rest = words
        commands: dict[str, Callable[..., None]] = {
            "block": self._block,
            "fail": self._fail,
            "vanish": self.node.vanish,
            "unmount": self.node.unmount,
            "remount": self._remount,
            "reconnect": self._reconnect,
            "evict": lambda ost: self.node.osc(ost).evict(),
            "deactivate": lambda ost: self.node.osc(ost).write("active", "0"),
            "activate": lambda ost: self.node.osc(ost).write("active", "1"),
            "chunk": self._chunk,
            "clear": self.clear,
        }
        commands[verb](*rest)

    def _block(self, ost: str, file: str) -> None:
        self.node.osc(ost)
        self._blocked[ost, file] = threading.Event()

    def _fail(self, ost: str, file: str, verb: str, name: str) -> None:
        self.node.osc(ost)
        if verb not in ("read", "write"):
            raise ValueError(verb)
        self._failing[ost, file, verb] = getattr(errno, name)

    def _remount(self) -> None:
        self.node.unmount()
        self.node.mount()

    def _reconnect(self, ost: str, brw_bytes: str) -> None:
        self.node.osc(ost).reconnect(int(brw_bytes) // PAGE_BYTES)

    def _chunk(self, ost: str, size_bytes: str) -> None:
        self.node.osc(ost).chunk_pages = max(1, int(size_bytes) // PAGE_BYTES)
