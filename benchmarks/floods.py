"""What local users can do to an agent by asking: ticks on time, threads and memory under floods of requests.

A plain tree of many targets, a full decision log, an agent with its metrics page in a process of its own. Then 100
threads ask for decisions that are not in the log and 8 scrapers ask for the metrics without a pause. At the end
SIGTERM: every knob must have its original.

    ./run bench floods [--targets 1000 5000] [--seconds 30] [--json]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from http.client import HTTPException
from pathlib import Path
from typing import Any

from benchmarks.plain_tree import Tree

from penstock.agent.control import request
from penstock.errors import PenstockError

INTERVAL_S = 0.5
BUSY = 64
EXPLAINERS, SCRAPERS = 100, 8
LOG_FILES, LOG_BYTES = 6, 10_000_000


def fill_log(state: Path) -> None:
    """Six files of ten megabytes, as the agent keeps them, with decisions of the usual length."""
    for number in range(LOG_FILES):
        name = "decisions.jsonl" if number == 0 else f"decisions.jsonl.{number}"
        with (state / name).open("w") as out:
            written = at = 0
            while written < LOG_BYTES - 5000:
                event = {
                    "event": "decision",
                    "id": f"{number:02x}{at:010x}",
                    "time_s": float(at),
                    "target": "t",
                }
                line = json.dumps({**event, "evidence": {f"metric{n}": n / 7 for n in range(120)}}) + "\n"
                written += out.write(line)
                at += 1


@contextlib.contextmanager
def agent(home: Path, targets: int) -> Iterator[tuple[subprocess.Popen[str], socket.socket, int]]:
    """An agent that tunes a moving client; yields its process, what it tells, and the port of its metrics."""
    root, state = home / "root", home / "state"
    state.mkdir(mode=0o750)
    fill_log(state)
    tree = subprocess.Popen([sys.executable, "-m", "benchmarks.floods", "--tree", str(root), str(targets)])
    port = 20_000 + os.getpid() % 20_000
    (home / "agent.toml").write_text(f'interval_s = {INTERVAL_S}\n[metrics]\nlisten = "127.0.0.1:{port}"\n')
    command = [sys.executable, "-m", "penstock", "agent", "run", "--mode", "tune", "--root", str(root)]
    command += ["--state-dir", str(state), "--config", str(home / "agent.toml")]
    told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    told.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    told.bind(str(home / "told"))
    environment = {**os.environ, "NOTIFY_SOCKET": str(home / "told")}
    try:
        while not (root / "ready").exists():
            time.sleep(0.1)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, text=True, env=environment) as process:
            try:
                yield process, told, port
            finally:
                process.kill()
    finally:
        tree.kill()
        tree.wait()


def move_tree(root: Path, targets: int) -> None:
    tree = Tree(root, targets, BUSY)
    (root / "proc/meminfo").write_text("MemTotal: 201326592 kB\nMemAvailable: 150000000 kB\n")
    (root / "ready").touch()
    while True:
        time.sleep(INTERVAL_S)
        tree.move_on()


def knobs(root: Path) -> dict[str, str]:
    found = root.rglob("max_pages_per_rpc"), root.rglob("max_rpcs_in_flight"), root.rglob("max_dirty_mb")
    return {str(path): path.read_text() for paths in found for path in paths}


class Watch:
    """What the agent tells its service manager, twice a tick, and the most threads and memory in between."""

    def __init__(self, pid: int, told: socket.socket) -> None:
        self._pid, self._told = pid, told
        self._beats = self.threads = 0

    def ticks(self) -> int:
        """So far. The agent is not asked, because under a flood its answers are older."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._beats += self._told.recv(100) == b"WATCHDOG=1"
        return self._beats // 2

    def count(self) -> None:
        self.threads = max(self.threads, len(list(Path(f"/proc/{self._pid}/task").iterdir())))

    def peak_mb(self) -> float:
        text = Path(f"/proc/{self._pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", text)
        return int(found[1]) / 1024 if found else 0.0


def measured(watch: Watch, seconds: float) -> float:
    """The share of ticks that came on time."""
    before, began_s = watch.ticks(), time.monotonic()
    while time.monotonic() - began_s < seconds:
        watch.count()
        watch.ticks()
        time.sleep(0.2)
    took_s = time.monotonic() - began_s
    return (watch.ticks() - before) / (took_s / INTERVAL_S)


@contextlib.contextmanager
def flood(count: int, ask: Callable[[int], None], answers: list[int]) -> Iterator[None]:
    """So many threads that ask without a pause; counts the answers."""
    stop = threading.Event()

    def work(seed: int) -> None:
        at = 0
        while not stop.is_set():
            at += 1
            try:
                ask(seed * 1_000_000 + at)
                answers[0] += 1
            except (PenstockError, OSError, HTTPException):
                answers[1] += 1

    threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def case(targets: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as directory, agent(Path(directory), targets) as (process, told, port):
        root, path = Path(directory) / "root", Path(directory) / "state" / "control.sock"
        original = knobs(root)
        watch = Watch(process.pid, told)
        while watch.ticks() < 10:
            time.sleep(0.5)
        rows: dict[str, Any] = {"targets": targets, "quiet": measured(watch, seconds)}
        explained, scraped = [0, 0], [0, 0]

        def explain(at: int) -> None:
            request(path, "explain", 30.0, id=f"ffff{at:x}")

        def scrape(_: int) -> None:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
                answer.read()

        with flood(EXPLAINERS, explain, explained):
            rows["explain"] = measured(watch, seconds)
        with flood(SCRAPERS, scrape, scraped):
            rows["scrape"] = measured(watch, seconds)
        with flood(EXPLAINERS, explain, explained), flood(SCRAPERS, scrape, scraped):
            rows["both"] = measured(watch, seconds)
        rows |= {"explained": sum(explained), "scraped": sum(scraped)}
        rows |= {"threads": watch.threads, "peak_mb": watch.peak_mb()}
        process.send_signal(signal.SIGTERM)
        began_s = time.monotonic()
        code = process.wait(120)
        rows |= {"exit": code, "stop_s": time.monotonic() - began_s, "restored": knobs(root) == original}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--targets", type=int, nargs="+", default=[1000, 5000])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tree", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.tree:
        move_tree(Path(options.tree[0]), int(options.tree[1]))
    found = [case(targets, options.seconds) for targets in options.targets]
    if options.json:
        print(json.dumps(found))
        return
    print("share of ticks on time (goal: .8 under every flood; at most 32 threads, 500 MB)")
    for row in found:
        shares = ", ".join(f"{name} {row[name]:.2f}" for name in ("quiet", "explain", "scrape", "both"))
        print(
            f"{row['targets']} targets: {shares}; {row['threads']} threads, {row['peak_mb']:.0f} MB at most"
        )
        print(
            f"  {row['explained']} explain, {row['scraped']} scrapes; SIGTERM: exit {row['exit']} after "
            f"{row['stop_s']:.1f} s, every original back: {'yes' if row['restored'] else 'NO'}"
        )


if __name__ == "__main__":
    main()
