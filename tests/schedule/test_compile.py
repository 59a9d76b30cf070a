"""Without numba everything still works, in plain Python; the command line imports nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SET = Path(__file__).parent.parent.parent / "examples" / "schedule" / "set.json"
RUN = """
import sys
{prepare}
from penstock.cli.main import main
sys.argv = ["penstock", "schedule", "simulate", {path!r}, "--json"]
main()
"""


def run(prepare: str) -> dict[str, object]:
    script = RUN.format(prepare=prepare, path=str(SET))
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    document: dict[str, object] = json.loads(result.stdout)
    return document


def test_simulation_is_the_same_without_numba() -> None:
    assert run("sys.modules['numba'] = None") == run("")


def test_command_line_imports_nothing_heavy() -> None:
    script = "import sys, penstock.cli.schedule; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "scipy", "matplotlib", "rich", "pandas"} & set(result.stdout.split())
