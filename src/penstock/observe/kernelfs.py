"""Reads kernel text files below one root directory.

A kernel file is read again from its beginning through a descriptor that stays open, because open, path lookup and
close cost five times as much as the read. Descriptors are kept while the budget lasts; beyond it a file is opened
each time. Files are opened read-only and without side effects: a write of any length, even zero, would clear Lustre's
counters.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Sequence
from pathlib import Path

# seq_file returns whole entries as long as they fit into a page. Where each entry is a short line, as in the files
# that are kept open, anything shorter than this is the whole text. Tables with long entries are read by `read_once`.
WHOLE_BELOW_BYTES = 3072
CHUNK_BYTES = 4096
# No known kernel text comes near this size. Larger ones are refused with EFBIG.
_LARGEST_TEXT_BYTES = 1 << 20
# Users may add a thousand mounts with paths of 4 KB each to the mount table.
LARGEST_TABLE_BYTES = 16 << 20
_RESERVED_DESCRIPTORS = 128
_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY

# For a removed file an open descriptor gives ENODEV (sysfs) or EIO (procfs, debugfs), a path ENOENT.
GONE = frozenset({errno.ENOENT, errno.ENODEV, errno.ENOTDIR, errno.EIO, errno.ESTALE, errno.ENXIO})
DENIED = frozenset({errno.EACCES, errno.EPERM})


class DescriptorBudget:
    """The number of descriptors that may stay open. The soft limit of the process is raised as far as allowed."""

    def __init__(self, limit: int | None = None) -> None:
        self.left = _descriptor_limit() - _RESERVED_DESCRIPTORS if limit is None else limit

    def take(self) -> bool:
        """Reserve one descriptor; False when none is left."""
        if self.left <= 0:
            return False
        self.left -= 1
        return True

    def give_back(self) -> None:
        self.left += 1


def _descriptor_limit() -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or soft < hard:
        wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        except (OSError, ValueError):
            return soft
        return max(soft, wanted)
    return soft


class KernelFile:
    """One text file that is read many times.

    `read` returns the whole text or raises OSError. A file that vanished and came back under the same path is opened
    again automatically, and no descriptor is leaked. `fd` is the open descriptor, or -1.
    """

    __slots__ = ("_budget", "fd", "path")

    def __init__(self, path: str, budget: DescriptorBudget, fd: int | None = None) -> None:
        self.path = path
        self._budget = budget
        self.fd = -1
        if fd is not None:
            self._keep(fd)

    def read(self) -> bytes:
        fd = self.fd
        if fd < 0:
            return self._read_anew()
        try:
            text = os.pread(fd, CHUNK_BYTES, 0)
        except OSError as error:
            if error.errno not in GONE and error.errno != errno.ESPIPE:
                raise
            self.close()
            return self._read_anew()
        return text if len(text) < WHOLE_BELOW_BYTES else _rest_of(fd, text)

    def close(self) -> None:
        """Close the descriptor. The next read opens the file again."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
            self._budget.give_back()

    def _keep(self, fd: int) -> bool:
        if self._budget.take():
            self.fd = fd
            return True
        return False

    def _read_anew(self) -> bytes:
        fd = os.open(self.path, _OPEN_FLAGS)
        kept = False
        try:
            text = _read_from_start(fd)
            kept = self._keep(fd)
        finally:
            if not kept:
                os.close(fd)
        return text


class KernelFs:
    """The kernel files below a root: `/` on a client, a fixture tree or a served directory elsewhere."""

    def __init__(self, root: str | Path = "/", budget: DescriptorBudget | None = None) -> None:
        self.root = str(root)
        self._prefix = self.root.rstrip("/")
        self._budget = budget or DescriptorBudget()

    def path(self, relative: str) -> str:
        """The absolute path of a file named relative to the root."""
        return f"{self._prefix}/{relative}"

    def unrooted(self, path: str) -> str:
        """The path as it would be on the client itself."""
        return path[len(self._prefix) :] if path.startswith(self._prefix) else path

    def names(self, relative: str) -> tuple[str, ...]:
        """The entries of a directory, sorted; none when it does not exist. Raises OSError when refused."""
        try:
            return tuple(sorted(os.listdir(self.path(relative))))  # noqa: PTH208 - half the price of Path
        except (FileNotFoundError, NotADirectoryError):
            return ()

    def find(self, candidates: Sequence[str]) -> KernelFile | OSError:
        """The first candidate that exists and opens, or the most informative reason why none does."""
        refusal: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), candidates[0])
        for relative in candidates:
            file = KernelFile(self.path(relative), self._budget)
            try:
                file.read()
            except OSError as error:
                if error.errno not in GONE or error.errno == errno.EIO:
                    refusal = error
                continue
            return file
        return refusal


def read_once(path: str | Path, most_bytes: int = _LARGEST_TEXT_BYTES) -> bytes:
    """Read one file once, for files that are read so rarely that keeping them open would be wasteful.

    It is read to its end: tables of many entries, such as the mount table, come in pieces of whole entries, the first
    of which may be short.
    """
    fd = os.open(path, _OPEN_FLAGS)
    try:
        return _read_on(fd, 0, most_bytes)
    finally:
        os.close(fd)


def _read_from_start(fd: int) -> bytes:
    text = os.read(fd, CHUNK_BYTES)
    if len(text) < WHOLE_BELOW_BYTES:
        return text
    return text + _read_on(fd, len(text), _LARGEST_TEXT_BYTES)


def _read_on(fd: int, have: int, most_bytes: int) -> bytes:
    chunks = []
    while chunk := os.read(fd, 1 << 16):
        chunks.append(chunk)
        have += len(chunk)
        if have > most_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return b"".join(chunks)


def _rest_of(fd: int, text: bytes) -> bytes:
    chunks, have = [text], len(text)
    while chunk := os.pread(fd, 1 << 16, have):
        chunks.append(chunk)
        have += len(chunk)
        if have > _LARGEST_TEXT_BYTES:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
    return b"".join(chunks)
