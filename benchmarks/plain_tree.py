"""A large client as plain files, made from the project's own capture of a 2.15.8 client."""

from __future__ import annotations

import re
from pathlib import Path

CAPTURE = Path(__file__).parent.parent / "tests" / "fixtures" / "lustre-2.15.8"
CAPTURED = "lustre-OST0000-osc-ff1100010dabc800"
MOVING = ("stats", "import", "cur_dirty_bytes")


class Tree:
    """A client's tree of plain files whose counters can be moved on, for all OSCs or for the first few.

    With a `direction`, the other direction's bytes and RPCs stand still.
    """

    def __init__(self, root: Path, oscs: int, busy: int | None = None, direction: str | None = None) -> None:
        self._rounds = 0
        self._still = {None: (), "read": ("write_bytes", "ost_write"), "write": ("read_bytes", "ost_read")}[
            direction
        ]
        self._moving: list[tuple[Path, str]] = []
        for source in sorted((CAPTURE / "tree").rglob("*")):
            if not source.is_file() or "osc" not in source.parts or CAPTURED not in source.parts:
                continue
            for number in range(oscs):
                name = f"scratch-OST{number:04x}-osc-ff1100010dabc800"
                where = root / source.relative_to(CAPTURE / "tree").parent.parent / name / source.name
                where.parent.mkdir(parents=True, exist_ok=True)
                text = source.read_text().replace(CAPTURED, name)
                where.write_text(text)
                if number < (oscs if busy is None else busy) and source.name in MOVING:
                    self._moving.append((where, text))

    def move_on(self) -> None:
        """Let every busy OSC have done something since."""
        self._rounds += 1
        for path, text in self._moving:
            if path.name == "cur_dirty_bytes":
                path.write_text(f"{self._rounds * 4096}\n")
            elif path.name == "import":
                path.write_text(text.replace("idle: 2 sec", f"idle: {self._rounds} sec"))
            else:
                lines = text.splitlines(keepends=True)
                path.write_text(
                    "".join(line if line.startswith(self._still) else self._moved(line) for line in lines)
                )

    def _moved(self, line: str) -> str:
        return re.sub(r"(\d+) samples( \[\w+\] \d+ \d+ )(\d+)", self._more, line)

    def _more(self, match: re.Match[str]) -> str:
        count, total = int(match[1]) + self._rounds, int(match[3]) + self._rounds * 1048576
        return f"{count} samples{match[2]}{total}"
