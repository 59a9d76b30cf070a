"""Fails where a room that serves every file system names one of them, or one of its knobs.

Names of file systems are looked for everywhere in a file, prose included; ids of knobs only where code uses them:
as a string, a keyword, an attribute or a name. Rooms that are not listed may name what they are made for.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from penstock.spaces import SPACES

SOURCE = Path(__file__).parent.parent / "src" / "penstock"
NEUTRAL = ("knobs", "snapshot.py", "window.py", "decision.py", "ports.py", "decide", "agent", "serve")
# The one module of the agent that says which file systems there are.
EXEMPT = ("agent/filesystems.py",)
# Spaces whose names say what every file system does.
SHARED = ("readahead",)
# Parts of file systems that prose would name without the system's own name.
PARTS = ("llite", "obdfilter", "OSC", "OST", "MDT", "max_dirty_mb", "max_rpcs_in_flight", "max_pages_per_rpc")


def main(source: Path = SOURCE) -> int:
    found = [problem for path in neutral_files(source) for problem in problems(path, source)]
    for problem in found:
        print(f"words: {problem}")
    print(f"words: {len(found)} words of one file system in rooms for all")
    return 1 if found else 0


def neutral_files(source: Path) -> Iterator[Path]:
    for room in NEUTRAL:
        place = source / room
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            if str(path.relative_to(source)) not in EXEMPT:
                yield path


def problems(path: Path, source: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    home = path.relative_to(source)
    systems = "|".join(space.name for space in SPACES if space.name not in SHARED)
    parts = "|".join(PARTS)
    for number, line in enumerate(text.splitlines(), 1):
        for match in re.finditer(rf"(?<![A-Za-z])(?i:{systems})|\b(?:{parts})s?\b", line):
            yield f"{home}:{number}: {match[0]!r} belongs to a file system's own rooms"
    ids = {knob.id for space in SPACES for knob in space.knobs}
    for node in ast.walk(ast.parse(text)):
        for word in used(node):
            if word in ids:
                yield f"{home}:{getattr(node, 'lineno', 0)}: knob {word!r}: ask the space for its role"


def used(node: ast.AST) -> Iterator[str]:
    """The words one piece of code consists of."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.keyword | ast.arg) and node.arg is not None:
        yield node.arg
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id


if __name__ == "__main__":
    sys.exit(main())
