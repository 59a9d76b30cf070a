"""The errors of setting knobs and of keeping their originals."""

from __future__ import annotations

import errno
import os

from penstock.errors import AccessError, DataError, MissingError, PenstockError

# After an unmount an open descriptor gives ENODEV, the path ENOENT.
GONE = frozenset({errno.ENOENT, errno.ENODEV, errno.ENOTDIR, errno.ESTALE, errno.ENXIO})
DENIED = frozenset({errno.EACCES, errno.EPERM})


class TargetGoneError(MissingError):
    """The target was unmounted."""


class TargetUnusableError(PenstockError):
    """The files of a target cannot be used now."""


class RefusedError(PenstockError):
    """The system did not accept a value of a knob."""

    def __init__(self, knob_id: str, value: int, path: str, cause: OSError) -> None:
        super().__init__(f"{path}: {value} refused: {diagnose(cause)}")
        self.knob_id = knob_id
        self.value = value
        self.errno = cause.errno or errno.EIO


class JournalCorruptError(DataError):
    """A journal exists but cannot be trusted. Nothing is guessed from it."""


class JournalUnwritableError(AccessError):
    """The originals cannot be stored, so nothing may be changed."""


def diagnose(error: OSError) -> str:
    """What the system said, in one line, and what usually causes it on a managed node.

    >>> diagnose(OSError(30, ""))
    'Read-only file system (systemd: ProtectKernelTunables=yes makes /sys and /proc read-only; remove it \
from the unit or set it to no)'
    """
    said = os.strerror(error.errno) if error.errno else str(error)
    if error.errno == errno.EROFS:
        return (
            f"{said} (systemd: ProtectKernelTunables=yes makes /sys and /proc read-only; "
            "remove it from the unit or set it to no)"
        )
    if error.errno in DENIED:
        return f"{said} (only root sets knobs)"
    if error.errno == errno.ERANGE:
        return f"{said} (outside what this target accepts)"
    return said
