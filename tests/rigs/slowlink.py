"""A TCP link with a round-trip time of its own, in a process of its own: bytes arrive late, none is lost.

Kernels without netem have no other way to a slow link on one machine. Each direction holds every piece of data
for half the round trip. What is under way is bounded, so a sender feels a slow receiver as on a real link.
"""

from __future__ import annotations

import argparse
import contextlib
import selectors
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

_PIECE_BYTES = 1 << 18
_MOST_UNDER_WAY_BYTES = 32 << 20


@dataclass(slots=True)
class _Lane:
    """One direction of one connection: what was received and when it may go on."""

    source: socket.socket
    sink: socket.socket
    pieces: deque[tuple[float, memoryview]] = field(default_factory=deque)
    under_way_bytes: int = 0
    ended: bool = False

    @property
    def accepts(self) -> bool:
        return not self.ended and self.under_way_bytes < _MOST_UNDER_WAY_BYTES

    def take(self, due_s: float) -> None:
        """Receive what is there; an empty piece is the end of the stream."""
        data = self.source.recv(_PIECE_BYTES)
        self.ended = not data
        self.under_way_bytes += len(data)
        self.pieces.append((due_s, memoryview(data)))

    def deliver(self, now_s: float) -> bool:
        """Send what is due; true when the receiver takes no more for now."""
        while self.pieces and self.pieces[0][0] <= now_s:
            due_s, data = self.pieces.popleft()
            if not data:
                self.sink.shutdown(socket.SHUT_WR)
                continue
            try:
                sent = self.sink.send(data)
            except BlockingIOError:
                sent = 0
            self.under_way_bytes -= sent
            if sent < len(data):
                self.pieces.appendleft((due_s, data[sent:]))
                return True
        return False


class SlowLink:
    """Passes connections on to a port of this machine, each piece of data half a round trip late."""

    def __init__(self, listener: socket.socket, to_port: int, round_trip_s: float) -> None:
        self._listener = listener
        self._to = ("127.0.0.1", to_port)
        self._late_s = round_trip_s / 2
        self._lanes: list[_Lane] = []
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)

    def step(self) -> None:
        """Wait for the next thing to happen and do it."""
        ready = self._selector.select(self._patience_s())
        for key, events in ready:
            if key.fileobj is self._listener:
                self._accept()
            elif events & selectors.EVENT_READ:
                self._receive(key.data)
        now_s = time.monotonic()
        for lane in list(self._lanes):
            self._deliver(lane, now_s)

    def _patience_s(self) -> float | None:
        dues = [lane.pieces[0][0] for lane in self._lanes if lane.pieces]
        return max(0.0, min(dues) - time.monotonic()) if dues else None

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        try:
            far = socket.create_connection(self._to)
        except OSError:
            near.close()
            return
        lanes = (_Lane(near, far), _Lane(far, near))
        for end, lane in ((near, lanes[0]), (far, lanes[1])):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(end, selectors.EVENT_READ, lane)
        self._lanes += lanes

    def _receive(self, lane: _Lane) -> None:
        try:
            if lane.accepts:
                lane.take(time.monotonic() + self._late_s)
        except BlockingIOError:
            return
        except OSError:
            self._drop(lane)
            return
        if not lane.accepts:
            self._listen_to(lane, reading=False)

    def _deliver(self, lane: _Lane, now_s: float) -> None:
        stopped = not lane.accepts and not lane.ended
        try:
            full = lane.deliver(now_s)
        except OSError:
            self._drop(lane)
            return
        if full:
            # The receiver's buffer is full: look again shortly instead of spinning.
            due_s, data = lane.pieces[0]
            lane.pieces[0] = (max(due_s, now_s + 2e-4), data)
        if stopped and lane.accepts:
            self._listen_to(lane, reading=True)

    def _listen_to(self, lane: _Lane, *, reading: bool) -> None:
        if reading:
            self._selector.register(lane.source, selectors.EVENT_READ, lane)
        else:
            self._selector.unregister(lane.source)

    def _drop(self, lane: _Lane) -> None:
        """A broken connection takes both of its directions with it."""
        ends = {lane.source, lane.sink}
        for end in ends:
            with contextlib.suppress(KeyError, ValueError):
                self._selector.unregister(end)
            end.close()
        self._lanes = [other for other in self._lanes if other.source not in ends]


@contextlib.contextmanager
def slow_link(to_port: int, round_trip_s: float) -> Iterator[int]:
    """The port of a link to another port of this machine, for the length of a `with` block."""
    command = [sys.executable, "-P", __file__, str(to_port), str(round_trip_s)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline() if process.stdout is not None else ""
        if not said.strip().isdigit():
            raise RuntimeError("the slow link did not start")
        yield int(said)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def main() -> None:
    """The process behind `slow_link`: says its port, then works until it is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("to_port", type=int)
    parser.add_argument("round_trip_s", type=float)
    asked = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0))
    link = SlowLink(listener, asked.to_port, asked.round_trip_s)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    while True:
        link.step()


if __name__ == "__main__":
    main()
