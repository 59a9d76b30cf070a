"""Opens files that decide what a privileged process does: only those that nobody else could have written.

The checks look at the open descriptor, never at the name, so a name that changes meanwhile gains nothing. The
directories on the way count too, because whoever may write one decides what its names mean.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from penstock.errors import AccessError

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for its writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class WritableByAllError(AccessError):
    """Not even its mode keeps others from writing a file."""


def read_own(path: Path, most_bytes: int, *, code: bool = False) -> tuple[os.stat_result, bytes]:
    """A regular file of root or of this user that nobody else may write, and at most so many bytes of it.

    It lies below directories of which the same is true. A directory in which everybody may only add (sticky, as
    /tmp) does no harm, unless it is the home of a file with `code`: there, links are refused too. Raises OSError.
    """
    place = _real(path.parent) / path.name if code else _real(path)
    home = _open_directory(place.parent, sticky=not code)
    try:
        handle = os.open(place.name, _FILE, dir_fd=home)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise AccessError(
                f"{path}: a symbolic link, so it is not trusted; name the file itself"
            ) from None
        raise
    finally:
        os.close(home)
    status, raw = contents(handle, most_bytes)
    require_trusted(path, status)
    return status, raw


def contents(handle: int, most_bytes: int) -> tuple[os.stat_result, bytes]:
    """What an open descriptor is, and at most so many bytes of a regular file. It is closed."""
    try:
        status, parts, left = os.fstat(handle), list[bytes](), most_bytes
        while stat.S_ISREG(status.st_mode) and left and (part := os.read(handle, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return status, b"".join(parts)
    finally:
        os.close(handle)


def names_in_own(directory: Path) -> list[str]:
    """The names in a directory that only root or this user may write, sorted; none where there is no directory."""
    try:
        handle = _open_directory(_real(directory), sticky=False)
    except (FileNotFoundError, NotADirectoryError):
        return []
    try:
        reading = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=handle)
        try:
            return sorted(os.listdir(reading))  # noqa: PTH208 - a descriptor, not a path
        finally:
            os.close(reading)
    finally:
        os.close(handle)


def require_own(path: Path) -> None:
    """Refuse a file or directory whose author could be anybody but root or the user this process runs as."""
    try:
        status = path.stat()
    except OSError:
        # Reading it gives the better message.
        return
    require_trusted(path, status)


def require_trusted(path: Path, status: os.stat_result) -> None:
    """Refuse what belongs to somebody else, or what a foreign group or everybody may write."""
    if status.st_uid not in (0, os.geteuid()):
        raise AccessError(f"{path}: belongs to uid {status.st_uid}, so it is not trusted (chown root)")
    if _foreign_group_writes(status):
        raise AccessError(f"{path}: its group may write it, so it is not trusted (chmod g-w)")
    if status.st_mode & stat.S_IWOTH:
        raise WritableByAllError(f"{path}: anybody may write it, so it is not trusted (chmod o-w)")


def _foreign_group_writes(status: os.stat_result) -> bool:
    # Root may run with the group of those who may only watch.
    own_gid = os.getegid() if os.geteuid() else 0
    return bool(status.st_mode & stat.S_IWGRP) and status.st_gid != own_gid


def _real(path: Path) -> Path:
    """Where a path leads, without an error for a loop of links: opening it gives the better message."""
    return Path(os.path.realpath(path))


def _open_directory(directory: Path, *, sticky: bool) -> int:
    """A descriptor of a directory; it and every one above it was checked on the way down. The caller closes it."""
    parts = directory.parts[1:]
    handle = os.open("/", _DIRECTORY)
    try:
        for at in range(len(parts) + 1):
            last = at == len(parts)
            shown = Path("/", *parts[:at])
            _require_closed(shown, os.fstat(handle), sticky=sticky or not last)
            if not last:
                below = os.open(parts[at], _DIRECTORY, dir_fd=handle)
                os.close(handle)
                handle = below
    except BaseException:
        os.close(handle)
        raise
    return handle


def _require_closed(directory: Path, status: os.stat_result, *, sticky: bool) -> None:
    if status.st_uid not in (0, os.geteuid()):
        raise AccessError(
            f"{directory}: belongs to uid {status.st_uid}, so nothing in it is trusted (chown root)"
        )
    if sticky and status.st_mode & stat.S_ISVTX:
        return
    if status.st_mode & stat.S_IWOTH:
        raise AccessError(f"{directory}: anybody may write it, so nothing in it is trusted (chmod o-w)")
    if _foreign_group_writes(status):
        raise AccessError(f"{directory}: its group may write it, so nothing in it is trusted (chmod g-w)")
