"""The served tree as ordinary files, for machines without FUSE and for trees too large to mount.

Files are rewritten in place at every tick, so that descriptors stay good. What somebody wrote to a knob is
taken at the next tick as the kernel would take it, or undone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from penstock.emulate.faultcontrol import CONTROL_FILE, Faults
from penstock.emulate.served_node import ServedNode
from penstock.emulate.tree import File
from penstock.errors import AccessError, PenstockError

# Looked at for what others wrote; everything else is only ever written.
_WATCHED = ("max_pages_per_rpc", "max_rpcs_in_flight", "max_dirty_mb", "active")


class PlainTree:
    """Keeps a directory in step with a node."""

    def __init__(self, node: ServedNode, faults: Faults, directory: Path) -> None:
        self._node = node
        self._faults = faults
        self._directory = directory
        self._written: dict[str, bytes] = {}
        self._still: set[str] = set()
        try:
            directory.mkdir(parents=True, exist_ok=True)
            (directory / CONTROL_FILE).write_text("", encoding="ascii")
        except OSError as error:
            raise AccessError(f"{directory}: {error.strerror}") from None
        self.tick()

    def tick(self) -> None:
        """Take what was written, then show what is in force."""
        with self._node.lock:
            self._obey()
            for path in list(self._written):
                if path.rpartition("/")[2] in _WATCHED and path in self._node.tree.files:
                    self._take(self._node.tree.files[path])
            for path in [path for path in self._written if path not in self._node.tree.files]:
                self._remove(path)
            for file in self._node.tree.files.values():
                if file.path not in self._still:
                    self._show(file)

    def clear(self) -> None:
        """Remove everything that was written."""
        for top in {path.partition("/")[0] for path in self._written}:
            shutil.rmtree(self._directory / top, ignore_errors=True)
        (self._directory / CONTROL_FILE).unlink(missing_ok=True)

    def _obey(self) -> None:
        control = self._directory / CONTROL_FILE
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = control.read_text(encoding="ascii")
            if text:
                control.write_text("", encoding="ascii")
                self._faults.obey(text)

    def _take(self, file: File) -> None:
        try:
            found = (self._directory / file.path).read_bytes()
        except OSError:
            return
        if found != self._written[file.path] and found:
            with contextlib.suppress(OSError, UnicodeDecodeError):
                file.store(found.partition(b"\n")[0].decode("ascii"))
            self._written[file.path] = found

    def _show(self, file: File) -> None:
        try:
            text = file.text().encode() if file.mode & 0o444 else b""
        except (OSError, PenstockError):
            return
        known = self._written.get(file.path)
        if text == known:
            return
        path = self._directory / file.path
        if known is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._mark_still(file)
        read_only = not file.mode & 0o200
        if known is not None and read_only:
            # Nobody but root may open a file for writing that says otherwise, its owner included.
            path.chmod(0o644)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            os.pwrite(fd, text, 0)
            os.ftruncate(fd, len(text))
            if known is None or read_only:
                os.fchmod(fd, file.mode)
        finally:
            os.close(fd)
        self._written[file.path] = text

    def _mark_still(self, file: File) -> None:
        """Files behind which nothing is simulated never change by themselves."""
        if getattr(file.read, "__name__", "") == "read" and hasattr(file.read, "__self__"):
            self._still.add(file.path)

    def _remove(self, path: str) -> None:
        self._written.pop(path, None)
        self._still.discard(path)
        gone = self._directory / path
        with contextlib.suppress(OSError):
            gone.unlink()
            for parent in gone.relative_to(self._directory).parents:
                (self._directory / parent).rmdir()
