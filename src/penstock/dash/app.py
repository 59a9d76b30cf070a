"""The HTTP routes: static files, data as JSON, updates as server-sent events, and commands by POST."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.dash.gate import HEADERS, MOST_BODY_BYTES, Gate
from penstock.dash.hub import Hub
from penstock.dash.request_pace import RequestPace, TooOftenError
from penstock.errors import ExitCode, PenstockError
from penstock.report.page import DESIGN

STATIC = Path(__file__).parent / "static"
KINDS = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_STATUS = {ExitCode.NOT_FOUND: 404, ExitCode.PERMISSION: 403, ExitCode.UNREACHABLE: 503}
# More than all open pages together ask for.
REQUESTS_PER_S, MOST_AT_ONCE = 20.0, 100

Handler = Callable[[Request], Awaitable[Response]]


def make_app(hub: Hub, gate: Gate) -> ASGIApp:
    """The web application for a hub. Every request must pass the gate."""

    async def view(request: Request) -> Response:
        return _json(await hub.view())

    async def explain(request: Request) -> Response:
        return _json(await hub.explain(request.path_params["id"]))

    async def events(request: Request) -> Response:
        return StreamingResponse(_stream(hub), media_type="text/event-stream")

    async def command(request: Request) -> Response:
        pace.take()
        arguments = await _body(request)
        return _json(await hub.command(request.path_params["verb"], arguments))

    pace = RequestPace(REQUESTS_PER_S, MOST_AT_ONCE)
    routes = [
        Route("/", _file_handler(STATIC / "index.html"), methods=["GET"]),
        *(Route(f"/{path.name}", _file_handler(path), methods=["GET"]) for path in _files()),
        Route("/api/view", _reading(gate, pace, view), methods=["GET"]),
        Route("/api/events", _reading(gate, pace, events), methods=["GET"]),
        Route("/api/changes/{id}", _reading(gate, pace, explain), methods=["GET"]),
        Route("/api/commands/{verb}", command, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={PenstockError: _failed})
    return Guarded(app, gate)


class Guarded:
    """Checks every request with the gate, and adds security headers to every response."""

    def __init__(self, inner: ASGIApp, gate: Gate) -> None:
        self._inner, self._gate = inner, gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._gate.refuse(scope["method"], headers)
        answer = self._inner if refused is None else JSONResponse({"error": refused.why}, refused.status)

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", []), *extra]}
            await send(message)

        await answer(scope, receive, with_headers)


def _reading(gate: Gate, pace: RequestPace, handler: Handler) -> Handler:
    async def checked(request: Request) -> Response:
        if not gate.knows(request.headers):
            return JSONResponse({"error": "reading needs the token: open the address that was printed"}, 403)
        pace.take()
        return await handler(request)

    return checked


def _files() -> list[Path]:
    """The files of the page, and the style sheet that it shares with the reports."""
    return sorted(path for path in (*STATIC.iterdir(), DESIGN) if path.suffix in KINDS)


def _file_handler(path: Path) -> Handler:
    content, kind = path.read_bytes(), KINDS[path.suffix]

    async def serve(request: Request) -> Response:
        return Response(content, media_type=kind)

    return serve


async def _stream(hub: Hub) -> AsyncIterator[str]:
    """Send each event as one line of JSON. If something fails, the error is the last event."""
    try:
        async for news in hub.watch():
            yield f"data: {_text(news)}\n\n"
    except PenstockError as error:
        yield f"data: {_text({'trouble': str(error)})}\n\n"


async def _body(request: Request) -> dict[str, Any]:
    raw = b""
    async for part in request.stream():
        raw += part
        if len(raw) > MOST_BODY_BYTES:
            raise PenstockError(f"a request is at most {MOST_BODY_BYTES} bytes long")
    try:
        found = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise PenstockError("a request is one JSON object") from None
    if not isinstance(found, dict):
        raise PenstockError("a request is one JSON object")
    return found


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, PenstockError)
    status = 429 if isinstance(error, TooOftenError) else _STATUS.get(ExitCode(error.exit_code), 400)
    return _json({"error": str(error)}, status)


def _json(document: Any, status: int = 200) -> Response:
    return Response(_text(document), status, media_type="application/json")


def _text(document: Any) -> str:
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
