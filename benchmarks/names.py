"""Fails where two rooms give one name to two modules or two classes, unless the name is listed here with its reason.

Names that can meet in one file must tell their things apart: a second `Outcome` gets its noun.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "penstock"
# Commands are called like their verbs, and every plug-in family has its _base, its observer or its source.
FAMILIES = ("_base", "observer", "source", "chance", "shards")
VERBS = "cli"
# Rooms whose two modules no file has a reason to import together.
MODULES = {
    "belief": "decide, schedule",
    "candidates": "knobs, plan",
    "checkpoint": "plan, simulate",
    "claims": "evaluate, schedule",
    "figures": "evaluate, schedule",
    "kinds": "campaign, predict",
    "layout": "observe, schedule",
    "ledger": "campaign, schedule",
    "paper": "dash, evaluate",
    "simulation": "schedule, simulate",
    "static": "evaluate, schedule",
    "summary": "agent, schedule",
    "trial": "evaluate, schedule",
    "walk": "predict, report",
}
CLASSES = {
    "Cluster": "penstock.Cluster is the public API; the other describes a cluster",
    "Demand": "decide, schedule",
    "Job": "schedule, simulate",
    "Look": "dash, decide",
    "Measured": "of a run (evaluate), of a command (plan)",
    "Section": "of a configuration file, of a page",
    "_Unit": "private to two files of decide",
}


def homes(source: Path) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Every module's and every class's name with the files that have it."""
    modules: dict[str, list[str]] = {}
    classes: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py")):
        home = str(path.relative_to(source))
        if not path.stem.startswith("__") and not home.startswith(f"{VERBS}/"):
            modules.setdefault(path.stem, []).append(home)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(home)
    return modules, classes


def problems(source: Path) -> Iterator[str]:
    modules, classes = homes(source)
    for what, found, known in (("module", modules, {*FAMILIES, *MODULES}), ("class", classes, {*CLASSES})):
        for name, places in found.items():
            if len(places) > 1 and name not in known:
                yield f"{what} {name!r} is in {' and '.join(places)}: give one of them its noun"


def main(source: Path = SOURCE) -> int:
    found = list(problems(source))
    for problem in found:
        print(f"names: {problem}")
    print(f"names: {len(found)} names that two rooms share")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
