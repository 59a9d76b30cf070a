"""Writes a file in one step: readers see the whole of it or what was there before, and no link is followed.

Whoever may write a directory can put a link where the next report goes. The link is replaced; what it leads to is not
touched.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from pathlib import Path

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def replace_file(path: Path, content: bytes | str, mode: int | None = None) -> None:
    """Put the content in place. The mode is the given one, that of the file before, or the usual one. Raises OSError.

    A terminal, a pipe or `/dev/null` is written to as it is: there is no file to replace.
    """
    raw = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    if is_no_file(path):
        with path.open("wb") as out:
            out.write(raw)
        return
    descriptor, beside = _open_for(path)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            if beside is None:
                file.truncate()
            file.write(raw)
            if beside is not None:
                os.fchmod(file.fileno(), _mode_of(path) if mode is None else mode)
        if beside is not None:
            beside.replace(path)
    except BaseException:
        _remove(beside)
        raise


def require_replaceable(path: Path) -> None:
    """Raise the OSError that `replace_file` would raise now. What is there stays, and no link or pipe is opened."""
    if not is_no_file(path):
        descriptor, beside = _open_for(path)
        os.close(descriptor)
        _remove(beside)


def _open_for(path: Path) -> tuple[int, Path | None]:
    """A new file beside a path; the file itself, and None, if its directory takes no new one."""
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    try:
        return os.open(beside, _FLAGS, 0o600), beside
    except PermissionError as refused:
        # The directory takes no new file. Then nobody can put a link there for us either, except its owner.
        try:
            return os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC), None
        except FileNotFoundError:
            raise refused from None


def _remove(beside: Path | None) -> None:
    with contextlib.suppress(OSError):
        if beside is not None:
            beside.unlink()


def is_no_file(path: Path) -> bool:
    """Whether a name stands for a device or a pipe. `/dev/stdout` is a link, and what it leads to may be a file."""
    if path.parent in (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd")):
        return True
    try:
        kind = path.lstat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(kind) or stat.S_ISLNK(kind) or stat.S_ISDIR(kind))


def _mode_of(path: Path) -> int:
    """The mode of the file that is replaced, if it is one of ours; else what a new file gets here."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            return stat.S_IMODE(status.st_mode)
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask
