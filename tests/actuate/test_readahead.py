"""Readahead knobs: journalled, within what the kernel takes, restored exactly whoever did what, wherever we die."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.rigs.served import SteadyClient
from tests.tree_system import KilledError, TreeSystem

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.actuate.recovery import restore_all
from penstock.decision import Receipt
from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.stores import Rules
from penstock.emulate.treelayout import load_layout
from penstock.errors import DataError, KnobError
from penstock.knobs import Setting
from penstock.knobs.target_kind import DATA, READAHEAD
from penstock.snapshot import Target
from penstock.testing.actuators import Rig, check_actuator

NEVER = 10**9
STORES = {"ahead_total": "store_total", "ahead_file": "store_file", "ahead_whole": "store_whole"}


class Mount:
    """A served mount in this process, and actuators on it that may be killed."""

    def __init__(self, directory: Path, layout: str = "2.15") -> None:
        self.root, self.state = str(directory / "root"), directory / "state"
        (directory / "root/proc").mkdir(parents=True)
        (directory / "root/proc/meminfo").write_text("MemTotal: 4007120 kB\n")
        self.node = ServedNode(NodePlan(load_layout(layout), 1, 4.0), SteadyClient())

    def actuator(self, calls: int = NEVER) -> NodeActuator:
        system = TreeSystem(self.node, self.root, calls)
        journal = Journal(self.state, owner_of(self.root), system)
        return NodeActuator(self.root, journal, Reach(sections=frozenset({DATA, READAHEAD})), system=system)

    def target(self) -> Target:
        return next(one for one in self.actuator().targets() if one.kind.name == "readahead")

    def set(self, **knobs: int) -> Receipt:
        return self.actuator().set(self.target(), Setting(knobs))

    def write(self, knob_id: str, value: int) -> None:
        """As an administrator does."""
        getattr(self.node.readahead, STORES[knob_id])(str(value))

    def restore(self) -> None:
        restore_all(self.root, self.state, TreeSystem(self.node, self.root))

    def now(self) -> Setting:
        return self.node.readahead.setting


@pytest.fixture(params=["2.15", "2.17"])
def mount(request: pytest.FixtureRequest, tmp_path: Path) -> Mount:
    return Mount(tmp_path, request.param)


def test_actuator_suite_accepts_readahead(tmp_path: Path) -> None:
    numbers = itertools.count()

    def make() -> Rig:
        fresh = Mount(tmp_path / str(next(numbers)))
        return Rig(fresh.actuator(), fresh.target())

    check_actuator(make)


def test_targets_of_readahead_are_none_unless_the_configuration_names_them(mount: Mount) -> None:
    system = TreeSystem(mount.node, mount.root)
    quiet = NodeActuator(mount.root, Journal(mount.state, owner_of(mount.root), system), system=system)
    assert {target.kind.name for target in quiet.targets()} == {"data-path"}
    assert {target.kind.name for target in mount.actuator().targets()} == {"data-path", "readahead"}


def test_space_offers_no_file_more_than_all_files_may_have(mount: Mount) -> None:
    space = mount.actuator().space(mount.target())
    assert space["ahead_total"].ceiling == 4007120 // 1024 // 2
    assert len(space.candidates()) > 20
    assert all(one["ahead_file"] <= one["ahead_total"] for one in space.candidates())
    assert space.searched == ("ahead_total", "ahead_file")


def test_set_raises_and_lowers_all_limits_together(mount: Mount) -> None:
    before = mount.now()
    wide = {"ahead_total": 1024, "ahead_file": 512, "ahead_whole": 64, "ahead_async": 128}
    assert mount.set(**wide).exact
    assert mount.now() == Setting(wide)
    narrow = {"ahead_total": 8, "ahead_file": 4, "ahead_whole": 2, "ahead_async": 1}
    assert mount.set(**narrow).exact
    assert mount.now() == Setting(narrow)
    mount.restore()
    assert mount.now() == before


def test_set_beyond_the_outer_knob_is_cut_to_it(mount: Mount) -> None:
    total = mount.now()["ahead_total"]
    assert mount.set(ahead_file=total + 1).actual["ahead_file"] == total
    with pytest.raises(KnobError, match="outside"):
        mount.set(ahead_total=4096)
    mount.restore()


def test_original_that_passes_the_outer_knob_comes_back(mount: Mount) -> None:
    """Lowering the outer knob lowers nothing, so an administrator may have left such a value; nobody may write it."""
    mount.write("ahead_total", 16)
    before = mount.now()
    assert before["ahead_file"] > before["ahead_total"]
    assert mount.set(ahead_total=128, ahead_file=8).exact
    mount.restore()
    assert mount.now() == before


def test_originals_that_pass_two_outer_knobs_come_back_in_an_order_the_kernel_takes(mount: Mount) -> None:
    """An administrator's limit of a file passes that of all files, and what was under it comes back above both."""
    before = mount.now()
    assert mount.set(ahead_whole=4).exact
    mount.write("ahead_file", 21)
    mount.write("ahead_total", 20)
    mount.actuator().notice(mount.target())
    mount.restore()
    assert mount.now() == before.replace(ahead_file=21, ahead_total=20)


