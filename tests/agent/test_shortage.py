"""No thread, no descriptor, a close that fails: originals come back, and the service answers again afterwards."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.rigs.agents import EAGER, knobs
from tests.rigs.served import Served, wait_for

from penstock.agent import line_server
from penstock.agent.control import ControlServer, request
from penstock.agent.line_server import MOST_CLIENTS, MOST_READERS, MOST_WAITING, LineServer
from penstock.agent.peer import Peer
from penstock.errors import PenstockError, UnreachableError
from penstock.observe.deadline import Deadline
from penstock.serve.exposition import MetricsFile, MetricsPage
from penstock.threads import WorkerPool

# Runs the agent with some of its threads refused, or with some of its calls failing.
PROGRAM = """
import importlib, sys, threading
what = sys.argv.pop(1)
if what.startswith("start:"):
    _, names, most = what.split(":")
    started, counts = threading.Thread.start, {}
    def start(self):
        counts[self.name] = counts.get(self.name, 0) + 1
        if self.name in names.split(",") and counts[self.name] <= int(most):
            raise RuntimeError("can't start new thread")
        started(self)
    threading.Thread.start = start
else:
    def fail(*args, **kwargs):
        raise OSError(9, "it does not close")
    for place in what.split(","):
        module, _, path = place.partition(":")
        owner, _, name = path.rpartition(".")
        found = importlib.import_module(module)
        setattr(getattr(found, owner) if owner else found, name, fail)
from penstock.cli.main import main
main()
"""
SERVICES = (
    "penstock-control,penstock-answer,penstock-search,penstock-metrics,penstock-scrape,penstock-textfile"
)
CLOSES = (
    "penstock.agent.control:ControlServer.close",
    "penstock.agent.exports:Exports.close",
    "penstock.agent.watchdog:Watchdog.close",
    "penstock.observe.node_observer:NodeObserver.close",
)
INNER = (
    "penstock.agent.line_server:LineServer.close",
    "penstock.serve.exposition:MetricsPage.close",
    "penstock.serve.exposition:MetricsFile.close",
    "penstock.threads:WorkerPool.close",
)


@contextlib.contextmanager
def failing_agent(client: Served, home: Path, what: str, *lines: str) -> Iterator[subprocess.Popen[str]]:
    state = home / "state"
    (home / "agent.toml").write_text(f'{EAGER}\n[metrics]\ntextfile = "{home}/x.prom"\n' + "\n".join(lines))
    command = [sys.executable, "-c", PROGRAM, what, "agent", "run", "--root", str(client.root)]
    command += ["--state-dir", str(state), "--config", str(home / "agent.toml")]
    command += ["--mode", "tune", "--policy", "climb"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def stop(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return said


@pytest.mark.parametrize("what", [CLOSES[0], ",".join(CLOSES[1:]), ",".join(INNER)])
def test_originals_come_back_whatever_does_not_close(client: Served, tmp_path: Path, what: str) -> None:
    original = [knobs(client, ost) for ost in ("OST0000", "OST0001")]
    with failing_agent(client, tmp_path, what) as process:
        wait_for(lambda: knobs(client) != original[0])
        said = stop(process)
    assert [knobs(client, ost) for ost in ("OST0000", "OST0001")] == original
    assert "a step of stopping failed" in said


def test_originals_come_back_where_no_service_has_a_thread(client: Served, tmp_path: Path) -> None:
    original = knobs(client)
    refused = f"start:{SERVICES},penstock-watchdog,penstock-compile:1000000"
    with failing_agent(client, tmp_path, refused, 'listen = "127.0.0.1:0"') as process:
        wait_for(lambda: knobs(client) != original)
        with pytest.raises(UnreachableError):
            request(tmp_path / "state/control.sock", "status", timeout_s=0.5)
        stop(process)
    assert knobs(client) == original


def test_service_answers_again_when_the_shortage_ends(client: Served, tmp_path: Path) -> None:
    original = knobs(client)
    with failing_agent(client, tmp_path, f"start:{SERVICES},penstock-watchdog,penstock-reader:5") as process:

        def answers() -> bool:
            with contextlib.suppress(UnreachableError):
                return bool(request(tmp_path / "state/control.sock", "status")["ticks"])
            return False

        wait_for(answers)
        wait_for(lambda: knobs(client) != original and (tmp_path / "x.prom").exists())
        names = threads_of(process.pid)
        assert len(names) <= 32
        stop(process)
    assert knobs(client) == original


def threads_of(pid: int) -> list[str]:
    return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - only the names


def echo(verb: str, arguments: Any) -> dict[str, Any]:
    return {"verb": verb, **arguments}


def test_acceptor_outlives_a_shortage_of_descriptors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    accept, refusals = LineServer._next, iter([errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ECONNABORTED])

    def next_one(self: LineServer) -> socket.socket:
        for code in refusals:
            raise OSError(code, os.strerror(code))
        return accept(self)

    monkeypatch.setattr(LineServer, "_next", next_one)
    server = ControlServer(tmp_path / "control", echo)
    try:
        for _ in range(3):
            assert request(server.path, "status", timeout_s=300.0)["verb"] == "status"
        assert list(refusals) == []
    finally:
        server.close()


def test_handler_that_breaks_costs_its_own_answer_only(tmp_path: Path) -> None:
    def handle(verb: str, arguments: Any) -> dict[str, Any]:
        if verb == "status":
            raise ZeroDivisionError
        return {"verb": verb}

    server = ControlServer(tmp_path / "control", handle)
    try:
        for _ in range(10):
            with pytest.raises(PenstockError, match="could not answer"):
                request(server.path, "status")
        assert request(server.path, "explain")["verb"] == "explain"
    finally:
        server.close()


def test_answer_that_cannot_be_encoded_keeps_no_slot(tmp_path: Path) -> None:
    def handle(verb: str, arguments: Any) -> dict[str, Any]:
        return {"gain": float("nan")} if verb == "status" else {"verb": verb}

    server = ControlServer(tmp_path / "control", handle)
    try:
        for _ in range(MOST_CLIENTS + 1):
            with pytest.raises(PenstockError, match="could not answer"):
                request(server.path, "status", timeout_s=300.0)
        assert request(server.path, "explain", timeout_s=300.0)["verb"] == "explain"
    finally:
        server.close()


@pytest.mark.slow
def test_two_hundred_ask_at_once_and_all_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is as long as the status of five thousand targets."""
    # Two hundred threads of one process wait for each other between connecting and asking.
    monkeypatch.setattr(line_server, "GRACE_S", 600.0)
    line = b'{"ok": true, "long": "' + b"x" * 2_400_000 + b'"}\n'
    server = ControlServer(tmp_path / "control", lambda verb, arguments: line, timeout_s=600.0)
    before = threading.active_count()
    try:
        with ThreadPoolExecutor(200) as many:
            found = list(many.map(lambda _: len(request(server.path, "status", 600.0)["long"]), range(200)))
        assert found == [2_400_000] * 200
        assert threading.active_count() <= before
    finally:
        server.close()


def test_however_many_look_for_missing_threads_each_is_started_once(tmp_path: Path) -> None:
    before = threading.active_count()
    server = ControlServer(tmp_path / "control", echo)
    try:
        with ThreadPoolExecutor(16) as many:
            list(many.map(lambda _: server.staff(), range(500)))
        names = [thread.name for thread in threading.enumerate()]
        assert names.count("penstock-control") == 1
        assert threading.active_count() - before <= 4
        for _ in range(200):
            assert request(server.path, "status") == {"verb": "status"}
    finally:
        server.close()


def test_silent_clients_make_room(tmp_path: Path) -> None:
    server = ControlServer(tmp_path / "control", echo, timeout_s=60.0)
    silent = []
    try:
        for _ in range(2 * MOST_CLIENTS):
            silent.append(socket.socket(socket.AF_UNIX))
            silent[-1].connect(str(server.path))
        assert request(server.path, "status", timeout_s=300.0)["verb"] == "status"
    finally:
        for connection in silent:
            connection.close()
        server.close()


def test_who_asked_while_the_server_could_not_look_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine its thread may not run for seconds."""
    now_s = [0.0]
    monkeypatch.setattr(line_server, "time", SimpleNamespace(monotonic=lambda: now_s[0]))
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener, contextlib.ExitStack() as opened:
        listener.bind(str(tmp_path / "control"))
        listener.listen(2 * MOST_CLIENTS)
        server = LineServer(listener, lambda client, line: asked.append(line), 60.0)
        clients = [opened.enter_context(socket.socket(socket.AF_UNIX)) for _ in range(MOST_CLIENTS + 1)]
        for client in clients:
            client.connect(str(tmp_path / "control"))
        server._turn()
        now_s[0] += 10.0
        for client in clients[: MOST_CLIENTS - 1]:
            client.sendall(b"status\n")
        server._turn()
        assert asked == [b"status"] * (MOST_CLIENTS - 1)
        server._turn()
        assert clients[MOST_CLIENTS - 1].recv(1) == b"", "who is silent makes room"
        server.close()


def ask_without_reading(path: Path, count: int) -> Iterator[socket.socket]:
    for _ in range(count):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(300.0)
        connection.connect(str(path))
        # Who is turned away may find the connection closed already.
        with contextlib.suppress(BrokenPipeError):
            connection.sendall(b'{"verb": "status"}\n')
        yield connection


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many of the next connections are of somebody who may only read. They are accepted in their order."""
    left = [0]

    def peer_of(connection: socket.socket) -> Peer:
        left[0] -= 1
        return Peer(1, os.geteuid() + 1 if left[0] >= 0 else os.geteuid(), 1)

    monkeypatch.setattr(line_server, "peer_of", peer_of)
    return left


