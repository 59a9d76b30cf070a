"""Reads files that users name. What is wrong with one is an error that names it."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import DataError, PenstockError, unreadable


def read_text(path: Path, most_bytes: int, refused: type[PenstockError] = DataError) -> str:
    """The text of a UTF-8 file of at most so many bytes. `refused` is the error for another file than that."""
    raw = read_bytes(path, most_bytes, refused)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise refused(f"{path}: not UTF-8 at byte {error.start}") from None


def read_bytes(path: Path, most_bytes: int, refused: type[PenstockError] = DataError) -> bytes:
    """The bytes of a file of at most so many."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(most_bytes + 1)
    except OSError as error:
        raise unreadable(path, error, refused) from None
    if len(raw) > most_bytes:
        raise refused(f"{path}: larger than {most_bytes} bytes")
    return raw
