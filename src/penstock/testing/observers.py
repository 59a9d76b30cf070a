"""What every observer owes its users. Call `check_observer` from a test with whatever builds yours.

def test_my_observer_obeys():
    check_observer(lambda: MyObserver(somewhere), advance=let_something_happen)
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from penstock.ports import Observer
from penstock.snapshot import NodeSnapshot, Problem, TargetSnapshot
from penstock.window import DIRECTIONS, Void, windows

ObserverFactory = Callable[[], Observer]
_PASSES = 4


def nothing_happens() -> None:
    """For trees that stand still."""


def check_observer(make: ObserverFactory, advance: Callable[[], None] = nothing_happens) -> None:
    """Every check of the suite, each on an observer of its own. Raises AssertionError at the first breach.

    `advance` lets the observed system go on between two observations; it must let the clock advance too.
    """
    check_snapshots_are_well_formed(make, advance)
    check_targets_keep_their_identity(make, advance)
    check_time_goes_on(make, advance)
    check_counters_only_grow(make, advance)
    check_windows_can_be_made(make, advance)


def check_snapshots_are_well_formed(make: ObserverFactory, advance: Callable[[], None]) -> None:
    """Names are unique, values are numbers that can be, and what is missing is a `Problem` in words."""
    for seen in _passes(make, advance):
        assert seen.system, "a snapshot says which system it is of"
        names = [item.target.name for item in seen.targets]
        assert len(names) == len(set(names)), f"targets twice: {sorted(names)}"
        for item in seen.targets:
            _check_target(item)
        for problem in seen.problems:
            assert isinstance(problem, Problem), f"{problem!r} is no Problem"
            assert problem.source and problem.message.strip(), f"a problem without words: {problem!r}"
            assert "\n" not in problem.message, f"a problem is one line: {problem.message!r}"


def _check_target(item: TargetSnapshot) -> None:
    name = item.target.name
    assert name and item.target.fs, f"{item.target!r} has no name or no file system"
    assert hash(item.target) == hash(dataclasses.replace(item.target)), f"{name}: not found again by its hash"
    for knob, value in item.setting.items():
        assert value >= 0, f"{name}: knob {knob} is {value!r}"
    for kind, values in (("counter", item.counters), ("gauge", item.gauges)):
        for key, figure in values.items():
            assert math.isnan(figure) or (figure >= 0 and math.isfinite(figure)), (
                f"{name}: {kind} {key} is {figure}"
            )


def check_targets_keep_their_identity(make: ObserverFactory, advance: Callable[[], None]) -> None:
    """A target seen twice is equal to itself: whoever remembers it finds it again."""
    first, *rest = _passes(make, advance)
    by_name = {item.target.name: item.target for item in first.targets}
    for seen in rest:
        for item in seen.targets:
            assert by_name.setdefault(item.target.name, item.target) == item.target


def check_time_goes_on(make: ObserverFactory, advance: Callable[[], None]) -> None:
    """Snapshots carry the time they were taken at, and it rises from each to the next."""
    seen = _passes(make, advance)
    for before, after in pairwise(seen):
        assert after.t_s > before.t_s, f"the clock stood still or fell: {before.t_s} -> {after.t_s}"


def check_counters_only_grow(make: ObserverFactory, advance: Callable[[], None]) -> None:
    """Within one epoch a counter never falls and never goes away."""
    seen = _passes(make, advance)
    for before, after in pairwise(seen):
        earlier = {item.target: item for item in before.targets}
        for item in after.targets:
            old = earlier.get(item.target)
            if old is None or old.epoch != item.epoch:
                continue
            for key, value in old.counters.items():
                assert key in item.counters, f"{item.target.name}: {key} went away"
                assert not item.counters[key] < value, f"{item.target.name}: {key} fell"


def check_windows_can_be_made(make: ObserverFactory, advance: Callable[[], None]) -> None:
    """Two snapshots make a window of every target both hold, and its volumes are not negative."""
    seen = _passes(make, advance)
    for before, after in pairwise(seen):
        both = {item.target for item in before.targets} & {item.target for item in after.targets}
        found = windows(before, after)
        assert {item.target for item in found} == both
        for item in found:
            if isinstance(item, Void):
                continue
            for direction in DIRECTIONS:
                moved = item.metrics.get(f"{direction}.bytes", 0.0)
                assert moved >= 0, f"{item.target.name}: {direction} moved {moved} bytes"


def check_tree_untouched(make: ObserverFactory, root: Path) -> None:
    """Observing changes no file below the root: for the kernel, even an empty write clears counters."""
    before = _fingerprint(root)
    observer = make()
    for _ in range(2):
        observer.observe()
    assert _fingerprint(root) == before, f"observing changed files below {root}"


def _fingerprint(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def _passes(make: ObserverFactory, advance: Callable[[], None]) -> list[NodeSnapshot]:
    observer = make()
    found = []
    for _ in range(_PASSES):
        found.append(observer.observe())
        advance()
    return found