def test_readers_that_do_not_read_lock_nobody_out(tmp_path: Path, strangers: list[int]) -> None:
    line = b'{"ok": true, "long": "' + b"x" * 2_400_000 + b'"}\n'
    # A client that makes no progress is cut off after an hour unless somebody needs its slot.
    server = ControlServer(tmp_path / "control", lambda verb, arguments: line, timeout_s=3600.0)
    strangers[0] = 400
    deaf: list[socket.socket] = []
    try:
        deaf += ask_without_reading(server.path, 400)
        assert len(request(server.path, "restore", timeout_s=300.0)["long"]) == 2_400_000
        refused = deaf[-1].recv(4096)
        assert b"too many ask at once" in refused
        wait_for(lambda: not server._server._waiting)
        strangers[0] = 1
        assert len(request(server.path, "status", timeout_s=300.0)["long"]) == 2_400_000, (
            "a reader has a turn"
        )
    finally:
        for connection in deaf:
            connection.close()
        server.close()


def test_some_slots_are_not_for_readers(tmp_path: Path, strangers: list[int]) -> None:
    gate = threading.Event()

    def handle(verb: str, arguments: Any) -> dict[str, Any]:
        gate.wait(300)
        return {"verb": verb}

    server = ControlServer(tmp_path / "control", handle, timeout_s=3600.0)
    strangers[0] = MOST_READERS + MOST_WAITING
    asked: list[socket.socket] = []
    try:
        asked += ask_without_reading(server.path, strangers[0])
        with ThreadPoolExecutor(1) as other:
            restored = other.submit(request, server.path, "restore", 60.0)
            wait_for(lambda: len(server._server._clients) == MOST_READERS + 1)
            gate.set()
            assert restored.result(300) == {"verb": "restore"}
        assert all(b"status" in connection.recv(4096) for connection in asked), "who waits is answered too"
    finally:
        gate.set()
        for connection in asked:
            connection.close()
        server.close()


def test_acceptor_rests_when_a_shortage_has_passed(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control"))
        listener.listen()
        server = LineServer(listener, lambda client, line: None, 60.0)
        rest_s = server._wait_s()
        server._accept_from_s = 1e-9
        assert server._wait_s() < rest_s
        server._turn()
        assert server._wait_s() == rest_s
        server.close()


def test_searches_have_one_thread_and_a_short_queue(tmp_path: Path) -> None:
    gate, running, most = threading.Event(), [0], [0]

    def handle(verb: str, arguments: Any) -> dict[str, Any]:
        if verb != "explain":
            return {"verb": verb}
        running[0] += 1
        most[0] = max(most[0], running[0])
        gate.wait(300)
        running[0] -= 1
        return {}

    def ask(_: int) -> str:
        try:
            request(server.path, "explain", 60.0)
        except PenstockError as error:
            return str(error)
        return ""

    server = ControlServer(tmp_path / "control", handle, timeout_s=60.0)
    try:
        with ThreadPoolExecutor(40) as many:
            asked = [many.submit(ask, at) for at in range(40)]
            wait_for(lambda: sum(one.done() for one in asked) >= 40 - 17)
            assert request(server.path, "status", 60.0)["verb"] == "status", "others are not held up"
            gate.set()
            said = [one.result(300) for one in asked]
        assert most == [1]
        assert set(said) == {"", "too many ask for explain at once: ask again"}
    finally:
        gate.set()
        server.close()


def test_pool_tries_again_for_threads_it_could_not_have(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, done = WorkerPool("x", 2, 4), threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _refused)
        pool.staff()
        assert pool.take(done.set)
    assert not done.wait(0.05)
    pool.staff()
    assert done.wait(300)
    pool.close(60.0)
    assert not pool.take(done.set)


def _refused(self: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_exports_try_again_for_threads_they_could_not_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", _refused)
        page = MetricsPage(("127.0.0.1", 0), lambda: b"x 1\n")
        file = MetricsFile(tmp_path / "x.prom", 3600.0, lambda: b"x 1\n")
        passed = Deadline[int, int]().run([1, 2], lambda item: item)
    assert (passed.done, passed.untouched) == ((), (1, 2))
    try:
        page.staff()
        file.staff()
        with urllib.request.urlopen(f"http://127.0.0.1:{page.port}/metrics", timeout=300) as answer:
            assert answer.read() == b"x 1\n"
        wait_for((tmp_path / "x.prom").exists)
    finally:
        page.close()
        file.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_textfile_is_written_again_after_whatever_went_wrong(
    tmp_path: Path, error: type[BaseException]
) -> None:
    """An error is logged and the next turn writes; a thread that ended all the same is started again."""
    errors, stumbled, before = [error], threading.Event(), set(threading.enumerate())

    def render() -> bytes:
        if errors:
            stumbled.set()
            raise errors.pop()("it cannot be rendered")
        return b"x 1\n"

    file = MetricsFile(tmp_path / "x.prom", 0.01, render)

    def written() -> bool:
        if error is SystemExit:
            file.staff()
        return (tmp_path / "x.prom").exists()

    try:
        assert stumbled.wait(300)
        wait_for(written)
    finally:
        file.close()
    file.staff()
    assert {thread.name for thread in set(threading.enumerate()) - before} <= {"penstock-reader"}


def test_exports_close_that_never_had_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", _refused)
    MetricsPage(("127.0.0.1", 0), lambda: b"").close()
    MetricsFile(tmp_path / "x.prom", 3600.0, lambda: b"").close()
    ControlServer(tmp_path / "control", echo).close()
