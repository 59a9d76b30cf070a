"""Files with a JSON document a line, appended one by one. A line that was cut short when its writer died is none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.errors import refusal


def read_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The documents of a file with their line numbers; none where there is no file."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() else []
    except OSError as error:
        raise refusal(path, error) from None
    for number, line in enumerate(lines, 1):
        try:
            yield number, json.loads(line)
        except ValueError:
            continue


def append_line(path: Path, document: Any) -> None:
    """Add a document in one write, so that several processes may share the file. A cut line before it is ended."""
    line = json.dumps(document).encode() + b"\n"
    try:
        with path.open("ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                line = line if file.read(1) == b"\n" else b"\n" + line
            file.write(line)
    except OSError as error:
        raise refusal(path, error) from None
