"""Ports for servers that a test starts a little later.

A port that the kernel picks for one socket may be picked again, for another server or as the near end of
somebody's connection, before the server of the test has started. So these lie below the kernel's own range,
and no process hands out the same one twice.
"""

from __future__ import annotations

import itertools
import os
import socket

_FIRST, _LAST = 12000, 32000
_PER_PROCESS = 500
# Tests that run side by side have neighbouring process numbers, and so ranges of their own.
_offsets = itertools.count(os.getpid() % ((_LAST - _FIRST) // _PER_PROCESS) * _PER_PROCESS)


def free_port() -> int:
    """A port nobody listens on now and nobody else is told of by this process."""
    for offset in itertools.islice(_offsets, _LAST - _FIRST):
        port = _FIRST + offset % (_LAST - _FIRST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
    raise RuntimeError("no port is free")
