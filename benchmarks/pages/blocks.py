"""Runs the command blocks of a page that are marked as runnable, as a reader would: in order, in one directory.

A line `<!-- run -->` before a block of `sh` or `python` marks it; `<!-- run: exit 6 -->` says how it ends. A line
`<!-- file: NAME -->` before any block says that a reader saves it as that file. What a block starts in the background
goes on until the page ends.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.pages.stage import DOCS, ROOT

BLOCK = re.compile(
    r"^(?P<indent> *)<!-- (?P<verb>run|file)(?:: (?P<words>[^>]*?))? -->\n"
    r"\s*```(?P<language>\w+)\n(?P<text>.*?)\n\s*```$",
    re.MULTILINE | re.DOTALL,
)
PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Block:
    """One marked block: `verb` is run or file; `words` are what the mark adds."""

    verb: str
    words: str
    language: str
    text: str

    def script(self) -> str:
        """The block as a piece of a shell script."""
        if self.verb == "file":
            put = f"mkdir -p \"$(dirname '{self.words}')\"\ncat > '{self.words}'"
            return f"{put} <<'PENSTOCK_END'\n{self.text}\nPENSTOCK_END"
        if self.language == "python":
            return f"python - <<'PENSTOCK_END'\n{self.text}\nPENSTOCK_END"
        if self.words.startswith("exit "):
            code = int(self.words.removeprefix("exit "))
            return f"(\n{self.text}\n) && code=0 || code=$?\n[ $code = {code} ]"
        return self.text


def blocks(page: Path) -> list[Block]:
    """The marked blocks of a page, in order."""
    found = []
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        lines = [line.removeprefix(match["indent"]) for line in match["text"].split("\n")]
        found.append(Block(match["verb"], match["words"] or "", match["language"], "\n".join(lines)))
    return found


def runnable_pages() -> Iterator[Path]:
    """The pages that have something to run."""
    pages = (path for path in sorted(DOCS.rglob("*.md")) if blocks(path))
    return (path for path in pages if any(block.verb == "run" for block in blocks(path)))


def script(page: Path) -> str:
    """All marked blocks as one script that stops at the first failure and takes its background work along."""
    lines = ["set -euo pipefail", "trap 'jobs -p | xargs -r kill; wait' EXIT"]
    for number, block in enumerate(blocks(page), 1):
        lines += [f"echo '== {page.name}: block {number}' >&2", block.script()]
    return "\n".join(lines) + "\n"


def run(page: Path, place: Path) -> subprocess.CompletedProcess[str]:
    """Run a page in an empty directory with this project's examples in it; kills what outlives its patience."""
    for name in ("examples", "packaging", "run"):
        if not (place / name).exists():
            (place / name).symlink_to(ROOT / name)
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {
        "PATH": binaries,
        "XDG_STATE_HOME": str(place / ".state"),
        "PENSTOCK_STATE_DIR": str(place / "state"),
    }
    command = ["bash", "-c", script(page)]
    with subprocess.Popen(
        command, cwd=place, env={**os.environ, **own}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, output)
