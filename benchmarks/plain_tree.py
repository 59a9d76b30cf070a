"""A large client as plain files, made from the project's own capture of a 2.15.8 client."""

from __future__ import annotations

import re
from pathlib import Path

CAPTURE = Path(__file__).parent.parent / "tests" / "fixtures" / "lustre-2.15.8"
CAPTURED = "lustre-OST0000-osc-ff1100010dabc800"
MOVING = ("stats", "import", "cur_dirty_bytes")
# What a connection to a metadata server does in a pass.
OPERATIONS = 100
INSTANCE = "ff1100010dabc800"
# Knobs of metadata that the capture lacks, with their defaults.
METADATA_KNOBS = {"mdc": ("max_mod_rpcs_in_flight", "7\n"), "llite": ("statahead_max", "32\n")}


class Tree:
    """A client's tree of plain files whose counters can be moved on, for all OSCs or for the first few.

    With a `direction`, the other direction's bytes and RPCs stand still. `mdcs` busy connections to metadata servers
    come with the mount.
    """

    def __init__(
        self,
        root: Path,
        oscs: int,
        busy: int | None = None,
        direction: str | None = None,
        mdcs: int = 0,
    ) -> None:
        self._rounds = 0
        self._still = {None: (), "read": ("write_bytes", "ost_write"), "write": ("read_bytes", "ost_read")}[
            direction
        ]
        #: The files whose counters move, their texts, and by how many requests in a pass.
        self._moving: list[tuple[Path, str, int]] = []
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
                    self._moving.append((where, text, 1))
        if mdcs:
            self._add_metadata(root, mdcs)

    def _add_metadata(self, root: Path, mdcs: int) -> None:
        """The mount, and its connections to metadata servers."""
        names = {
            "mdc": [f"scratch-MDT{number:04x}-mdc-{INSTANCE}" for number in range(mdcs)],
            "llite": [f"scratch-{INSTANCE}"],
        }
        for kind, made in names.items():
            captured = [p for p in sorted((CAPTURE / "tree").rglob("*")) if p.is_file() and kind in p.parts]
            for name in made:
                for source in captured:
                    where = root / source.relative_to(CAPTURE / "tree").parent.parent / name / source.name
                    where.parent.mkdir(parents=True, exist_ok=True)
                    text = source.read_text().replace(source.parent.name, name)
                    where.write_text(text)
                    if source.name in (*MOVING, "md_stats"):
                        self._moving.append((where, text, OPERATIONS))
                knob, default = METADATA_KNOBS[kind]
                (root / "sys/fs/lustre" / kind / name / knob).write_text(default)

    def move_on(self) -> None:
        """Let every busy target have done something since."""
        self._rounds += 1
        for path, text, requests in self._moving:
            if path.name == "cur_dirty_bytes":
                path.write_text(f"{self._rounds * 4096}\n")
            elif path.name == "import":
                path.write_text(text.replace("idle: 2 sec", f"idle: {self._rounds} sec"))
            else:
                done = requests * self._rounds
                lines = text.splitlines(keepends=True)
                path.write_text(
                    "".join(line if line.startswith(self._still) else _moved(line, done) for line in lines)
                )


def _moved(line: str, done: int) -> str:
    """A row with so many more samples, and a sum that fits."""

    def more(match: re.Match[str]) -> str:
        count = int(match[1]) + done
        if match[4] is None:
            return f"{count} samples{match[2]}"
        return f"{count} samples{match[2]}{match[3]}{int(match[4]) + done * 1048576}"

    return re.sub(r"(\d+) samples( \[\w+\])( \d+ \d+ )?(\d+)?", more, line)