@pytest.mark.parametrize("lowered", [True, False])
def test_killed_at_any_call_leaves_an_exact_restore(tmp_path: Path, lowered: bool) -> None:
    fresh = Mount(tmp_path)
    if lowered:
        fresh.write("ahead_total", 16)
    before, ended, target, seen = fresh.now(), False, fresh.target(), set()
    for calls in itertools.count(1):
        try:
            actuator = fresh.actuator(calls)
            actuator.set(target, Setting(ahead_total=512, ahead_file=256))
            actuator.restore(target)
            ended = True
        except KilledError:
            pass
        seen.add(fresh.now())
        fresh.restore()
        assert fresh.now() == before, f"killed at call {calls}"
        if ended:
            break
    assert before.replace(ahead_total=512, ahead_file=256) in seen


def test_row_55_a_refused_limit_moves_nothing_and_is_restored_exactly(mount: Mount) -> None:
    """The kernel takes less than its memory promises: ERANGE for the outer limit, so the inner one stays, too."""
    before, actuator = mount.now(), mount.actuator()
    mount.node.readahead.rules = Rules(modern=False, ram_bytes=1 << 30)
    receipt = actuator.set(mount.target(), Setting(ahead_total=1024, ahead_file=256))
    assert receipt.error is not None
    assert "refused" in receipt.error
    assert receipt.actual == mount.now() == before
    # What was learned is not tried again, and what is within it is taken.
    assert actuator.space(mount.target())["ahead_total"].ceiling < 1024
    assert actuator.set(mount.target(), Setting(ahead_total=256, ahead_file=128)).exact
    mount.restore()
    assert mount.now() == before


# What an administrator writes while we hold (512, 256).
ADMINISTRATORS: Sequence[Sequence[tuple[str, int]]] = (
    [("ahead_total", 200)],
    [("ahead_total", 16)],
    [("ahead_file", 20)],
    [("ahead_total", 16), ("ahead_total", 122)],
    [("ahead_whole", 4)],
)


@pytest.mark.parametrize("writes", ADMINISTRATORS)
def test_rows_49_50_restore_leaves_what_would_be_had_we_never_run(
    tmp_path: Path, writes: Sequence[tuple[str, int]]
) -> None:
    fresh, untouched = Mount(tmp_path / "one"), Mount(tmp_path / "other")
    assert fresh.set(ahead_total=512, ahead_file=256).exact
    for knob_id, value in writes:
        fresh.write(knob_id, value)
        untouched.write(knob_id, value)
        fresh.actuator().notice(fresh.target())
    fresh.restore()
    assert fresh.now() == untouched.now()


def test_row_49_the_other_limit_goes_on_being_tuned(mount: Mount) -> None:
    assert mount.set(ahead_total=512, ahead_file=256).exact
    mount.write("ahead_total", 100)
    receipt = mount.set(ahead_total=1024, ahead_file=200)
    # What is under an administrator's limit stays there.
    assert receipt.actual.only("ahead_total", "ahead_file") == Setting(ahead_total=100, ahead_file=100)
    assert receipt.error is not None
    assert "administrator" in receipt.error
    space = mount.actuator().space(mount.target())
    assert {one["ahead_total"] for one in space.candidates()} == {100}
    mount.restore()
    assert mount.now()["ahead_total"] == 100


def test_files_of_readahead_are_opened_for_listed_names_only(mount: Mount) -> None:
    actuator, target = mount.actuator(), mount.target()
    for name in ("../lustre-ff11aa-readahead", "/etc-readahead", "lustre-ff11aa-statahead"):
        with pytest.raises(DataError):
            actuator.open(Target(name, "lustre", mount="elsewhere", kind=target.kind))
    with pytest.raises(KnobError):
        actuator.set(target, Setting(statahead=1))
