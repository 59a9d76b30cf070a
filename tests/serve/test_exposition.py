"""The ways out hold nobody up, follow no links and leave nothing behind."""

from __future__ import annotations

import logging
import os
import socket
import stat
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.served import wait_for

from penstock.errors import PenstockError
from penstock.output_files import replace_file
from penstock.serve.exposition import MOST_CONNECTIONS, MetricsFile, MetricsPage

BODY = b"# one\n" * 100


@pytest.fixture
def page() -> Iterator[MetricsPage]:
    serving = MetricsPage(("127.0.0.1", 0), lambda: BODY)
    yield serving
    serving.close()


def get(port: int, path: str = "/metrics") -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=300) as answer:
        found: bytes = answer.read()
        assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    return found


def test_page_answers(page: MetricsPage) -> None:
    assert get(page.port) == BODY
    assert get(page.port, "/metrics?name[]=x") == BODY


@pytest.mark.parametrize("path", ["/", "/../../etc/passwd", "/metrics/../x", "/status"])
def test_page_serves_nothing_else(page: MetricsPage, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(page.port, path)


def test_page_refuses_other_methods(page: MetricsPage) -> None:
    request = urllib.request.Request(f"http://127.0.0.1:{page.port}/metrics", data=b"x=1", method="POST")
    with pytest.raises(urllib.error.HTTPError, match="501"):
        urllib.request.urlopen(request, timeout=300)


def test_page_answers_beside_silent_and_half_finished_clients(page: MetricsPage) -> None:
    silent = []
    try:
        for i in range(5 * MOST_CONNECTIONS):
            connection = socket.create_connection(("127.0.0.1", page.port), timeout=300)
            silent.append(connection)
            if i % 2:
                connection.sendall(b"GET /metrics HTTP/1.1\r\nX-Slow: ")
        assert get(page.port) == BODY
        assert sum(thread.name.startswith("Thread-") for thread in threading.enumerate()) < 60
    finally:
        for connection in silent:
            connection.close()


def test_page_survives_oversized_and_garbage_requests(page: MetricsPage) -> None:
    for garbage in (b"\0" * 100 + b"\r\n\r\n", b"GET /" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", page.port), timeout=300) as connection:
            try:
                connection.sendall(garbage)
                assert BODY not in connection.recv(65536)
            except ConnectionError:
                pass
    assert get(page.port) == BODY


def test_page_closes_with_clients_connected(page: MetricsPage) -> None:
    with socket.create_connection(("127.0.0.1", page.port), timeout=300):
        page.close()
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", page.port), timeout=300)


def test_page_says_when_its_port_is_taken(page: MetricsPage) -> None:
    with pytest.raises(PenstockError, match=rf"metrics.listen 127.0.0.1:{page.port}: Address already in use"):
        MetricsPage(("127.0.0.1", page.port), lambda: BODY)


def test_replace_file_is_whole_at_every_instant(tmp_path: Path) -> None:
    path = tmp_path / "penstock.prom"
    bodies = [bytes([letter]) * 200_000 for letter in b"ab"]
    replace_file(path, bodies[0])
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for i in range(200):
        replace_file(path, bodies[i % 2])
    done.set()
    reader.join()
    assert seen <= set(bodies)
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert [entry.name for entry in tmp_path.iterdir()] == ["penstock.prom"]


def test_replace_file_follows_no_links(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    path = tmp_path / "penstock.prom"
    path.symlink_to(precious)
    (tmp_path / ".penstock.prom.tmp").symlink_to(precious)
    replace_file(path, BODY)
    assert precious.read_text() == "mine"
    assert not path.is_symlink()
    assert path.read_bytes() == BODY


def test_file_is_removed_with_its_agent(tmp_path: Path) -> None:
    path = tmp_path / "penstock.prom"
    writer = MetricsFile(path, 3600.0, lambda: BODY)
    wait_for(path.exists)
    writer.close()
    assert not path.exists()


def test_file_in_a_missing_directory_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    asked: list[int] = []

    def render() -> bytes:
        asked.append(1)
        return BODY

    with caplog.at_level(logging.WARNING):
        writer = MetricsFile(tmp_path / "gone" / "x.prom", 0.01, render)
        wait_for(lambda: len(asked) > 5)
        (tmp_path / "gone").mkdir()
        wait_for((tmp_path / "gone" / "x.prom").exists)
        writer.close()
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "No such file or directory" in said[0]
    assert "written again" in said[1]


def test_file_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    gate = threading.Event()
    writer = MetricsFile(tmp_path / "x.prom", 0.01, lambda: BODY if gate.wait(300) else b"")
    writer.close()
    gate.set()
    assert os.listdir(tmp_path) in ([], ["x.prom"])  # noqa: PTH208
