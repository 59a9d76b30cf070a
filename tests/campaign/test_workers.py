"""Worker processes end with whoever started them: quickly, silently, whatever ends it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.campaign.workers import Workers

pytestmark = pytest.mark.live

LONG = {
    "evaluate": ["evaluate", "static", "--seconds", "2000", "--fresh", "--workers", "2"],
    "collect": ["train", "collect", "--out", "data", "--seconds", "20000", "--workers", "2"],
    "surface": ["simulate", "surface", "--workload", "f_wr_rn_8k", "--seconds", "2000", "--workers", "2", "--json"],
}  # fmt: skip
# Generous: a loaded machine. What is refused is waiting for runs that take minutes.
PATIENCE_S = 300.0


def double(number: int) -> int:
    return 2 * number


def test_results_come_with_their_items() -> None:
    with Workers(2) as pool:
        assert dict(pool.each(double, range(7))) == {n: 2 * n for n in range(7)}
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_leaving_early_does_not_wait_for_what_runs() -> None:
    started = time.monotonic()
    with pytest.raises(ZeroDivisionError), Workers(2) as pool:
        for _ in pool.each(time.sleep, [0.0, 600.0, 600.0]):
            raise ZeroDivisionError
    assert time.monotonic() - started < 300.0


def workers_of(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in found
        if b"resource_tracker" not in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("name", "number", "code", "said"),
    [
        ("evaluate", signal.SIGTERM, 143, "terminated"),
        ("evaluate", signal.SIGKILL, -9, ""),
        ("surface", signal.SIGINT, 130, "interrupted"),
        ("collect", signal.SIGINT, 130, "interrupted"),
    ],
)
def test_signals_end_a_long_command_and_its_workers(
    tmp_path: Path, name: str, number: int, code: int, said: str
) -> None:
    command = [sys.executable, "-m", "penstock", *LONG[name]]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )  # fmt: skip
    try:
        wait_until(lambda: len(workers_of(process.pid)) == 2)
        workers = workers_of(process.pid)
        time.sleep(1.0)
        # Ctrl-C reaches the whole group, workers half-started among them; others only the parent.
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
        _, stderr = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code
        assert "Traceback" not in stderr
        assert stderr.endswith(f"penstock: {said}\n" if said else "")
        wait_until(lambda: not any(map(alive, workers)))
    finally:
        process.kill()
        process.communicate()


def test_an_interrupted_surface_gives_what_it_measured() -> None:
    words = ["simulate", "surface", "--workload", "s_rd_rn_8k", "--seconds", "40", "--workers", "2", "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    while " %" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=PATIENCE_S)
    rows = json.loads(stdout)["rows"]
    assert process.returncode == 130
    assert 9 <= len(rows) < 99
    assert f"{len(rows)} of 99 settings were measured\npenstock: interrupted\n" in stderr


@pytest.mark.parametrize("words", [["simulate", "workloads"], ["evaluate", "--help"], ["plan", "--help"]])
def test_piping_into_head_is_no_failure(words: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr as stderr:
        said = stderr.read()
    assert (process.wait(), said) == (0, "")
