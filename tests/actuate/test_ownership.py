"""Whatever we, administrators, servers and the kernel do in any order, and wherever we are killed:
one restore leaves originals and administrators' values, nothing else."""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.rigs.served import SteadyClient
from tests.tree_system import KilledError, TreeSystem

from penstock.actuate.journal import Entry, Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all
from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.stores import visible_bytes
from penstock.emulate.treelayout import load_layout
from penstock.knobs import Setting
from penstock.spaces import lustre
from penstock.units import KIB

FILES = {"pages": "max_pages_per_rpc", "flight": "max_rpcs_in_flight", "dirty": "max_dirty_mb"}
OURS = {"pages": (16, 64, 256, 512, 1024), "flight": (1, 8, 16, 256), "dirty": (32, 64, 490, 900)}
THEIRS = {"pages": (300, 301), "flight": (77, 78), "dirty": (123, 124)}


class Client(RuleBasedStateMachine):
    """A client that anybody may touch at any time."""

    ram_gib, bulk_pages = 4.0, (128, 256, 1024)

    @initialize(layout=st.sampled_from(["2.15", "2.17"]))
    def start(self, layout: str) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        root = Path(self.temporary.name) / "root"
        (root / "proc").mkdir(parents=True)
        (root / "proc/meminfo").write_text(f"MemTotal: {visible_bytes(self.ram_gib) // KIB} kB\n")
        self.root, self.state = str(root), Path(self.temporary.name) / "state"
        plan = NodePlan(load_layout(layout), 1, self.ram_gib, self.bulk_pages[-1])
        self.node, self.untuned = (ServedNode(plan, SteadyClient()) for _ in range(2))
        self.rightful: dict[str, set[int]] = {knob_id: set() for knob_id in FILES}
        # What others set since we last looked, which is when we set something or give it back.
        self.unseen: set[str] = set()
        self.remember()

    def now(self) -> Setting:
        return self.node.osc("OST0000").setting

    def remember(self) -> None:
        """A client that only others touched may hold such values."""
        for knob_id, value in self.untuned.osc("OST0000").setting.items():
            self.rightful[knob_id].add(value)

    def actuator(self, calls: int = 10**9) -> LustreActuator:
        system = TreeSystem(self.node, self.root, calls)
        return LustreActuator(self.root, Journal(self.state, owner_of(self.root), system), system=system)

    @rule(
        wanted=st.fixed_dictionaries({}, optional={k: st.sampled_from(v) for k, v in OURS.items()}),
        calls=st.one_of(st.just(10**9), st.integers(1, 260)),
    )
    def tune(self, wanted: dict[str, int], calls: int) -> None:
        """We set some knobs, in a process that may be killed at any call."""
        try:
            mine = self.actuator(calls)
            mine.set(mine.targets()[0], Setting(wanted))
            self.unseen = set()
        except KilledError:
            pass

    @rule(knob_id=st.sampled_from(list(FILES)), which=st.integers(0, 1))
    def administrate(self, knob_id: str, which: int) -> None:
        """Somebody else sets a knob."""
        traceless = self.now()[knob_id] == THEIRS[knob_id][which]
        for node in (self.node, self.untuned):
            with contextlib.suppress(OSError):
                node.osc("OST0000").write(FILES[knob_id], str(THEIRS[knob_id][which]))
        if knob_id != "dirty" and (traceless or self.unseen & {"dirty", knob_id}):
            # Their store may have raised their own max_dirty_mb further than it would have without our knobs. What a
            # value made of it that they replaced before we looked cannot be known: the journal never held it. And
            # storing the value that is there already shows in max_dirty_mb alone, as if they had written that.
            self.rightful["dirty"].add(self.now()["dirty"])
        self.unseen.add(knob_id)
        self.remember()

    @rule(which=st.integers(0, 2))
    def reconnect(self, which: int) -> None:
        """The server comes back, perhaps with another bulk size."""
        brw_pages = self.bulk_pages[which]
        cut = "pages" in self.unseen and self.now()["pages"] > brw_pages
        for node in (self.node, self.untuned):
            node.osc("OST0000").reconnect(brw_pages)
        # Bulk sizes that came and went unseen cannot be known: as much of the original as fits is right.
        self.rightful["pages"] |= {min(value, brw_pages) for value in self.rightful["pages"]}
        if cut or "dirty" in self.unseen:
            # Nor can what a request size that we never saw made of max_dirty_mb, nor theirs that connecting raised.
            self.rightful["dirty"].add(self.now()["dirty"])
        if len(self.rightful["pages"]) > 1:
            # Whichever of these the original is, connecting raises max_dirty_mb to what it needs.
            space = lustre(visible_bytes(self.ram_gib))
            for pages, flight, dirty in itertools.product(*(sorted(self.rightful[k]) for k in FILES)):
                connected = Setting(pages=min(pages, brw_pages), flight=flight, dirty=dirty)
                self.rightful["dirty"].add(space.store(connected, "pages", connected["pages"])["dirty"])
        self.remember()

    @rule(calls=st.one_of(st.just(10**9), st.integers(1, 200)))
    def restore(self, calls: int) -> None:
        """Restoring may be killed as well; the next one finishes the work."""
        held = {knob_id: value for knob_id, value in self.now().items() if value in THEIRS[knob_id]}
        try:
            restore_all(self.root, self.state, TreeSystem(self.node, self.root, calls))
        except KilledError:
            restore_all(self.root, self.state, TreeSystem(self.node, self.root))
        after = self.now()
        for knob_id, value in after.items():
            assert value in self.rightful[knob_id], (knob_id, value, self.rightful)
            assert knob_id not in held or value == held[knob_id], f"overwrote {knob_id}={held[knob_id]}"
        self.untuned.osc("OST0000").setting = after
        self.unseen = set()
        self.rightful = {knob_id: {value} for knob_id, value in after.items()}

    @invariant()
    def nothing_left_open(self) -> None:
        """Every rule leaves a client that can still be read."""
        if hasattr(self, "node"):
            assert set(self.now()) == set(FILES)

    def teardown(self) -> None:
        if hasattr(self, "temporary"):
            self.restore(10**9)
            self.temporary.cleanup()


