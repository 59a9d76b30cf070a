"""All benchmarks in one table: what, ours, a baseline of the same run, how many times better, goal, met.

usage: ./run bench [table NAME...] [--repeats 3] [--write]

Every measure runs `--repeats` times, each in a process of its own; the table has the medians. A result that differs
from the committed one by more than the noise of both is said to have moved. `--write` makes the result the committed
one (benchmarks/results/performance.json) and writes docs/explanation/performance.md from it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measures import MEASURES, Line

HOME = Path(__file__).parent
RESULT = HOME / "results" / "performance.json"
PAGE = HOME.parent / "docs" / "explanation" / "performance.md"
# Machines that others use differ by this much from run to run, whatever three repetitions say.
LEAST_NOISE = 0.10
HEAD = """# Performance

Made by `./run bench table --write`; every line is the median of {repeats} runs in processes of their own. The
baseline of a line was measured in the same run, or is a figure that its source states. CPU time is counted, not the
clock's. Noise is the spread of the runs over their median; `./run bench` says which lines moved by more since
this page was made. This machine was shared with other work, so ratios say more than times.

"""


def run(names: Sequence[str], repeats: int) -> list[dict[str, Any]]:
    """The named measures in turn; a measure that fails is named and left out."""
    rows: list[dict[str, Any]] = []
    for name in names:
        print(f"bench: {name}", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "benchmarks.table", "--one", name]
        runs = []
        for _ in range(repeats):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"bench: {name} failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                break
            runs.append(json.loads(done.stdout.splitlines()[-1]))
        rows += [median_row(name, lines) for lines in zip(*runs, strict=True)] if runs else []
    return rows


def median_row(measure: str, lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values = [line["value"] for line in lines]
    middle = sorted(lines, key=lambda line: float(line["value"]))[len(lines) // 2]
    noise = (max(values) - min(values)) / statistics.median(values)
    return {"measure": measure, **middle, "noise": noise}


def moved(row: dict[str, Any], before: Sequence[dict[str, Any]]) -> float | None:
    """The ratio to the committed value, where that is more than noise; else None."""
    known = next((one for one in before if one["what"] == row["what"]), None)
    if known is None:
        return None
    ratio = float(row["value"] / known["value"])
    noise = max(LEAST_NOISE, row["noise"], known["noise"])
    return ratio if abs(ratio - 1) > 2 * noise else None


def _merged(before: Sequence[dict[str, Any]], fresh: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The committed rows, each in its place, those measured again with their new figures."""
    new = {row["what"]: row for row in fresh}
    return [*(new.pop(row["what"], row) for row in before), *new.values()]


def markdown(rows: Sequence[dict[str, Any]]) -> str:
    """The table."""
    lines = [
        "| what | ours | baseline | times better | goal | met | noise |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        line = Line(**{name: row[name] for name in Line.__dataclass_fields__})
        baseline = f"{line.baseline}: {_number(line.baseline_value)}" if line.baseline_value else "-"
        ratio = f"{line.ratio:.2f}" if line.ratio is not None else "-"
        sign = ">=" if line.more_is_better else "<="
        goal = f"{sign} {_number(line.goal)}" if line.goal is not None else "-"
        met = "-" if line.met is None else "yes" if line.met else "**no**"
        ours = f"{_number(line.value)} {line.unit}"
        lines.append(
            f"| {line.what} | {ours} | {baseline} | {ratio} | {goal} | {met} | {100 * row['noise']:.0f} % |"
        )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", choices=MEASURES, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps([asdict(line) for line in MEASURES[asked.one]()]))
        return 0
    strange = next((name for name in asked.names if name not in MEASURES), None)
    if strange is not None:
        parser.error(f"{strange!r}: there is {', '.join(MEASURES)}")
    rows = run(asked.names or list(MEASURES), asked.repeats)
    before = json.loads(RESULT.read_text())["rows"] if RESULT.exists() else []
    print(json.dumps({"rows": rows}, indent=1) if asked.json else markdown(rows))
    for row in rows:
        if (ratio := moved(row, before)) is not None:
            print(f"bench: moved: {row['what']}: {ratio:.2f} times the committed result", file=sys.stderr)
    if asked.write:
        rows = _merged(before, rows) if asked.names else rows
        RESULT.write_text(json.dumps({"repeats": asked.repeats, "rows": rows}, indent=1) + "\n")
        PAGE.write_text(HEAD.format(repeats=asked.repeats) + markdown(rows) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
