"""The files of one OSC or one mount on a live client. They are located once and read in every probe."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from os import pread
from pathlib import Path

from penstock.observe.kernelfs import (
    CHUNK_BYTES,
    DENIED,
    GONE,
    WHOLE_BELOW_BYTES,
    KernelFile,
    KernelFs,
)
from penstock.observe.lustre.layout import INSTEAD_OF, candidates


class InstanceGoneError(Exception):
    """The directory is being removed because its mount went away."""


class Instance:
    """One Lustre directory with its open files.

    The location of a file is determined once. A file that is absent or refused is not tried again before `ask_again`,
    which a rescan calls; the reason stays in `problems`. A file in `INSTEAD_OF` is read only while the file it
    replaces cannot be read.
    """

    def __init__(self, fs: KernelFs, kind: str, name: str, files: Sequence[str]) -> None:
        self.kind = kind
        self.name = name
        self.problems: dict[str, str] = {}
        self._fs = fs
        self._files = tuple(files)
        self._open: list[KernelFile | None] = []
        self._kept: list[int] = []
        self._missing: list[None] = []
        self._asking = False
        self._incomplete = False

    def read(self) -> list[bytes | None]:
        """Every file's text, None for what cannot be read. Raises `InstanceGoneError` after an unmount."""
        try:
            texts: list[bytes | None] = [pread(fd, CHUNK_BYTES, 0) for fd in self._kept]
        except OSError:
            return self.read_carefully()
        if not texts or max(map(len, texts)) >= WHOLE_BELOW_BYTES:  # type: ignore[arg-type]
            return self.read_carefully()
        return texts + self._missing

    def read_first(self) -> bytes | None:
        """The text of the first file alone, which is the cheapest read; None if only `read` will do."""
        try:
            text = pread(self._kept[0], CHUNK_BYTES, 0) if self._kept else b""
        except OSError:
            return None
        return text if 0 < len(text) < WHOLE_BELOW_BYTES else None

    def read_carefully(self) -> list[bytes | None]:
        """Like `read`, but file by file: long texts to their end, torn texts twice, lost files looked up again."""
        if not self._open:
            self._open = self._find_all()
            self._set_shortcut()
        elif self._asking:
            self._find_missing()
            self._set_shortcut()
        texts: list[bytes | None] = []
        for file in self._open:
            if file is None:
                texts.append(None)
                continue
            try:
                text = file.read()
                if text[-1:] != b"\n":
                    # The file may be changing at this very moment. Another read will tell.
                    text = file.read()
                texts.append(text)
            except OSError as error:
                self._lost(len(texts), error)
                texts.append(None)
        return texts

    def _set_shortcut(self) -> None:
        """Remember the descriptors if all files are open and at most the last is missing."""
        found = [file.fd for file in self._open if file is not None]
        missing = len(self._open) - len(found)
        orderly = all(file is None for file in self._open[len(found) :]) and min(found, default=-1) >= 0
        self._kept = found if orderly else []
        self._incomplete = bool(self._lacking())
        self._missing = [None] * missing

    def read_named(self, files: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The paths and texts of further files, each opened for this one time; what fails is left out."""
        for name in files:
            file = self._fs.find(candidates(self.kind, self.name, name))
            if isinstance(file, KernelFile):
                with contextlib.suppress(OSError):
                    yield self._fs.unrooted(file.path), file.read()
                file.close()

    def paths(self) -> tuple[str | None, ...]:
        """Where each file was found, as the client itself would call it."""
        return tuple(self._fs.unrooted(file.path) if file else None for file in self._open)

    def ask_again(self) -> None:
        """At the next read, look again for every file that was missing or failed."""
        if self.problems or self._incomplete:
            self._asking, self._kept = True, []

    def close(self) -> None:
        for file in self._open:
            if file is not None:
                file.close()
        self._open, self._kept = [], []

    def _find_all(self) -> list[KernelFile | None]:
        self.problems.clear()
        found: dict[str, KernelFile | None] = {}
        for name in self._files:
            replaced = INSTEAD_OF.get(name)
            found[name] = None if replaced and found.get(replaced) else self._find(name)
        if not any(found.values()) and not self._exists():
            raise InstanceGoneError(self.name)
        return list(found.values())

    def _lacking(self) -> list[int]:
        """The places of missing files that have no replacement."""
        found = {name for name, file in zip(self._files, self._open, strict=False) if file is not None}
        return [
            index
            for index, file in enumerate(self._open)
            if file is None and INSTEAD_OF.get(self._files[index]) not in found
        ]

    def _find_missing(self) -> None:
        self._asking = False
        self.problems.clear()
        for index in self._lacking():
            self._open[index] = self._find(self._files[index])

    def _find(self, name: str) -> KernelFile | None:
        found = self._fs.find(candidates(self.kind, self.name, name))
        if isinstance(found, KernelFile):
            return found
        if found.errno != errno.ENOENT:
            self.problems[name] = explain(found, str(found.filename or ""))
        return None

    def _lost(self, index: int, error: OSError) -> None:
        if error.errno in GONE and not self._exists():
            raise InstanceGoneError(self.name) from error
        self.problems[self._files[index]] = explain(error, str(error.filename or ""))

    def _exists(self) -> bool:
        return any(Path(self._fs.path(path)).is_dir() for path in candidates(self.kind, self.name, ""))


def explain(error: OSError, path: str) -> str:
    """The system's error in one line, and what would help. The caller adds the file's name."""
    said = os.strerror(error.errno) if error.errno else str(error)
    return f"{said} (debugfs is for root alone)" if error.errno in DENIED and "/debug" in path else said
