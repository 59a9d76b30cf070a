"""Every access to the shared folder. Nothing that others put there is followed, waited for, or read without end.

The folder's owner decides what all nodes read: files of anybody else are refused, and so is a folder that others may
write, or where what this node writes is not the owner's. A server with root_squash gives all nodes' files to one
user; then each of them may replace the files of all, and so may whoever else becomes that user. Every node's own
guard bounds what such a file can do.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import AccessError, DataError, MissingError

MEMBERS, LEASES, ASIDE = "members", "leases", "aside"
ROOMS = (MEMBERS, LEASES, ASIDE)
#: The folder itself.
TOP = "."
MOST_NAMES = 20_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for its writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

#: Differs where a file was written or touched since.
Signature = tuple[int, int, int]


class ShareFolder:
    """One shared folder, as one node uses it. Everything raises OSError or an error of Penstock."""

    def __init__(self, path: Path, node: str) -> None:
        self.path = path
        self._temporary = f".{node}.tmp"

    def prepare(self) -> None:
        """Make the rooms that are missing. Raises where the folder cannot be trusted."""
        for room in ROOMS:
            with self._opened(room):
                pass

    def names(self, room: str) -> dict[str, Signature]:
        """What has a plain name in a room, so many at most. What is no file is refused by whoever reads it."""
        found: dict[str, Signature] = {}
        with self._opened(room) as handle, os.scandir(handle) as entries:
            for entry in entries:
                if not _NAME.fullmatch(entry.name):
                    continue
                with contextlib.suppress(OSError):
                    found[entry.name] = _signature(entry.stat(follow_symlinks=False))
                if len(found) >= MOST_NAMES:
                    break
        return found

    def signature(self, room: str, name: str) -> Signature | None:
        """That of one file; None where there is none."""
        with self._opened(room) as handle:
            try:
                return _signature(os.stat(name, dir_fd=handle, follow_symlinks=False))
            except FileNotFoundError:
                return None

    def read(self, room: str, name: str, most_bytes: int) -> bytes:
        """A regular file of the folder's owner that nobody else may write; one byte more than allowed at most."""
        where = self.path / room / name
        with self._opened(room) as directory:
            owner = os.fstat(directory).st_uid
            try:
                handle = os.open(name, _READ, dir_fd=directory)
            except OSError as error:
                # A link, a socket.
                if error.errno in (errno.ELOOP, errno.ENXIO):
                    raise DataError(f"{where}: not a file") from None
                raise
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise DataError(f"{where}: not a file")
            if status.st_uid != owner:
                raise DataError(
                    f"{where}: belongs to uid {status.st_uid}, the folder to uid {owner}: not believed"
                )
            if status.st_mode & 0o022:
                raise DataError(f"{where}: others may write it: not believed")
            parts, left = list[bytes](), most_bytes + 1
            while left and (part := os.read(handle, min(left, 1 << 20))):
                parts.append(part)
                left -= len(part)
            return b"".join(parts)
        finally:
            os.close(handle)

    def write(self, room: str, name: str, raw: bytes) -> None:
        """Put a file in place in one step: readers see the whole of it or what was there before."""
        with self._opened(room) as handle:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._temporary, dir_fd=handle)
            self._make(handle, self._temporary, raw)
            try:
                os.replace(self._temporary, name, src_dir_fd=handle, dst_dir_fd=handle)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(self._temporary, dir_fd=handle)
                raise

    def create(self, room: str, name: str, raw: bytes) -> bool:
        """Make a file that is not there yet; false where there is one."""
        with self._opened(room) as handle:
            try:
                self._make(handle, name, raw)
            except FileExistsError:
                return False
        return True

    def touch(self, room: str, name: str) -> bool:
        """Show that a file's writer is alive; false where the file is gone."""
        with self._opened(room) as handle:
            try:
                os.utime(name, dir_fd=handle, follow_symlinks=False)
            except FileNotFoundError:
                return False
        return True

    def remove(self, room: str, name: str) -> None:
        """Remove a file, if it is there."""
        with self._opened(room) as handle, contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=handle)

    def put_aside(self, room: str, name: str) -> bool:
        """Move a file where nobody reads it; false where that is not possible."""
        try:
            with self._opened(room) as handle, self._opened(ASIDE) as aside:
                os.replace(name, name, src_dir_fd=handle, dst_dir_fd=aside)
        except OSError:
            return False
        return True

    def _make(self, room: int, name: str, raw: bytes) -> None:
        """Fill a new file, or leave none: nobody believes one that is not the folder's owner's."""
        made = os.open(name, _CREATE, 0o640, dir_fd=room)
        try:
            with os.fdopen(made, "wb") as file:
                ours, owner = os.fstat(made).st_uid, os.fstat(room).st_uid
                if ours != owner:
                    raise AccessError(
                        f"{self.path}: belongs to uid {owner}, what this node writes there to uid {ours}: "
                        "nobody would believe it"
                    )
                file.write(raw)
        except (OSError, AccessError):
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=room)
            raise

    @contextlib.contextmanager
    def _opened(self, room: str) -> Iterator[int]:
        """A descriptor of the folder or one of its rooms, both of one owner and writable by nobody else."""
        try:
            top = os.open(os.path.realpath(self.path), _DIRECTORY)
        except FileNotFoundError:
            raise MissingError(f"{self.path}: no such folder") from None
        try:
            owner = os.fstat(top).st_uid
            self._require_closed(self.path, top, owner)
            if room == TOP:
                yield top
                return
            handle = self._open_room(top, room)
            try:
                self._require_closed(self.path / room, handle, owner)
                yield handle
            finally:
                os.close(handle)
        finally:
            os.close(top)

    def _open_room(self, top: int, room: str) -> int:
        """A descriptor of a room, which is made where it is missing."""
        try:
            with contextlib.suppress(FileNotFoundError):
                return os.open(room, _DIRECTORY, dir_fd=top)
            with contextlib.suppress(FileExistsError):
                os.mkdir(room, 0o750, dir_fd=top)
            return os.open(room, _DIRECTORY, dir_fd=top)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise DataError(f"{self.path / room}: not a folder of ours") from None
            raise

    @staticmethod
    def _require_closed(path: Path, handle: int, owner: int) -> None:
        status = os.fstat(handle)
        if status.st_uid != owner:
            raise AccessError(f"{path}: belongs to uid {status.st_uid}, the shared folder to uid {owner}")
        if status.st_mode & 0o022:
            raise AccessError(f"{path}: others may write it, so nothing in it is believed (chmod go-w)")


def _signature(status: os.stat_result) -> Signature:
    return status.st_mtime_ns, status.st_size, status.st_ino
