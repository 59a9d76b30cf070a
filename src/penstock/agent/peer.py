"""The process at the other end of a unix socket, as the kernel reports it, and what it may do."""

from __future__ import annotations

import os
import socket
import struct
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """The process that connected."""

    pid: int
    uid: int
    gid: int

    @property
    def may_change(self) -> bool:
        """Whether it is root or the agent's own user. Everybody else who can connect may only read."""
        return self.uid in (0, os.geteuid())


def peer_of(connection: socket.socket) -> Peer:
    """The peer's credentials from the kernel, from the moment when it connected."""
    size = struct.calcsize("3i")
    return Peer(*struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)))
