"""All property tests with fresh examples for some minutes: python -m benchmarks.fuzz [MINUTES]

One pytest a core goes through the tests again and again. What fails is printed as an example to commit; the exit code
is then 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
MINUTES = 10.0
# Pytest's exit codes for "all passed" and "some failed".
_SOUND = (0, 1)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run fuzz", description="Property tests with fresh examples.")
    parser.add_argument("minutes", nargs="?", type=float, default=MINUTES)
    parser.add_argument("where", nargs="*", help="files or directories of tests; all without")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-fuzz-") as home:
        return fuzz(asked.minutes, asked.where, Path(home))


def fuzz(minutes: float, where: list[str], home: Path) -> int:
    """Run, wait, and say what was found."""
    until_s = time.time() + 60.0 * minutes
    processes = [_start(until_s, where, home / str(n)) for n in range(os.cpu_count() or 1)]
    codes = [process.wait() for process in processes]
    for number, code in enumerate(codes):
        if code not in _SOUND:
            print((home / f"{number}.log").read_text(encoding="utf-8")[-4000:])
            print(f"fuzz: pytest ended with {code}")
            return 3
    lines = [line for path in home.glob("*.jsonl") for line in path.read_text(encoding="utf-8").splitlines()]
    return tell([json.loads(line) for line in lines])


def tell(documents: list[dict[str, Any]]) -> int:
    """Print the shortest example of each test that failed, and how much was tried."""
    found: dict[str, str] = {}
    for document in documents:
        if test := document.get("test"):
            found[test] = min(found.get(test, document["example"]), document["example"], key=len)
    for test, example in sorted(found.items()):
        print(f"\n{test}\n{example}")
    tests = max((document["tests"] for document in documents if "tests" in document), default=0)
    tried = sum(document.get("tried", 0) for document in documents)
    print(f"\nfuzz: {tests} property tests, run {tried} times with fresh examples: {len(found)} failed")
    return 1 if found else 0


def _start(until_s: float, where: list[str], place: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-p", "tests.fuzzing"]
    command += ["--hypothesis-profile=fuzz", f"--fuzz-until={until_s}", f"--fuzz-found={place}.jsonl", *where]
    with Path(f"{place}.log").open("w", encoding="utf-8") as log:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log, text=True)


if __name__ == "__main__":
    sys.exit(main())
