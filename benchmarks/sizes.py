"""Prints how long files and functions are, and fails where they outgrow the limits; long ones are named."""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"


@dataclass(frozen=True)
class Limit:
    """Lines that the middle one, 19 of 20 and each may have; None where nothing is asked."""

    median: int | None
    p95: int | None
    longest: int


LIMITS = {"files": Limit(120, None, 450), "functions": Limit(None, 25, 60)}


def percentile(values: list[int], share: float) -> int:
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1))]


def sizes(source: Path) -> dict[str, dict[str, int]]:
    """Lines of every file, and of every function by its place."""
    files: dict[str, int] = {}
    functions: dict[str, int] = {}
    for path in sorted(source.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        home = str(path.relative_to(source))
        files[home] = text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[f"{home}:{node.name}"] = (node.end_lineno or node.lineno) - node.lineno + 1
    return {"files": files, "functions": functions}


def problems(what: str, lines: Mapping[str, int], limit: Limit) -> Iterator[str]:
    """A sentence for every limit that is passed."""
    middle, most = statistics.median(lines.values()), percentile(list(lines.values()), 0.95)
    if limit.median is not None and middle > limit.median:
        yield f"the median of {what} is {middle:.0f} lines, above {limit.median}"
    if limit.p95 is not None and most > limit.p95:
        yield f"one of twenty {what} has {most} lines or more, above {limit.p95}"
    for name, count in lines.items():
        if count > limit.longest:
            yield f"{name} has {count} lines, above {limit.longest}"


def main() -> None:
    found: list[str] = []
    for what, lines in sizes(SOURCE).items():
        values = list(lines.values())
        print(
            f"sizes: {len(values)} {what}, lines median {statistics.median(values):.0f}, "
            f"p95 {percentile(values, 0.95)}, max {max(values)}"
        )
        found += problems(what, lines, LIMITS[what])
    for problem in found:
        print(f"sizes: {problem}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
