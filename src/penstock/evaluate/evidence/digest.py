"""What made a row: the simulator's behaviour, the simulated world, and the sources that decide in it.

The simulator counts by what it does (`penstock.simulate.BEHAVIOUR`), not by how it is written, and a world by its
plan. Policies count by their sources: a row of `carat` stays valid while `weir` changes, because the digest covers
what a run's modules import, directly or indirectly, within the rooms that determine results. It covers the guard only
if the guard is on, and only the policy that ran. Comments and docstrings change no result, so they are left out.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from penstock.evaluate.trial import plain
from penstock.simulate import BEHAVIOUR
from penstock.simulate.assembly import Plan

#: Rooms in which imports are followed. Other rooms only pass results on.
ROOMS = ("penstock.decide", "penstock.predict", "penstock.knobs")
TOP = ("units", "workload", "spaces", "snapshot", "window", "decision", "ratios", "ports")
#: How a run is made and reduced to figures.
RUNNING = ("penstock.evaluate.simulated", "penstock.evaluate.trial")
DRIVERS = (
    "penstock.evaluate.drivers",
    "penstock.evaluate.tuners",
    "penstock.agent.loop",
    "penstock.decide.tuner",
    "penstock.simulate.probe",
)
GUARD = "penstock.decide.guard"


def world_mark(plan: Plan, seconds: float) -> str:
    """The digest for a run of this world without tuning.

    Of the cluster only what differs from defaults counts, so that a new property of clusters changes no mark. That
    defaults themselves stay as they are is part of the behaviour: the golden runs use them.
    """
    program = mark(RUNNING, rooms=())
    world = {**plain(plan), "cluster": plan.cluster.model_dump(exclude_defaults=True)}
    document = json.dumps([BEHAVIOUR, program, world, seconds], sort_keys=True)
    return hashlib.sha256(document.encode()).hexdigest()[:16]


def policy_mark(module: str, guard: bool) -> str:
    """The digest of the policy of a module and of what lets it decide."""
    return mark((*DRIVERS, module, *((GUARD,) if guard else ())), without=() if guard else (GUARD,))


@cache
def mark(modules: tuple[str, ...], without: tuple[str, ...] = (), rooms: tuple[str, ...] = ROOMS) -> str:
    """A hash of these modules and of all they import within the rooms that determine results."""
    found = hashlib.sha256()
    for name in sorted(closure(modules, without, rooms)):
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


def closure(
    modules: Iterable[str], without: tuple[str, ...] = (), rooms: tuple[str, ...] = ROOMS
) -> set[str]:
    """The modules and what they import, as far as imports are followed."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found or name.startswith(without or ("-",)):
            continue
        found.add(name)
        waiting += [each for each in _imports(name) if _followed(each, rooms)]
    return found


def _followed(name: str, rooms: tuple[str, ...]) -> bool:
    parts = name.split(".")
    return bool(rooms) and (name.startswith(rooms) or (len(parts) == 2 and parts[1] in TOP))


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
