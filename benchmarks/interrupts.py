"""How long Ctrl-C and SIGTERM take to end a long command with two workers, and what they leave behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMANDS = {
    "evaluate": ["evaluate", "static", "--seconds", "2000", "--fresh", "--workers", "2"],
    "surface": ["simulate", "surface", "--workload", "f_wr_rn_8k", "--seconds", "2000", "--workers", "2", "--json"],
    "collect": ["train", "collect", "--out", "data", "--seconds", "20000", "--workers", "2"],
}  # fmt: skip
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def descendants(pid: int) -> list[int]:
    try:
        children = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [each for child in children for each in (child, *descendants(child))]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def measure(words: list[str], number: signal.Signals) -> str:
    with tempfile.TemporaryDirectory() as place:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *words], cwd=place, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        while len(descendants(process.pid)) < 2 and process.poll() is None:
            time.sleep(0.1)
        time.sleep(5.0)
        workers = descendants(process.pid)
        sent_s = time.monotonic()
        (os.killpg if number is signal.SIGINT else os.kill)(process.pid, number)
        _, said = process.communicate()
        took_s = time.monotonic() - sent_s
        time.sleep(0.5)
        left = sum(map(alive, workers))
        lines = [line for line in said.splitlines() if "%" not in line and "runs," not in line]
        return f"{took_s:.2f} s, exit {process.returncode}, {left} of {len(workers)} processes left, said {lines}"


def main() -> None:
    for name, words in COMMANDS.items():
        for number in SIGNALS:
            print(f"interrupts: {name} {number.name}: {measure(words, number)}", flush=True)


if __name__ == "__main__":
    main()
