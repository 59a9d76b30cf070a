"""Metadata knobs: journalled, coupled as recorded, restored exactly whoever did what and wherever we are killed."""

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
from penstock.emulate.treelayout import load_layout
from penstock.errors import DataError, KnobError
from penstock.knobs import Setting
from penstock.knobs.target_kind import DATA, METADATA
from penstock.snapshot import Target
from penstock.testing.actuators import Rig, check_actuator

NEVER = 10**9


class Mount:
    """A served mount in this process, and actuators on it that may be killed."""

    def __init__(self, directory: Path, layout: str = "2.15", mod_rpcs: int = 16) -> None:
        self.root, self.state = str(directory / "root"), directory / "state"
        (directory / "root/proc").mkdir(parents=True)
        (directory / "root/proc/meminfo").write_text("MemTotal: 4007120 kB\n")
        plan = NodePlan(load_layout(layout), 1, 4.0, mod_rpcs=mod_rpcs)
        self.node = ServedNode(plan, SteadyClient())

    def actuator(self, calls: int = NEVER) -> NodeActuator:
        system = TreeSystem(self.node, self.root, calls)
        journal = Journal(self.state, owner_of(self.root), system)
        return NodeActuator(self.root, journal, Reach(sections=frozenset({DATA, METADATA})), system=system)

    def target(self, kind: str) -> Target:
        return next(one for one in self.actuator().targets() if one.kind.name == kind)

    def set(self, kind: str, **knobs: int) -> Receipt:
        return self.actuator().set(self.target(kind), Setting(knobs))

    def restore(self) -> None:
        restore_all(self.root, self.state, TreeSystem(self.node, self.root))

    def now(self) -> tuple[int, int, int]:
        served = self.node.metadata
        return served.rpcs, served.mod_rpcs, served.statahead


@pytest.fixture(params=["2.15", "2.17"])
def mount(request: pytest.FixtureRequest, tmp_path: Path) -> Mount:
    return Mount(tmp_path, request.param)


@pytest.mark.parametrize("kind", ["mdc", "statahead"])
def test_actuator_suite_accepts_metadata(tmp_path: Path, kind: str) -> None:
    numbers = itertools.count()

    def make() -> Rig:
        fresh = Mount(tmp_path / str(next(numbers)))
        return Rig(fresh.actuator(), fresh.target(kind))

    check_actuator(make)


def test_targets_of_metadata_are_none_unless_the_configuration_names_them(mount: Mount) -> None:
    system = TreeSystem(mount.node, mount.root)
    journal = Journal(mount.state, owner_of(mount.root), system)
    quiet = NodeActuator(mount.root, journal, system=system)
    assert {target.kind.name for target in quiet.targets()} == {"data-path"}
    assert {target.kind.name for target in mount.actuator().targets()} == {"data-path", "mdc", "statahead"}


def test_space_of_a_connection_is_what_its_server_allows(tmp_path: Path) -> None:
    for limit in (8, 16, 128):
        fresh = Mount(tmp_path / str(limit), mod_rpcs=limit)
        space = fresh.actuator().space(fresh.target("mdc"))
        assert space["mod_rpcs"].ceiling == limit
        assert all(one["mod_rpcs"] < one["rpcs"] for one in space.candidates())


def test_set_moves_both_limits_of_a_connection_together(mount: Mount) -> None:
    before = mount.now()
    receipt = mount.set("mdc", rpcs=64, mod_rpcs=15)
    assert receipt.exact
    assert mount.now() == (64, 15, before[2])
    assert mount.set("mdc", rpcs=4, mod_rpcs=3).exact
    assert mount.now()[:2] == (4, 3)
    mount.restore()
    assert mount.now() == before


def test_statahead_beyond_what_is_taken_is_never_written(mount: Mount) -> None:
    before = mount.now()
    with pytest.raises(KnobError):
        mount.set("statahead", statahead=1024)
    assert mount.now() == before
    assert mount.set("statahead", statahead=512).exact
    mount.restore()
    assert mount.now() == before


def test_row_55_a_refused_limit_that_moved_another_is_restored_exactly(mount: Mount) -> None:
    """The server allows less than it did when the mount was made: ERANGE, and the other limit rises all the same."""
    before = mount.now()
    actuator = mount.actuator()
    mount.node.metadata.import_text = mount.node.metadata.import_text.replace(
        "max_mod_rpcs", "max_mod_rpcs_once"
    )
    mount.node.metadata.server_limit = 8
    receipt = actuator.set(mount.target("mdc"), Setting(rpcs=8, mod_rpcs=15))
    assert receipt.error is not None
    assert "refused" in receipt.error
    assert receipt.actual == Setting(rpcs=8, mod_rpcs=7)
    assert mount.now() == before
    # What was learned is not tried again.
    assert actuator.space(mount.target("mdc"))["mod_rpcs"].ceiling <= 14
    mount.restore()
    assert mount.now() == before


