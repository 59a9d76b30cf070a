"""Prints how long files and functions are; long ones are named. Fails on nothing: a figure to look at."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"
FILE_LIMIT, FUNCTION_LIMIT = 450, 60


def percentile(values: list[int], share: float) -> int:
    ordered = sorted(values)
    return ordered[int(share * (len(ordered) - 1))]


def main() -> None:
    files: dict[str, int] = {}
    functions: dict[str, int] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        home = str(path.relative_to(SOURCE))
        files[home] = text.count("\n")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions[f"{home}:{node.name}"] = (node.end_lineno or node.lineno) - node.lineno + 1
    for what, sizes, limit in (("files", files, FILE_LIMIT), ("functions", functions, FUNCTION_LIMIT)):
        lines = list(sizes.values())
        print(
            f"sizes: {len(lines)} {what}, lines median {statistics.median(lines):.0f}, "
            f"p95 {percentile(lines, 0.95)}, max {max(lines)}"
        )
        for name, count in sizes.items():
            if count > limit:
                print(f"sizes: long: {name} ({count} lines)")


if __name__ == "__main__":
    main()
