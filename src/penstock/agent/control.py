"""The control socket: one JSON line as request, one as answer, over a unix socket with restricted access.

The socket's mode is 0660. Everyone who can connect may read (`status`, `explain`, `why-not`). Commands that
change something are accepted only from root and from the agent's own user. The user is taken from the kernel's peer
credentials, not from the request.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.agent.line_server import BACKLOG, MOST_CLIENTS, Client, LineServer
from penstock.errors import AccessError, PenstockError, UnreachableError
from penstock.threads import WorkerPool

TIMEOUT_S = 5.0
SOCKET_MODE = 0o660
READ_VERBS = frozenset({"status", "explain", "verify", "why-not"})
# These read files without end in sight, so they have one thread and few may wait.
SEARCHES = frozenset({"explain", "verify"})
QUICK_WORKERS = 2
# Of a core, for each thread that answers: the control loop needs the rest.
SHARE = 0.1
# What closing waits for a request that is being answered.
PATIENCE_S = 1.0
MOST_SEARCHES = 16
# The status of 5,000 targets has 2.4 MB.
MOST_ANSWER_BYTES = 64 << 20
BUSY = "too many ask at once: ask again"

# An answer may be a line that is already there; it says "ok" itself.
Handler = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | bytes]


class ControlServer:
    """Answers requests on a fixed number of threads, however many clients there are.

    One thread talks to all clients, so that a slow or silent one does not delay others. The handler runs in a few
    others, so it may use only what is safe to use beside the control loop. Requests that search the log or the node
    have one thread for all of them, and a short queue. Where the system has no thread to give, `staff` tries again.
    """

    def __init__(self, path: Path, handler: Handler, timeout_s: float = TIMEOUT_S) -> None:
        self.path = path
        self._handler = handler
        self._timeout_s = timeout_s
        self._quick = WorkerPool("penstock-answer", QUICK_WORKERS, MOST_CLIENTS, SHARE)
        self._slow = WorkerPool("penstock-search", 1, MOST_SEARCHES, SHARE)
        self._server = LineServer(_listen(path), self._take, timeout_s, encoded(_error(BUSY)))
        self.staff()

    def staff(self) -> None:
        """Start the threads that are missing."""
        self._server.staff()
        self._quick.staff()
        self._slow.staff()

    def close(self) -> None:
        """Stop answering and remove the socket."""
        with contextlib.suppress(OSError):
            self.path.unlink(missing_ok=True)
        self._server.close()
        for pool in (self._quick, self._slow):
            pool.close(PATIENCE_S)

    def _take(self, client: Client, line: bytes) -> None:
        self._quick.staff()
        self._slow.staff()
        try:
            asked = json.loads(line)
            verb = asked.pop("verb") if isinstance(asked, dict) else None
        except (ValueError, KeyError, RecursionError):
            verb = None
        if not isinstance(verb, str):
            self._server.answer(client, encoded(_error("a request is one JSON object with a verb")))
            return
        pool, taken_s = self._slow if verb in SEARCHES else self._quick, time.monotonic()
        if not pool.take(lambda: self._handle(client, verb, asked, taken_s)):
            self._server.answer(client, encoded(_error(f"too many ask for {verb} at once: ask again")))

    def _handle(self, client: Client, verb: str, arguments: Mapping[str, Any], taken_s: float) -> None:
        line = encoded(_error("the agent could not answer; its log says why"))
        try:
            found: Mapping[str, Any] | bytes
            if verb in SEARCHES and time.monotonic() - taken_s > self._timeout_s:
                found = _error(f"too many ask for {verb} at once: ask again")
            else:
                found = self._found(client, verb, arguments)
            # Here, because what cannot be encoded must not keep its client without an answer.
            line = found if isinstance(found, bytes) else encoded(found)
        finally:
            self._server.answer(client, line)

    def _found(self, client: Client, verb: str, arguments: Mapping[str, Any]) -> Mapping[str, Any] | bytes:
        if verb not in READ_VERBS and not client.peer.may_change:
            return _error(f"uid {client.peer.uid} may look but not change anything", AccessError)
        try:
            answer = self._handler(verb, arguments)
        except PenstockError as error:
            return _error(str(error), type(error))
        return answer if isinstance(answer, bytes) else {"ok": True, **answer}


def encoded(answer: Mapping[str, Any]) -> bytes:
    """An answer as its line."""
    return json.dumps(answer, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def request(path: Path, verb: str, timeout_s: float = TIMEOUT_S, **arguments: Any) -> dict[str, Any]:
    """Send a request to a running agent.

    Raises `UnreachableError` if none answers, or the error that it answered with.
    """
    end_s = time.monotonic() + timeout_s
    try:
        with _connect(path, end_s) as connection:
            connection.sendall(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
            answer = json.loads(_read_line(connection, MOST_ANSWER_BYTES, end_s))
    except PermissionError:
        raise AccessError(f"{path}: permission denied") from None
    except (OSError, ValueError) as error:
        problem = f"no agent answers at {path}: {error}; start one, or name its --state-dir"
        raise UnreachableError(problem) from None
    if not isinstance(answer, dict) or not answer.pop("ok", False):
        raise _raised(answer)
    return answer


def _listen(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        mask = os.umask(0o777 & ~SOCKET_MODE)
        try:
            listener.bind(str(path))
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise PenstockError(f"{path}: cannot listen: {error.strerror or error}") from None
    return listener


def _connect(path: Path, end_s: float) -> socket.socket:
    """A connection. A unix socket whose queue is full refuses at once, so this tries again until the time is up."""
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(max(0.001, end_s - time.monotonic()))
            connection.connect(str(path))
        except BlockingIOError:
            connection.close()
            if time.monotonic() > end_s:
                raise
            time.sleep(0.01)
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def _read_line(connection: socket.socket, limit_bytes: int, end_s: float) -> bytes:
    """Read one line with limits on its size and on the total time, however small the pieces are."""
    line = bytearray()
    while not line.endswith(b"\n"):
        if len(line) > limit_bytes:
            raise ValueError(f"longer than {limit_bytes} bytes")
        connection.settimeout(max(0.001, end_s - time.monotonic()))
        more = connection.recv(1 << 20)
        if not more:
            raise ValueError("the connection ended early")
        line += more
    return bytes(line)


def _error(message: str, kind: type[PenstockError] = PenstockError) -> dict[str, Any]:
    return {"ok": False, "error": message, "exit_code": int(kind.exit_code)}


def _raised(answer: Any) -> PenstockError:
    if not isinstance(answer, dict):
        return UnreachableError("the agent's answer makes no sense")
    error = PenstockError(str(answer.get("error", "the agent refused")))
    with contextlib.suppress(ValueError, TypeError):
        error.exit_code = type(error.exit_code)(answer.get("exit_code", 1))
    return error
