"""Two exports of the metrics: a page on loopback, and a file for node_exporter, each on its own thread.

Neither shares a lock with the control loop. A scraper that never sends, reads or closes holds one connection; there
are few of them, and the oldest is closed for the next.
"""

from __future__ import annotations

import contextlib
import http.server
import logging
import os
import socket
import socketserver
import threading
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError

log = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_CONNECTIONS = 8
TIMEOUT_S = 5.0
FILE_MODE = 0o644

Address = tuple[str, int]
Render = Callable[[], bytes]


class MetricsPage:
    """Serves `GET /metrics` on a loopback address until closed."""

    def __init__(self, address: Address, render: Render) -> None:
        try:
            self._server = _MetricsServer(address, render)
        except OSError as error:
            raise PenstockError(f"metrics.listen {address[0]}:{address[1]}: {error.strerror}") from None
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.2,), name="penstock-metrics", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop answering; whoever is connected is cut off."""
        self._server.shutdown()
        self._server.cut_off_all()
        self._server.server_close()
        self._thread.join(TIMEOUT_S)


class MetricsFile:
    """Rewrites a file for node_exporter's textfile collector, so that no new port is needed.

    Readers see a whole file or the one before: it is written beside its place and renamed. A directory that
    is full, gone or hangs costs the file, never the loop; the first refusal is logged, and its end.
    """

    def __init__(self, path: Path, period_s: float, render: Render) -> None:
        self._path, self._period_s, self._render = path, period_s, render
        self._failing = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write_on, name="penstock-textfile", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Remove the file: figures of an agent that is gone must not look alive."""
        self._stop.set()
        self._thread.join(1.0)
        if not self._thread.is_alive():
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write_on(self) -> None:
        while True:
            self._write_once()
            if self._stop.wait(self._period_s):
                return

    def _write_once(self) -> None:
        try:
            replace_file(self._path, self._render())
        except OSError as error:
            if not self._failing:
                log.warning("metrics.textfile %s: %s", self._path, error.strerror or error)
            self._failing = True
        else:
            if self._failing:
                log.warning("metrics.textfile %s: written again", self._path)
            self._failing = False


def replace_file(path: Path, content: bytes) -> None:
    """Put the content in place in one step; a symbolic link at either name is replaced, never followed."""
    beside = path.with_name(f".{path.name}.tmp")
    with contextlib.suppress(FileNotFoundError):
        beside.unlink()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(beside, flags, 0o600)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor, not a path
            file.write(content)
            os.fchmod(file.fileno(), FILE_MODE)
        beside.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


class _MetricsServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """One thread a connection, few connections, no name look-ups."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, address: Address, render: Render) -> None:
        self.render = render
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._open: dict[Any, None] = {}
        self._lock = threading.Lock()
        super().__init__(address, _Page)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            self._open[request] = None
            excess = list(self._open)[: max(0, len(self._open) - MOST_CONNECTIONS)]
        for connection in excess:
            _cut_off(connection)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def cut_off_all(self) -> None:
        with self._lock:
            connections = list(self._open)
        for connection in connections:
            _cut_off(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("a scraper left early", exc_info=True)


class _Page(http.server.BaseHTTPRequestHandler):
    """`/metrics` and nothing else; one request a connection."""

    server: _MetricsServer
    timeout = TIMEOUT_S
    server_version = "penstock"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)

    def _answer(self, *, body: bool) -> None:
        if self.path.partition("?")[0] != "/metrics":
            self.send_error(HTTPStatus.NOT_FOUND, "only /metrics is served")
            return
        content = self.server.render()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if body:
            self.wfile.write(content)


def _cut_off(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
