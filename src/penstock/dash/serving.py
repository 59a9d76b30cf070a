"""Serves the page: opens the listening socket, runs uvicorn, and shuts down cleanly on a signal."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from penstock.dash.app import make_app
from penstock.dash.gate import Gate
from penstock.dash.hub import Hub
from penstock.dash.source import Source
from penstock.errors import PenstockError

BACKLOG = 128


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Port 0 takes any free port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From here on, early connections wait in the backlog instead of being refused.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise PenstockError(f"{host}:{port}: cannot listen: {error.strerror or error}") from None
    return listener


def serve(source: Source, gate: Gate, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until SIGTERM or SIGINT."""
    with contextlib.closing(source):
        asyncio.run(_serve(source, gate, listener, ready))


async def _serve(source: Source, gate: Gate, listener: socket.socket, ready: Callable[[], None]) -> None:
    hub = Hub(source, control=gate.control)
    config = uvicorn.Config(
        make_app(hub, gate),
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=2,
        timeout_keep_alive=30,
        limit_concurrency=64,
    )
    server = _Server(config)

    def stop() -> None:
        hub.close()
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    ready()
    await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signal handling to `serve`."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
