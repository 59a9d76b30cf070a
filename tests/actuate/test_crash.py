"""Killed after every single system call, or at random: one restore gives everything back."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.rigs.crashes import in_small_process, instants, survives, survives_until
from tests.rigs.served import Served

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.actuate.system import System
from penstock.knobs import Setting

pytestmark = pytest.mark.live

ORIGINAL = Setting(pages=1024, flight=8, dirty=490)
MOST_CALLS = 3000


@dataclass(frozen=True, slots=True)
class States:
    """Numbered state directories."""

    home: Path

    def __call__(self, number: int) -> Path:
        return self.home / f"state-{number}"


@pytest.fixture
def states() -> Iterator[States]:
    """State directories on a file system where syncing costs nothing: there are thousands of crashes."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as directory:
        yield States(Path(directory))


def actuator(root: Path, state: Path, system: System) -> LustreActuator:
    return LustreActuator(root, Journal(state, owner_of(root), system), system=system)


def settings(root: Path) -> list[Setting]:
    found = []
    for sysfs in sorted((root / "sys/fs/lustre/osc").iterdir()):
        pages = sysfs / "max_pages_per_rpc"
        if not pages.exists():
            pages = root / "proc/fs/lustre/osc" / sysfs.name / "max_pages_per_rpc"
        files = {"pages": pages, "flight": sysfs / "max_rpcs_in_flight", "dirty": sysfs / "max_dirty_mb"}
        found.append(Setting({knob_id: int(path.read_text()) for knob_id, path in files.items()}))
    return found


def tune(root: Path, state: Path) -> Callable[[System], None]:
    """A change that couples, and one that is refused half way and reverted."""

    def work(system: System) -> None:
        mine = actuator(root, state, system)
        target = mine.targets()[0]
        mine.set(target, Setting(pages=256, flight=256, dirty=32))
        mine.set(target, Setting(pages=64, flight=9999))

    return work


def every_crash(work: Callable[[System], object], after: Callable[[int], None]) -> int:
    """Call `after` once for every system call the work can be killed at; how many there are."""
    for calls in range(1, MOST_CALLS):
        finished = survives(work, calls)
        after(calls)
        if finished:
            return calls - 1
    raise AssertionError("the work makes too many system calls")


def kill_set(root: Path, states: States) -> None:
    current = [states(0)]

    def work(system: System) -> None:
        tune(root, current[0])(system)

    def after(calls: int) -> None:
        restore_all(root, current[0])
        assert settings(root) == [ORIGINAL, ORIGINAL], f"killed after system call {calls}"
        current[0] = states(calls)

    assert every_crash(work, after) > 50


def test_set_killed_after_any_system_call_is_undone_by_one_restore(modern: Served, states: States) -> None:
    in_small_process(kill_set, modern.root, states)


def kill_batch(root: Path, states: States) -> None:
    current = [states(0)]

    def work(system: System) -> None:
        mine = actuator(root, current[0], system)
        first, second = mine.targets()
        mine.set_all([(first, Setting(pages=256, dirty=32)), (second, Setting(pages=64, flight=9999))])

    def after(calls: int) -> None:
        restore_all(root, current[0])
        assert settings(root) == [ORIGINAL, ORIGINAL], f"killed after system call {calls}"
        current[0] = states(calls)

    assert every_crash(work, after) > 50


def test_batch_killed_after_any_system_call_is_undone_by_one_restore(modern: Served, states: States) -> None:
    in_small_process(kill_batch, modern.root, states)


def kill_set_and_set_again(root: Path, states: States) -> None:
    for calls in range(1, 400, 9):
        state = states(calls)
        finished = survives(tune(root, state), calls)
        tune(root, state)(System())
        restore_all(root, state)
        assert settings(root) == [ORIGINAL, ORIGINAL], f"killed after system call {calls}"
        if finished:
            break


def test_set_killed_and_set_again_never_takes_tuned_values_for_originals(
    modern: Served, states: States
) -> None:
    in_small_process(kill_set_and_set_again, modern.root, states)


def kill_restore(root: Path, states: States) -> None:
    current = [states(0)]

    def work(system: System) -> None:
        restore_all(root, current[0], system)

    def after(calls: int) -> None:
        restore_all(root, current[0])
        assert settings(root) == [ORIGINAL, ORIGINAL], f"killed after system call {calls}"
        current[0] = states(calls)
        tune(root, current[0])(System())

    tune(root, current[0])(System())
    assert every_crash(work, after) > 50


def test_restore_killed_after_any_system_call_can_be_repeated(modern: Served, states: States) -> None:
    in_small_process(kill_restore, modern.root, states)


def test_set_killed_leaves_what_the_administrator_sets_afterwards(modern: Served, states: States) -> None:
    flight = modern.root / "sys/fs/lustre/osc" / modern.osc() / "max_rpcs_in_flight"
    dirty = flight.with_name("max_dirty_mb")
    for calls in range(30, 400, 13):
        state = states(calls)
        finished = survives(tune(modern.root, state), calls)
        flight.write_text("77")
        dirty.write_text("123")
        restore_all(modern.root, state)
        found = settings(modern.root)
        if Journal(state, owner_of(modern.root)).entries:
            assert found == [Setting(pages=1024, flight=77, dirty=123), ORIGINAL], f"killed after {calls}"
        flight.write_text("8")
        dirty.write_text("490")
        if finished:
            break


def kill_set_of_plain_files(tree: Path, states: States) -> None:
    before = settings(tree)
    current = [states(0)]

    def work(system: System) -> None:
        tune(tree, current[0])(system)

    def after(calls: int) -> None:
        restore_all(tree, current[0])
        assert settings(tree) == before, f"killed after system call {calls}"
        assert all(text.count("\n") == 1 for text in knob_texts(tree)), f"torn file after {calls}"
        current[0] = states(calls)

    assert every_crash(work, after) > 50


def test_plain_files_survive_any_crash_as_well(tree: Path, states: States) -> None:
    in_small_process(kill_set_of_plain_files, tree, states)


def knob_texts(root: Path) -> list[str]:
    names = ("max_pages_per_rpc", "max_rpcs_in_flight", "max_dirty_mb")
    return [path.read_text() for name in names for path in root.rglob(f"osc/*/{name}")]


@pytest.mark.parametrize("seed", [1, 2])
def test_set_killed_at_random_instants_loses_nothing(modern: Served, tmp_path: Path, seed: int) -> None:
    def work(system: System) -> None:
        rng = random.Random(seed)
        mine = actuator(modern.root, tmp_path / "state", system)
        space = mine.space(mine.targets()[0])
        while True:
            wanted = Setting({knob.id: rng.choice(knob.values) for knob in space.knobs})
            mine.set(rng.choice(mine.targets()), wanted)

    for seconds in instants(seed, 10, 0.25):
        assert not survives_until(work, seconds)
        restore_all(modern.root, tmp_path / "state")
        assert settings(modern.root) == [ORIGINAL, ORIGINAL]
