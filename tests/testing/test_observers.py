"""The observer suite accepts what reads well and catches what does not."""

from __future__ import annotations

import dataclasses
import math
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.rigs.queueing import Hardware, Load, QueueingTarget

from penstock.knobs import Setting
from penstock.observe.collector import LustreObserver
from penstock.ports import Observer
from penstock.snapshot import NodeSnapshot, Problem, Target, TargetSnapshot
from penstock.testing.observers import check_observer, check_tree_untouched

FIXTURES = Path(__file__).parent.parent / "fixtures"
SEEN = NodeSnapshot(
    0.0,
    (TargetSnapshot(Target("a", "fs"), 0.0, Setting(pages=1), {"read.bytes": 5.0}, {"dirty.bytes": 1.0}),),
    system="test",
)


def tick() -> None:
    time.sleep(0.001)


@pytest.mark.parametrize("version", ["2.15.8", "2.17.57"])
def test_observer_suite_accepts_the_captured_clients(version: str, tmp_path: Path) -> None:
    root = tmp_path / "client"
    shutil.copytree(FIXTURES / f"lustre-{version}" / "tree", root)
    check_observer(lambda: LustreObserver(root), tick)
    check_tree_untouched(lambda: LustreObserver(root), root)


def test_observer_suite_accepts_the_queueing_model() -> None:
    made: list[QueueingTarget] = []

    def make() -> Observer:
        made.append(QueueingTarget(Hardware(500e6, 1e-4, 0.1), [Load(0.0, 1 << 20, 1e-4)], seed=1))
        return made[-1]

    check_observer(make, lambda: made[-1].sleep_until(made[-1].now() + 0.5))


class Scripted:
    """An observer that says what it is told to, later each time."""

    def __init__(self, change: Callable[[int, TargetSnapshot], TargetSnapshot], **fields: object) -> None:
        self._change = change
        self._fields = fields
        self._numbers: Iterator[int] = iter(range(1000))

    def observe(self) -> NodeSnapshot:
        number = next(self._numbers)
        targets = tuple(
            self._change(number, dataclasses.replace(item, t_s=float(number))) for item in SEEN.targets
        )
        return dataclasses.replace(SEEN, **{"t_s": float(number), "targets": targets, **self._fields})  # type: ignore[arg-type]


def same(_: int, item: TargetSnapshot) -> TargetSnapshot:
    return item


def shrinking(number: int, item: TargetSnapshot) -> TargetSnapshot:
    return dataclasses.replace(item, counters={"read.bytes": 100.0 - number})


def vanishing(number: int, item: TargetSnapshot) -> TargetSnapshot:
    return dataclasses.replace(item, counters={} if number == 2 else item.counters)


def negative(_: int, item: TargetSnapshot) -> TargetSnapshot:
    return dataclasses.replace(item, gauges={"dirty.bytes": -1.0})


def infinite(_: int, item: TargetSnapshot) -> TargetSnapshot:
    return dataclasses.replace(item, counters={"read.bytes": math.inf})


def renamed(number: int, item: TargetSnapshot) -> TargetSnapshot:
    return dataclasses.replace(item, target=Target("a", f"fs{number}"))


def test_observer_suite_accepts_a_plain_observer() -> None:
    check_observer(lambda: Scripted(same))


@pytest.mark.parametrize("change", [shrinking, vanishing, negative, infinite, renamed])
def test_observer_suite_catches_bad_targets(change: Callable[[int, TargetSnapshot], TargetSnapshot]) -> None:
    def make() -> Observer:
        return Scripted(change)

    with pytest.raises(AssertionError):
        check_observer(make)


@pytest.mark.parametrize(
    "fields",
    [
        {"t_s": 1.0},
        {"system": ""},
        {"targets": SEEN.targets * 2},
        {"problems": (Problem("a", " "),)},
        {"problems": (Problem("a", "two\nlines"),)},
    ],
)
def test_observer_suite_catches_bad_snapshots(fields: dict[str, object]) -> None:
    with pytest.raises(AssertionError):
        check_observer(lambda: Scripted(same, **fields))


def test_observer_suite_catches_a_writing_observer(tmp_path: Path) -> None:
    path = tmp_path / "stats"
    path.write_text("1\n")

    class Writer:
        def observe(self) -> NodeSnapshot:
            path.write_text("0\n")
            return SEEN

    with pytest.raises(AssertionError, match="changed files"):
        check_tree_untouched(Writer, tmp_path)
