"""Leases as files: few nodes at a time do what one is enough for.

A lease is held by whoever's name is in its file. Its holder renews it by writing the file again. It expires for each
observer by that observer's own clock, when it has seen no change for a while; nodes' clocks are never compared. Two
nodes may hold one lease for a moment, which must do no harm.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field

from penstock.agent.sharing.folder import LEASES, ShareFolder
from penstock.errors import DataError

LEASE_S = 60.0
_MOST_BYTES = 512


@dataclass(slots=True)
class LeaseBook:
    """The leases of one node."""

    folder: ShareFolder
    node: str
    #: Tells this agent from an earlier one on the same node.
    token: str = field(default_factory=lambda: secrets.token_hex(8))
    held: set[str] = field(default_factory=set)
    _seen: dict[str, tuple[bytes, float]] = field(default_factory=dict)
    _beats: int = 0

    def take(self, name: str, now_s: float) -> bool:
        """Renew a lease, or take one that is free or has expired. Whether this node holds it now. Raises OSError."""
        is_file = True
        try:
            raw = self.folder.read(LEASES, name, _MOST_BYTES)
        except FileNotFoundError:
            made = self.folder.create(LEASES, name, self._text())
            return self._note(name, held=made)
        except DataError:
            # Nobody renews what is no lease.
            raw, is_file = b"", False
        if self._is_mine(raw):
            self.folder.write(LEASES, name, self._text())
            return self._note(name, held=True)
        before, since_s = self._seen.get(name, (None, now_s))
        if raw != before:
            self._seen[name] = raw, now_s
        elif now_s - since_s > LEASE_S:
            # Of several who do this at once the last one finds its own name at its next look.
            if not is_file:
                # A directory, say, which no file replaces.
                self.folder.put_aside(LEASES, name)
            self.folder.write(LEASES, name, self._text())
        return self._note(name, held=False)

    def release(self, name: str) -> None:
        """Give a lease back, if it is still this node's."""
        if name in self.held:
            self.held.discard(name)
            try:
                if self._is_mine(self.folder.read(LEASES, name, _MOST_BYTES)):
                    self.folder.remove(LEASES, name)
            except (FileNotFoundError, DataError):
                return

    def release_all(self) -> None:
        """Give back everything."""
        for name in tuple(self.held):
            self.release(name)

    def _note(self, name: str, *, held: bool) -> bool:
        if held:
            self.held.add(name)
            self._seen.pop(name, None)
        else:
            self.held.discard(name)
        return held

    def _text(self) -> bytes:
        self._beats += 1
        return json.dumps({"node": self.node, "token": self.token, "beat": self._beats}).encode()

    def _is_mine(self, raw: bytes) -> bool:
        return f'"token": "{self.token}"'.encode() in raw
