from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """
import sys
from penstock.plan.collective.launch import Launcher, run_tasks
run_tasks(Launcher(("sh", "-c", "echo $$ > " + sys.argv[1] + "; sleep 300", "{ranks}")), 2, [], 300.0)
"""


def test_launch_takes_its_ranks_along_when_it_is_told_to_end(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    driver = subprocess.Popen([sys.executable, "-c", PROGRAM, str(told)])
    deadline = time.monotonic() + 600
    while not (told.exists() and told.read_text().strip()) and time.monotonic() < deadline:
        time.sleep(0.05)
    rank = int(told.read_text())
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(300) == 128 + signal.SIGTERM
    assert not Path(f"/proc/{rank}").exists()