class LargeClient(Client):
    """One whose RPC knobs raise max_dirty_mb beyond what anybody may write there."""

    ram_gib, bulk_pages = 64.0, (256, 1024, 4096)

    @rule(flight=st.sampled_from([8, 128, 256]), calls=st.one_of(st.just(10**9), st.integers(100, 260)))
    def tune_wide(self, flight: int, calls: int) -> None:
        """We allow gigabytes in flight."""
        self.tune({"pages": 4096, "flight": flight}, calls)

    @rule(flight=st.sampled_from([8, 256]))
    def administrate_wide(self, flight: int) -> None:
        """Somebody else does."""
        self.unseen |= {"pages", "flight"}
        for node in (self.node, self.untuned):
            for knob_id, value in (("pages", 4096), ("flight", flight)):
                with contextlib.suppress(OSError):
                    node.osc("OST0000").write(FILES[knob_id], str(value))
        self.rightful["dirty"].add(self.now()["dirty"])
        self.remember()


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
def test_limit_beyond_what_may_be_written_is_known_as_ours_wherever_we_are_killed(layout: str) -> None:
    client = LargeClient()
    client.start(layout)
    original, raised = client.now(), set()
    for calls in itertools.count(1):
        try:
            mine = client.actuator(calls)
            mine.set(mine.targets()[0], Setting(pages=4096, flight=256))
            ended = True
        except KilledError:
            ended = False
        raised.add(client.now()["dirty"])
        restore_all(client.root, client.state, TreeSystem(client.node, client.root))
        assert client.now() == original, f"killed at call {calls}"
        if ended:
            break
    assert raised == {2000, 4096}
    client.teardown()


LEFT_BEHIND = Setting(pages=4096, flight=8, dirty=4096)


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
@pytest.mark.parametrize("flight", [256, 8])
def test_limit_that_nobody_may_write_is_never_moved(layout: str, flight: int) -> None:
    """An administrator's flight of 256 raised it, and going back to 8 leaves it there."""
    client = LargeClient()
    client.start(layout)
    client.administrate_wide(256)
    client.administrate_wide(flight)
    original = client.now()
    assert original == LEFT_BEHIND.replace(flight=flight)
    mine = client.actuator()
    (target,) = mine.targets()
    assert mine.space(target)["dirty"].floor == mine.space(target)["dirty"].ceiling
    receipt = mine.set(target, Setting(pages=64, flight=16, dirty=32))
    assert receipt.error == "dirty=4096 cannot be written back: left alone"
    assert receipt.actual == client.now() == Setting(pages=64, flight=16, dirty=4096)
    restore_all(client.root, client.state, TreeSystem(client.node, client.root))
    assert client.now() == original
    client.teardown()


def test_limit_that_nobody_may_write_is_not_raised_by_way_of_others() -> None:
    client = LargeClient()
    client.start("2.15")
    client.administrate_wide(200)
    original = client.now()
    assert original["dirty"] == 3200
    mine = client.actuator()
    receipt = mine.set(mine.targets()[0], Setting(flight=256))
    assert "cannot be written back" in (receipt.error or "")
    assert client.now() == original
    client.teardown()


@pytest.mark.parametrize("layout", ["2.15", "2.17"])
@pytest.mark.parametrize(
    ("flights", "ours"),
    [
        ((256, 8), {"dirty": 32}),
        ((200, 8), {"dirty": 900}),
        ((256,), {"pages": 64, "flight": 256, "dirty": 64}),
        ((200, 3), {"pages": 4096, "flight": 256, "dirty": 4096}),
    ],
)
def test_limit_that_an_earlier_version_moved_is_given_back_wherever_we_are_killed(
    layout: str, flights: Sequence[int], ours: dict[str, int]
) -> None:
    client = LargeClient()
    client.start(layout)
    for flight in flights:
        client.administrate_wide(flight)
    original, moved = client.now(), client.now().replace(ours)
    possible = {knob_id: frozenset({original[knob_id], moved[knob_id]}) for knob_id in FILES}
    osc = client.node.osc("OST0000")
    for calls in itertools.count(1):
        mine = client.actuator()
        name = mine.targets()[0].name
        mine.journal.record(name, Entry(original, possible, moved, baseline={"brw_pages": osc.brw_pages}))
        osc.setting = moved
        with contextlib.suppress(KilledError):
            restore_all(client.root, client.state, TreeSystem(client.node, client.root, calls))
            break
        restore_all(client.root, client.state, TreeSystem(client.node, client.root))
        assert client.now() == original, f"killed at call {calls}"
    assert client.now() == original
    client.teardown()


def test_limit_that_a_bulk_size_left_behind_which_came_and_went_unseen_is_ours() -> None:
    client = Client()
    client.start("2.15")
    client.tune({"pages": 512, "flight": 256, "dirty": 32}, 10**9)
    client.reconnect(1)
    client.reconnect(0)
    assert client.now()["dirty"] == 256
    client.restore(10**9)
    assert client.now() == Setting(pages=128, flight=8, dirty=490)
    client.teardown()


TestClient = Client.TestCase
TestClient.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
TestLargeClient = LargeClient.TestCase
TestLargeClient.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
