"""A file that only grows by whole pieces, is rotated at a size, and is bounded by how many old ones are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import AccessError, PenstockError

MODE = 0o640


@dataclass(frozen=True, slots=True)
class RotatedFile:
    """FILE, and beside it FILE.1 (the newest old one) to FILE.`keep`. No link is followed."""

    path: Path
    max_bytes: int
    keep: int

    def make_room(self, coming_bytes: int) -> bool:
        """Rotate where so much more would not fit; false where that is not possible."""
        try:
            size = self.path.stat().st_size
            if size + coming_bytes > self.max_bytes:
                self.rotate()
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def rotate(self) -> None:
        """Make every file one older; the oldest goes."""
        for number in range(self.keep - 1, 0, -1):
            older = numbered(self.path, number)
            if older.exists():
                older.replace(numbered(self.path, number + 1))
        self.path.replace(numbered(self.path, 1))

    def append(self, piece: bytes, *, lines: bool = False) -> bool:
        """All of it or nothing: half a piece would spoil the next one too.

        `lines` begin on a line of their own, whatever a writer that died left behind.
        """
        try:
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.path, flags, MODE)
            try:
                size = os.fstat(descriptor).st_size
                if lines and size and os.pread(descriptor, 1, size - 1) != b"\n":
                    piece = b"\n" + piece
                if os.write(descriptor, piece) == len(piece):
                    return True
                os.ftruncate(descriptor, size)
            finally:
                os.close(descriptor)
        except OSError:
            return False
        return False


def numbered(path: Path, number: int) -> Path:
    """Where an old file is."""
    return path.with_name(f"{path.name}.{number}")


def older_parts(path: Path, keep: int = 5) -> Iterator[bytes]:
    """What the old files hold, the oldest first."""
    for number in range(keep, 0, -1):
        yield _read(numbered(path, number))


def parts(path: Path, keep: int = 5) -> Iterator[bytes]:
    """What all files hold, the oldest first."""
    yield from older_parts(path, keep)
    yield _read(path)


def _read(part: Path) -> bytes:
    try:
        return part.read_bytes()
    except FileNotFoundError:
        return b""
    except PermissionError:
        raise AccessError(f"{part}: permission denied") from None
    except OSError as error:
        raise PenstockError(f"{part}: {error.strerror}") from None
