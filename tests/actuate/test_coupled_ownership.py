"""Metadata and readahead whoever did what, in any order: a restore leaves what would be had we never run."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tests.rigs.served import SteadyClient
from tests.tree_system import KilledError, TreeSystem

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.actuate.recovery import restore_all
from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.tree import File
from penstock.emulate.treelayout import load_layout
from penstock.knobs import Setting
from penstock.knobs.target_kind import METADATA, READAHEAD
from penstock.snapshot import Target

OURS: Mapping[str, Sequence[int]] = {
    "rpcs": (2, 4, 8, 16, 64),
    "mod_rpcs": (1, 3, 7, 15),
    "ahead_total": (64, 256, 1024),
    "ahead_file": (4, 32, 128),
    "ahead_whole": (2, 16, 64),
    "ahead_async": (2, 8, 128),
}
# Never a value of ours, or nobody could tell who wrote it. The last one of mod_rpcs is more than the server allows.
THEIRS: Mapping[str, Sequence[int]] = {
    "rpcs": (5, 6, 12, 100),
    "mod_rpcs": (2, 5, 9, 40),
    "ahead_total": (10, 20, 100, 700),
    "ahead_file": (5, 21, 77),
    "ahead_whole": (3, 11, 29),
    "ahead_async": (1, 7, 25),
}
FILES = {
    "rpcs": ("mdc", "max_rpcs_in_flight"),
    "mod_rpcs": ("mdc", "max_mod_rpcs_in_flight"),
    "ahead_total": ("llite", "max_read_ahead_mb"),
    "ahead_file": ("llite", "max_read_ahead_per_file_mb"),
    "ahead_whole": ("llite", "max_read_ahead_whole_mb"),
    "ahead_async": ("llite", "read_ahead_async_file_threshold_mb"),
}
KINDS = {"mdc": ("rpcs", "mod_rpcs"), "readahead": tuple(knob_id for knob_id in FILES if "ahead" in knob_id)}
NEVER = 10**9
Step = tuple[str, Mapping[str, int], int]


class Node:
    """A served client, and commands that may be killed at any call."""

    def __init__(self, directory: Path, kind: str) -> None:
        self.root, self.state, self.kind = str(directory / "root"), directory / "state", kind
        (directory / "root/proc").mkdir(parents=True)
        (directory / "root/proc/meminfo").write_text("MemTotal: 4007120 kB\n")
        self.served = ServedNode(NodePlan(load_layout("2.15"), 1, 4.0, mod_rpcs=16), SteadyClient())

    def now(self) -> Setting:
        """What the files of this kind hold."""
        return Setting({knob_id: int(self._file(knob_id).text()) for knob_id in KINDS[self.kind]})

    def write(self, knob_id: str, value: int) -> bool:
        """As an administrator does. Returns whether the kernel took it."""
        try:
            self._file(knob_id).store(f"{value}\n")
        except OSError:
            return False
        return True

    def tune(self, wanted: Mapping[str, int], calls: int = NEVER) -> None:
        """One change of ours."""
        actuator = self._actuator(calls)
        actuator.set(self._target(actuator), Setting(wanted))

    def notice(self) -> None:
        """What an agent does in every pass."""
        actuator = self._actuator()
        actuator.notice(self._target(actuator))

    def restore(self, calls: int = NEVER) -> None:
        """What the next start of an agent, or its administrator, does."""
        restore_all(self.root, self.state, TreeSystem(self.served, self.root, calls))

    def _file(self, knob_id: str) -> File:
        place, name = FILES[knob_id]
        return next(
            file
            for path, file in self.served.tree.files.items()
            if f"/{place}/" in path and path.endswith(f"/{name}")
        )

    def _actuator(self, calls: int = NEVER) -> NodeActuator:
        system = TreeSystem(self.served, self.root, calls)
        journal = Journal(self.state, owner_of(self.root), system)
        return NodeActuator(
            self.root, journal, Reach(sections=frozenset({METADATA, READAHEAD})), system=system
        )

    def _target(self, actuator: NodeActuator) -> Target:
        return next(one for one in actuator.targets() if one.kind.name == self.kind)


@st.composite
def stories(draw: st.DrawFn) -> tuple[str, list[Step]]:
    """A kind of target, and who does what to it."""
    kind = draw(st.sampled_from(list(KINDS)))
    ours = {knob_id: st.sampled_from(OURS[knob_id]) for knob_id in KINDS[kind]}
    theirs = st.sampled_from([(knob_id, value) for knob_id in KINDS[kind] for value in THEIRS[knob_id]])
    calls = st.one_of(st.just(NEVER), st.integers(1, 200))
    tune = st.tuples(st.just("tune"), st.fixed_dictionaries({}, optional=ours), calls)
    write = st.tuples(st.just("write"), theirs.map(lambda one: dict([one])), st.just(NEVER))
    nothing: Mapping[str, int] = {}
    restore = st.tuples(st.just("restore"), st.just(nothing), calls)
    return kind, draw(st.lists(st.one_of(tune, write, tune, write, restore), max_size=8))


@example(
    story=(
        "mdc",
        [
            ("tune", {"rpcs": 2, "mod_rpcs": 1}, NEVER),
            ("write", {"mod_rpcs": 5}, NEVER),
            ("write", {"rpcs": 5}, NEVER),
        ],
    )
)
@example(
    story=(
        "readahead",
        [
            ("tune", {"ahead_whole": 2}, NEVER),
            ("write", {"ahead_file": 21}, NEVER),
            ("write", {"ahead_total": 20}, NEVER),
        ],
    )
)
@settings(max_examples=150, deadline=None)
@given(story=stories())
def test_rows_49_50_restore_leaves_what_would_be_had_we_never_run(story: tuple[str, list[Step]]) -> None:
    kind, steps = story
    with tempfile.TemporaryDirectory() as directory:
        node, untouched = Node(Path(directory) / "one", kind), Node(Path(directory) / "other", kind)
        for what, values, calls in steps:
            if what == "write":
                ((knob_id, value),) = values.items()
                before = node.now()
                taken = node.write(knob_id, value)
                # What leaves no trace, or is refused to one of the two only, nobody can make good.
                assume(untouched.write(knob_id, value) == taken)
                assume(node.now() != before or untouched.now() == node.now())
                node.notice()
                assert node.now()[knob_id] == (value if taken else before[knob_id])
                continue
            try:
                if what == "tune":
                    node.tune(values, calls)
                else:
                    node.restore(calls)
            except KilledError:
                node.restore()
        node.restore()
        assert node.now() == untouched.now()
