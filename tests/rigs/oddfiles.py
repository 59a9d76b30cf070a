"""Things that are no regular files, in the place of one."""

from __future__ import annotations

import contextlib
import os
import socket
from pathlib import Path

ODD = ("link", "loop", "pipe", "directory", "socket")


def put(odd: str, place: Path, victim: Path) -> None:
    """Replace what is there; a link leads to the victim."""
    place.unlink(missing_ok=True)
    if odd == "link":
        place.symlink_to(victim)
    elif odd == "loop":
        place.symlink_to(place.name)
    elif odd == "pipe":
        os.mkfifo(place)
    elif odd == "directory":
        place.mkdir()
        (place / "full").write_bytes(b"x")
    else:
        _bind(place)


def _bind(place: Path) -> None:
    """A socket's file; its path may be longer than a socket's address."""
    room = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as made:
            made.bind(f"/proc/self/fd/{room}/{place.name}")
    finally:
        os.close(room)