@pytest.mark.parametrize("limit", [16, 8])
def test_row_55_killed_at_any_call_leaves_an_exact_restore(tmp_path: Path, limit: int) -> None:
    fresh = Mount(tmp_path)
    fresh.node.metadata.server_limit = limit
    before, ended = fresh.now(), False
    target = fresh.target("mdc")
    seen = set()
    for calls in itertools.count(1):
        try:
            fresh.actuator(calls).set(target, Setting(rpcs=32, mod_rpcs=15))
            ended = True
        except KilledError:
            pass
        seen.add(fresh.now())
        fresh.restore()
        assert fresh.now() == before, f"killed at call {calls}"
        if ended:
            break
    assert (32, 7, before[2]) in seen


# What an administrator writes while we hold (64, 15), and what a restore leaves.
ADMINISTRATORS: Sequence[tuple[Sequence[tuple[str, int]], tuple[int, int]]] = (
    ([("rpcs", 24)], (24, 7)),
    ([("rpcs", 4)], (4, 3)),
    ([("rpcs", 4), ("rpcs", 8)], (8, 3)),
    ([("mod_rpcs", 5)], (8, 5)),
    ([("mod_rpcs", 12)], (13, 12)),
    ([("rpcs", 24), ("rpcs", 8)], (8, 7)),
)


@pytest.mark.parametrize(("writes", "left"), ADMINISTRATORS)
def test_rows_49_50_restore_leaves_what_would_be_had_we_never_run(
    tmp_path: Path, writes: Sequence[tuple[str, int]], left: tuple[int, int]
) -> None:
    fresh, untouched = Mount(tmp_path / "one"), Mount(tmp_path / "other")
    assert fresh.set("mdc", rpcs=64, mod_rpcs=15).exact
    for knob_id, value in writes:
        for served in (fresh.node.metadata, untouched.node.metadata):
            (served.store_rpcs if knob_id == "rpcs" else served.store_mod_rpcs)(str(value))
        fresh.actuator().notice(fresh.target("mdc"))
    fresh.restore()
    assert fresh.now() == untouched.now()
    assert fresh.now()[:2] == left


# What we hold, what an administrator writes one after the other, and what a restore leaves.
TAKEN: Sequence[tuple[tuple[int, int], Sequence[tuple[str, int]], tuple[int, int]]] = (
    ((2, 1), [("mod_rpcs", 5)], (8, 5)),
    ((2, 1), [("mod_rpcs", 5), ("rpcs", 5)], (5, 4)),
    ((2, 1), [("rpcs", 5)], (5, 4)),
    ((64, 15), [("rpcs", 4), ("mod_rpcs", 9)], (10, 9)),
)


@pytest.mark.parametrize(("held", "writes", "left"), TAKEN)
def test_rows_49_50_of_two_limits_that_moved_each_other_one_is_its_administrators(
    mount: Mount, held: tuple[int, int], writes: Sequence[tuple[str, int]], left: tuple[int, int]
) -> None:
    """A store moves both limits, and each could follow from the other."""
    assert mount.set("mdc", rpcs=held[0], mod_rpcs=held[1]).exact
    for knob_id, value in writes:
        served = mount.node.metadata
        (served.store_rpcs if knob_id == "rpcs" else served.store_mod_rpcs)(str(value))
        mount.actuator().notice(mount.target("mdc"))
    assert mount.actuator().yielded(mount.target("mdc")) == {knob_id for knob_id, _ in writes}
    mount.restore()
    assert mount.now()[:2] == left


def test_row_49_the_other_limit_goes_on_being_tuned(mount: Mount) -> None:
    assert mount.set("mdc", rpcs=64, mod_rpcs=15).exact
    mount.node.metadata.store_rpcs("24")
    receipt = mount.set("mdc", rpcs=32, mod_rpcs=12)
    assert receipt.actual == Setting(rpcs=24, mod_rpcs=12)
    assert receipt.error is not None
    assert "administrator" in receipt.error
    # A value that would move what is its administrator's is cut.
    assert mount.set("mdc", mod_rpcs=30).actual["rpcs"] == 24
    mount.restore()
    assert mount.now()[:2] == (24, 7)


def test_files_of_metadata_are_opened_for_listed_names_only(mount: Mount) -> None:
    actuator = mount.actuator()
    mdc, ahead = mount.target("mdc"), mount.target("statahead")
    for name in (
        "../lustre-MDT0000-mdc-ff11",
        "lustre-MDT0000-mdc-MDT0001",
        "/etc",
        "lustre-OST0000-osc-ff11aa",
    ):
        with pytest.raises(DataError):
            actuator.open(Target(name, "lustre", kind=mdc.kind))
        with pytest.raises(DataError):
            actuator.open(Target(f"{name}-statahead", "lustre", mount="elsewhere", kind=ahead.kind))
    with pytest.raises(KnobError):
        actuator.set(mdc, Setting(max_dirty_mb=1))
