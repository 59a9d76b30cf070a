"""Two exports of the metrics: a page on loopback, and a file for node_exporter, each on its own thread.

Neither shares a lock with the control loop. A scraper that never sends, reads or closes holds one connection; there
are few of them, and the oldest is closed for the next. Everybody gets the same bytes.
"""

from __future__ import annotations

import contextlib
import http.server
import logging
import socket
import socketserver
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from typing import Any

from penstock.errors import PenstockError
from penstock.output_files import replace_file
from penstock.threads import CoreShare, WorkerPool, try_to_start

log = logging.getLogger(__name__)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_CONNECTIONS = 8
TIMEOUT_S = 5.0
PAUSE_S = 0.2
# Of a core, for each thread that answers scrapers: the control loop needs the rest.
SHARE = 0.01
FILE_MODE = 0o644

Address = tuple[str, int]
Render = Callable[[], bytes]


class MetricsPage:
    """Serves `GET /metrics` on a loopback address until closed, on a fixed number of threads."""

    def __init__(self, address: Address, render: Render) -> None:
        try:
            self._server = _MetricsServer(address, render)
        except OSError as error:
            raise PenstockError(f"metrics.listen {address[0]}:{address[1]}: {error.strerror}") from None
        self.port = int(self._server.server_address[1])
        self._closing = False
        self._thread: threading.Thread | None = None
        self.staff()

    def staff(self) -> None:
        """Start the threads that are missing; where the system has none to give, the next call tries again."""
        self._server.pool.staff()
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._serve, name="penstock-metrics", daemon=True)
            self._thread = thread if try_to_start(thread) else None

    def close(self) -> None:
        """Stop answering; whoever is connected is cut off."""
        self._closing = True
        if self._thread is not None:
            self._server.shutdown()
            self._thread.join(TIMEOUT_S)
        self._server.cut_off_all()
        self._server.server_close()
        self._server.pool.close(1.0)

    def _serve(self) -> None:
        while not self._closing:
            try:
                self._server.serve_forever(0.2)
            except Exception:
                log.exception("the metrics page had a problem and goes on")
                time.sleep(PAUSE_S)


class MetricsFile:
    """Rewrites a file for node_exporter's textfile collector, so that no new port is needed.

    Readers see a whole file or the one before: it is written beside its place and renamed. A directory that
    is full, gone or hangs costs the file, never the loop; the first refusal is logged, and its end.
    """

    def __init__(self, path: Path, period_s: float, render: Render) -> None:
        self._path, self._period_s, self._render = path, period_s, render
        self._failing = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.staff()

    def staff(self) -> None:
        """Start the thread if it is missing; where the system has none to give, the next call tries again."""
        if self._stop.is_set():
            return
        if self._thread is None or not self._thread.is_alive():
            thread = threading.Thread(target=self._write_on, name="penstock-textfile", daemon=True)
            self._thread = thread if try_to_start(thread) else None

    def close(self) -> None:
        """Remove the file: figures of an agent that is gone must not look alive."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(1.0)
        if self._thread is None or not self._thread.is_alive():
            with contextlib.suppress(OSError):
                self._path.unlink(missing_ok=True)

    def _write_on(self) -> None:
        while True:
            self._write_once()
            if self._stop.wait(self._period_s):
                return

    def _write_once(self) -> None:
        try:
            replace_file(self._path, self._render(), FILE_MODE)
        except OSError as error:
            if not self._failing:
                log.warning("metrics.textfile %s: %s", self._path, error.strerror or error)
            self._failing = True
        except Exception:
            # Whatever it was, the next figures may be sound.
            if not self._failing:
                log.exception("metrics.textfile %s: the figures cannot be made", self._path)
            self._failing = True
        else:
            if self._failing:
                log.warning("metrics.textfile %s: written again", self._path)
            self._failing = False


class _MetricsServer(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Few connections, a thread for each of them, no name look-ups."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True
    request_queue_size = MOST_CONNECTIONS

    def __init__(self, address: Address, render: Render) -> None:
        self.render = render
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        self._open: dict[Any, None] = {}
        self._lock = threading.Lock()
        self._pace = CoreShare(SHARE)
        self.pool = WorkerPool("penstock-scrape", MOST_CONNECTIONS, 2 * MOST_CONNECTIONS, SHARE)
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
        self.pool.staff()
        if not self.pool.take(lambda: self.process_request_thread(request, client_address)):
            self.shutdown_request(request)

    def get_request(self) -> Any:
        """The next connection. Where no descriptor is free, asking again at once would keep a core busy."""
        self._pace.rest()
        try:
            return super().get_request()
        except OSError:
            time.sleep(PAUSE_S)
            raise

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
