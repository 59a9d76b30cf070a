"""A digest of the sources that can change a row, and of no others.

A row of `carat` stays valid while `weir` changes. So the digest covers what a run's modules import, directly or
indirectly, within the rooms that determine results. It covers the guard only if the guard is on, and only the policy
that ran. Comments and docstrings change no result, so they are left out.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

#: Rooms in which imports are followed. Other rooms only pass results on.
ROOMS = ("penstock.simulate", "penstock.decide", "penstock.predict", "penstock.knobs")
TOP = ("units", "workload", "spaces", "snapshot", "window", "decision", "ratios", "ports")
WORLD = ("penstock.simulate.simulation", "penstock.simulate.catalogue", "penstock.evaluate.simulated")
DRIVERS = (
    "penstock.evaluate.drivers",
    "penstock.evaluate.tuners",
    "penstock.agent.loop",
    "penstock.decide.tuner",
)
GUARD = "penstock.decide.guard"


@cache
def world_mark() -> str:
    """The digest for runs without tuning."""
    return mark(WORLD)


@cache
def policy_mark(module: str, guard: bool) -> str:
    """The digest for runs under the policy of a module."""
    return mark((*WORLD, *DRIVERS, module, *((GUARD,) if guard else ())), without=() if guard else (GUARD,))


def mark(modules: Iterable[str], without: tuple[str, ...] = ()) -> str:
    """A hash of these modules and of all they import within the rooms that determine results."""
    found = hashlib.sha256()
    for name in sorted(closure(modules, without)):
        path = _path(name)
        if path is not None:
            found.update(f"{name}\0{code_of(path.read_text(encoding='utf-8'))}".encode())
    return found.hexdigest()[:16]


def code_of(source: str) -> str:
    """A module's text without what is only for readers."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def closure(modules: Iterable[str], without: tuple[str, ...] = ()) -> set[str]:
    """The modules and what they import, as far as imports are followed."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found or name.startswith(without or ("-",)):
            continue
        found.add(name)
        waiting += [each for each in _imports(name) if _followed(each)]
    return found


def _followed(name: str) -> bool:
    parts = name.split(".")
    return name.startswith(ROOMS) or (len(parts) == 2 and parts[1] in TOP)


@cache
def _imports(name: str) -> tuple[str, ...]:
    path = _path(name)
    if path is None:
        return ()
    found: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("penstock"):
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if alias.name.startswith("penstock")]
    return tuple(found)


@cache
def _path(name: str) -> Path | None:
    try:
        spec = find_spec(name)
    except (ModuleNotFoundError, AttributeError):
        return None
    return Path(spec.origin) if spec is not None and spec.origin is not None else None
