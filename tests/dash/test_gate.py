"""Who may ask what: names, origins, tokens and methods, at the gate and through the whole application."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.dash.conftest import played
from tests.dash.test_hub import CountingSource

from penstock.dash.app import make_app
from penstock.dash.gate import Gate
from penstock.dash.hub import Hub

TOKEN = "t" * 24
OPEN = Gate("127.0.0.1", 8765, TOKEN)
CONTROLLED = Gate("127.0.0.1", 8765, TOKEN, control=True)
GOOD = {"host": "127.0.0.1:8765", "x-penstock-token": TOKEN}
POSTED = {
    **GOOD,
    "origin": "http://127.0.0.1:8765",
    "content-type": "application/json",
    "x-penstock-token": TOKEN,
}


def call(
    gate: Gate, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, Any, dict[str, str]]:
    """One request through the application; status, JSON or text, headers."""
    sent: list[dict[str, Any]] = []

    given = iter([body])

    async def receive() -> dict[str, Any]:
        if (part := next(given, None)) is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": part, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    async def run() -> None:
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", 8765), "client": ("127.0.0.1", 1),
            "root_path": "",
        }  # fmt: skip
        await make_app(Hub(CountingSource(), gate.control), gate)(scope, receive, send)

    played(run())
    text = b"".join(message.get("body", b"") for message in sent[1:]).decode()
    told = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], json.loads(text) if "json" in told.get("content-type", "") else text, told


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST:8765"])
def test_gate_knows_its_own_names(host: str) -> None:
    assert OPEN.refuse("GET", {"host": host}) is None


@pytest.mark.parametrize(
    "host", ["", "127.0.0.1", "127.0.0.1:80", "evil.example:8765", "127.0.0.1.evil.example:8765"]
)
def test_gate_refuses_names_that_were_pointed_here(host: str) -> None:
    refused = OPEN.refuse("GET", {"host": host})
    assert refused is not None and refused.status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8765", "http://127.0.0.1:1"]
)
def test_gate_refuses_other_pages(origin: str) -> None:
    for method in ("GET", "POST"):
        refused = CONTROLLED.refuse(method, {**POSTED, "origin": origin})
        assert refused is not None and refused.status == 403


def test_gate_without_control_lets_nothing_be_changed() -> None:
    refused = OPEN.refuse("POST", POSTED)
    assert refused is not None and "--control" in refused.why


@pytest.mark.parametrize("token", [None, "", "t" * 23, TOKEN + "t", "T" * 24])
def test_gate_refuses_a_wrong_token(token: str | None) -> None:
    headers = {name: value for name, value in POSTED.items() if name != "x-penstock-token"}
    given = headers if token is None else {**headers, "x-penstock-token": token}
    refused = CONTROLLED.refuse("POST", given)
    assert refused is not None and refused.status == 403
    assert CONTROLLED.refuse("POST", POSTED) is None


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_gate_answers_two_methods_only(method: str) -> None:
    refused = CONTROLLED.refuse(method, POSTED)
    assert refused is not None and refused.status == 405


def test_form_of_another_site_cannot_post() -> None:
    plain = {**POSTED, "content-type": "text/plain"}
    refused = CONTROLLED.refuse("POST", plain)
    assert refused is not None and refused.status == 415


def test_reading_from_other_machines_needs_the_token() -> None:
    wide = Gate("0.0.0.0", 8765, TOKEN, ("node7",))
    headers = {"host": "node7:8765"}
    assert call(wide, "GET", "/", headers)[0] == 200
    assert call(wide, "GET", "/api/view", headers)[0] == 403
    assert call(wide, "GET", "/api/changes/x", headers)[0] == 403
    assert call(wide, "GET", "/api/view", {**headers, "x-penstock-token": TOKEN})[0] == 200
    assert call(wide, "GET", "/", {"host": "localhost:8765"})[0] == 421


def test_reading_on_loopback_needs_the_token_too() -> None:
    """Every user of the machine can connect to 127.0.0.1."""
    for path in ("/api/view", "/api/events", "/api/changes/x"):
        assert call(OPEN, "GET", path, {"host": "127.0.0.1:8765"})[0] == 403
        assert call(OPEN, "GET", path, {**GOOD, "x-penstock-token": "x" * 24})[0] == 403
    assert call(OPEN, "GET", "/api/view", GOOD)[0] == 200
    assert call(OPEN, "GET", "/", {"host": "127.0.0.1:8765"})[0] == 200


def test_text_that_is_no_text_is_refused_with_a_sentence() -> None:
    body = b'{"how": "\\ud800", "target": "\\ud800"}'
    assert call(CONTROLLED, "POST", "/api/commands/poke", POSTED, body)[0] == 200
    status, answer, _ = call(
        CONTROLLED, "POST", "/api/commands/poke", POSTED, b'{"how": "odd", "why": "\\ud800"}'
    )
    assert (status, answer) == (400, {"error": "no \ud800 here"})


def test_no_get_changes_anything() -> None:
    for verb in ("poke", "mode", "start"):
        assert call(CONTROLLED, "GET", f"/api/commands/{verb}", POSTED)[0] == 405


def test_post_with_the_token_reaches_the_source() -> None:
    status, answer, _ = call(CONTROLLED, "POST", "/api/commands/poke", POSTED, b'{"how": "gently"}')
    assert (status, answer) == (200, {"poked": "gently"})


@pytest.mark.parametrize("body", [b"[1]", b"{", b"1", b"[" * 100_000, b" " * 70_000])
def test_nonsense_is_refused_with_a_sentence(body: bytes) -> None:
    status, answer, _ = call(CONTROLLED, "POST", "/api/commands/poke", POSTED, body)
    assert status == 400 and answer["error"]


def test_unknown_things_are_not_found() -> None:
    assert call(CONTROLLED, "POST", "/api/commands/erase", POSTED)[0] == 404
    assert call(OPEN, "GET", "/api/changes/nope", GOOD)[0] == 404
    assert call(OPEN, "GET", "/../secret", GOOD)[0] == 404


def test_every_answer_forbids_what_the_page_does_not_need() -> None:
    for path in ("/", "/app.js", "/api/view", "/nothing"):
        _, _, headers = call(OPEN, "GET", path, GOOD)
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
