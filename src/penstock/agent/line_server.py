"""Reads one line from each client of a unix socket and writes one line back, all in a single thread.

A client that is slow, silent or greedy costs one descriptor for a few seconds. Some slots are kept for root and the
agent's own user, so that clients who may only read cannot lock them out. What goes wrong with one client, with
accepting, or with a shortage of descriptors never ends the thread.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.agent.peer import Peer, peer_of
from penstock.threads import CoreShare, try_to_start

log = logging.getLogger(__name__)

MOST_CLIENTS = 64
# Of these, the ones that only root and the agent's own user may have.
RESERVED = 8
MOST_READERS = MOST_CLIENTS - RESERVED
# Readers beyond that wait here. They are accepted because only then it is known who they are.
MOST_WAITING = 192
MAX_REQUEST_BYTES = 65536
# Where slots are short, somebody who is silent or does not read for this long makes room for the next.
GRACE_S = 0.5
# After an error of accept, such as no free descriptor.
PAUSE_S = 0.2
BACKLOG = 1024
# Of a core, for talking to clients: the control loop needs the rest.
SHARE = 0.05


@dataclass(eq=False, slots=True)
class Client:
    """One connection: first a request comes in, then it is with a worker, then its answer goes out."""

    connection: socket.socket
    peer: Peer
    #: When it connected; once it is being answered, when it last took a piece of the answer.
    since_s: float
    until_s: float
    request: bytearray = field(default_factory=bytearray)
    #: What is left to send. It is a view: many clients may be sent the same bytes.
    answer: memoryview | None = None
    asked: bool = False

    def is_stuck(self, looked_s: float) -> bool:
        """Whether it held its slot for nothing until then: it did not ask, or may only read and took no answer."""
        waits_for_it = not self.asked or (self.answer is not None and not self.peer.may_change)
        return waits_for_it and looked_s - self.since_s >= GRACE_S


Take = Callable[[Client, bytes], None]


class LineServer:
    """Serves a listening socket. `take` is given every whole line; `answer` may be called from any thread.

    `busy` is the line for clients that are turned away because too many wait.
    """

    def __init__(self, listener: socket.socket, take: Take, timeout_s: float, busy: bytes = b"") -> None:
        listener.setblocking(False)
        self._listener, self._take, self._timeout_s, self._busy = listener, take, timeout_s, busy
        self._selector = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)
        self._selector.register(self._ear, selectors.EVENT_READ)
        self._clients: dict[socket.socket, Client] = {}
        self._waiting: deque[Client] = deque()
        self._ready: list[Client] = []
        self._lock, self._staffing = threading.Lock(), threading.Lock()
        self._accept_from_s = 0.0
        #: All that clients had sent or taken by then was seen. On a busy machine that may be long ago.
        self._looked_s = 0.0
        self._pace = CoreShare(SHARE)
        self._stopping = False
        self._thread: threading.Thread | None = None

    def staff(self) -> bool:
        """Start the thread if there is none. Returns false where the system has none to give."""
        # Two of them would both answer, so whoever looks and starts is alone.
        with self._staffing:
            if self._stopping or (self._thread is not None and self._thread.is_alive()):
                return True
            thread = threading.Thread(target=self._serve, name="penstock-control", daemon=True)
            self._thread = thread if try_to_start(thread) else None
            return self._thread is not None

    def answer(self, client: Client, line: bytes) -> None:
        """Send a line to a client, and end the connection."""
        now_s = time.monotonic()
        client.since_s, client.until_s = now_s, now_s + self._timeout_s
        client.answer = memoryview(line)
        with self._lock:
            self._ready.append(client)
        self._wake()

    def close(self) -> None:
        """Stop answering; whoever is connected is cut off."""
        self._stopping = True
        self._wake()
        if self._thread is not None:
            self._thread.join(self._timeout_s)
        for client in (*self._clients.values(), *self._waiting):
            self._drop(client)
        for piece in (self._listener, self._bell, self._ear, self._selector):
            with contextlib.suppress(OSError):
                piece.close()

    def _wake(self) -> None:
        with contextlib.suppress(OSError):
            self._bell.send(b"!")

    def _serve(self) -> None:
        while not self._stopping:
            try:
                self._turn()
            except Exception:
                # Whatever it was, the next client must find somebody here.
                log.exception("the control socket had a problem and goes on")
                time.sleep(PAUSE_S)
            self._pace.rest()

    def _turn(self) -> None:
        self._admit()
        self._watch_for_newcomers()
        wait_s = self._wait_s()
        self._looked_s = time.monotonic()
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._ear:
                with contextlib.suppress(OSError):
                    self._ear.recv(4096)
            elif key.fileobj is self._listener:
                self._accept()
            else:
                self._talk(key.data)
        with self._lock:
            ready, self._ready = self._ready, []
        for client in ready:
            if client.connection in self._clients:
                self._selector.register(client.connection, selectors.EVENT_WRITE, client)
                self._talk(client)
        self._expire()

    def _watch_for_newcomers(self) -> None:
        """Listen only while there is room and no error of accept is fresh; others wait in the kernel's queue."""
        if time.monotonic() >= self._accept_from_s:
            self._accept_from_s = 0.0
        wanted = not self._accept_from_s and (len(self._clients) < MOST_CLIENTS or self._make_room())
        watched = self._listener in self._selector.get_map()
        if wanted and not watched:
            self._selector.register(self._listener, selectors.EVENT_READ)
        elif watched and not wanted:
            self._selector.unregister(self._listener)

    def _make_room(self, *, among_readers: bool = False) -> bool:
        """Drop whoever holds a slot for nothing longest. Returns false if nobody does."""
        those = (one for one in self._clients.values() if not (among_readers and one.peer.may_change))
        stuck = [client for client in those if client.is_stuck(self._looked_s)]
        if not stuck:
            return False
        self._drop(min(stuck, key=lambda client: client.since_s))
        return True

    def _wait_s(self) -> float:
        short = len(self._clients) >= MOST_CLIENTS or self._waiting or self._accept_from_s
        return 0.05 if short else 0.5

    def _accept(self) -> None:
        # One turn takes a bounded number: somebody who connects without end must not keep the thread here.
        for _ in range(MOST_CLIENTS + MOST_WAITING):
            if len(self._clients) >= MOST_CLIENTS:
                return
            try:
                connection = self._next()
            except BlockingIOError:
                return
            except OSError:
                self._accept_from_s = time.monotonic() + PAUSE_S
                return
            self._welcome(connection)

    def _welcome(self, connection: socket.socket) -> None:
        """Give a newcomer a slot, let it wait for one, or turn it away."""
        connection.setblocking(False)
        now_s = time.monotonic()
        client = Client(connection, peer_of(connection), now_s, now_s + self._timeout_s)
        if client.peer.may_change or not (self._waiting or self._readers_full()):
            self._begin(client)
        elif len(self._waiting) < MOST_WAITING:
            self._waiting.append(client)
        else:
            with contextlib.suppress(OSError):
                connection.send(self._busy)
            self._drop(client)

    def _admit(self) -> None:
        """Give the slots that are free, or held for nothing, to those who wait, the first first."""
        while self._waiting and (not self._readers_full() or self._make_room(among_readers=True)):
            client = self._waiting.popleft()
            client.since_s = time.monotonic()
            client.until_s = client.since_s + self._timeout_s
            self._begin(client)

    def _readers_full(self) -> bool:
        readers = sum(not client.peer.may_change for client in self._clients.values())
        return readers >= MOST_READERS or len(self._clients) >= MOST_CLIENTS

    def _begin(self, client: Client) -> None:
        self._clients[client.connection] = client
        self._selector.register(client.connection, selectors.EVENT_READ, client)

    def _next(self) -> socket.socket:
        return self._listener.accept()[0]

    def _talk(self, client: Client) -> None:
        try:
            if client.answer is None:
                self._hear(client)
            else:
                self._tell(client, client.answer)
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)

    def _hear(self, client: Client) -> None:
        more = client.connection.recv(65536)
        client.request += more
        line, end, _ = bytes(client.request).partition(b"\n") if b"\n" in more else (b"", b"", b"")
        if end and len(line) <= MAX_REQUEST_BYTES:
            client.asked, client.until_s = True, float("inf")
            self._selector.unregister(client.connection)
            self._take(client, line)
        elif not more or end or len(client.request) > MAX_REQUEST_BYTES:
            self._drop(client)

    def _tell(self, client: Client, answer: memoryview) -> None:
        client.answer = answer[client.connection.send(answer) :]
        client.since_s = time.monotonic()
        if not client.answer:
            self._drop(client)

    def _expire(self) -> None:
        now_s = time.monotonic()
        for client in [client for client in self._clients.values() if now_s > client.until_s]:
            self._drop(client)

    def _drop(self, client: Client) -> None:
        self._clients.pop(client.connection, None)
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(client.connection)
        with contextlib.suppress(OSError):
            client.connection.close()
