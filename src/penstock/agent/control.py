"""The control socket: one JSON line as request, one as answer, over a unix socket with restricted access.

The socket's mode is 0660. Everyone who can connect may read (`status`, `explain`). Commands that change something are
accepted only from root and from the agent's own user. The user is taken from the kernel's peer credentials, not from
the request.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.errors import AccessError, PenstockError, UnreachableError

MAX_REQUEST_BYTES = 65536
TIMEOUT_S = 5.0
MOST_CLIENTS = 16
SOCKET_MODE = 0o660
READ_VERBS = frozenset({"status", "explain", "verify"})

Handler = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as the kernel reports it."""

    pid: int
    uid: int
    gid: int


class ControlServer:
    """Serves each client in a separate thread, so that a slow or silent client does not delay others.

    A client has a few seconds in total. If there are too many, the oldest is cut off. The handler runs in these
    threads, so it may use only what is safe to use beside the control loop.
    """

    def __init__(self, path: Path, handler: Handler, timeout_s: float = TIMEOUT_S) -> None:
        self.path = path
        self._handler = handler
        self._timeout_s = timeout_s
        self._socket = _listen(path)
        self._clients: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._serve, name="penstock-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering and remove the socket."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(self._timeout_s)
        with self._lock:
            left = dict(self._clients)
        for connection, thread in left.items():
            _cut_off(connection)
            thread.join(self._timeout_s)
        self.path.unlink(missing_ok=True)

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._converse, args=(connection,), daemon=True)
            with self._lock:
                self._clients[connection] = thread
                excess = list(self._clients)[:-MOST_CLIENTS]
            for oldest in excess:
                _cut_off(oldest)
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError, ValueError):
                answer = self._answer(connection)
                connection.settimeout(self._timeout_s)
                connection.sendall(json.dumps(answer, allow_nan=False).encode() + b"\n")
        finally:
            with self._lock:
                del self._clients[connection]
            connection.close()

    def _answer(self, connection: socket.socket) -> Mapping[str, Any]:
        try:
            request = json.loads(_read_line(connection, MAX_REQUEST_BYTES, self._timeout_s))
            verb = request.pop("verb") if isinstance(request, dict) else None
        except (ValueError, KeyError, RecursionError):
            return _error("a request is one JSON object with a verb")
        if not isinstance(verb, str):
            return _error("a request is one JSON object with a verb")
        peer = peer_of(connection)
        if verb not in READ_VERBS and peer.uid not in (0, os.geteuid()):
            return _error(f"uid {peer.uid} may look but not change anything", AccessError)
        try:
            return {"ok": True, **self._handler(verb, request)}
        except PenstockError as error:
            return _error(str(error), type(error))


def request(path: Path, verb: str, timeout_s: float = TIMEOUT_S, **arguments: Any) -> dict[str, Any]:
    """Send a request to a running agent.

    Raises `UnreachableError` if none answers, or the error that it answered with.
    """
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(timeout_s)
            connection.connect(str(path))
            connection.sendall(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
            answer = json.loads(_read_line(connection, 64 * MAX_REQUEST_BYTES, timeout_s))
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except (OSError, ValueError) as error:
        problem = f"no agent answers at {path}: {error}; start one, or name its --state-dir"
        raise UnreachableError(problem) from None
    if not isinstance(answer, dict) or not answer.pop("ok", False):
        raise _raised(answer)
    return answer


def peer_of(connection: socket.socket) -> Peer:
    """The peer's credentials from the kernel."""
    size = struct.calcsize("3i")
    return Peer(*struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)))


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        mask = os.umask(0o777 & ~SOCKET_MODE)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(4 * MOST_CLIENTS)
    except OSError as error:
        listener.close()
        raise PenstockError(f"{path}: cannot listen: {error.strerror or error}") from None
    return listener


def _read_line(connection: socket.socket, limit_bytes: int, timeout_s: float) -> bytes:
    """Read one line with limits on its size and on the total time, however small the pieces are."""
    line, end_s = b"", time.monotonic() + timeout_s
    while not line.endswith(b"\n"):
        if len(line) > limit_bytes:
            raise ValueError(f"longer than {limit_bytes} bytes")
        connection.settimeout(max(0.001, end_s - time.monotonic()))
        more = connection.recv(65536)
        if not more:
            raise ValueError("the connection ended early")
        line += more
    return line


def _cut_off(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)


def _error(message: str, kind: type[PenstockError] = PenstockError) -> dict[str, Any]:
    return {"ok": False, "error": message, "exit_code": int(kind.exit_code)}


def _raised(answer: Any) -> PenstockError:
    if not isinstance(answer, dict):
        return UnreachableError("the agent's answer makes no sense")
    error = PenstockError(str(answer.get("error", "the agent refused")))
    with contextlib.suppress(ValueError, TypeError):
        error.exit_code = type(error.exit_code)(answer.get("exit_code", 1))
    return error
