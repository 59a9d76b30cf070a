"""Row 30 of the fault table: whatever is decided, all dirty limits together stay within the node's budget."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from penstock.agent.loop import Loop
from penstock.agent.node_limits import node_view
from penstock.decide.guard import Guard, GuardLimits, NodeView
from penstock.decide.policies.fixed import FixedPolicy
from penstock.decide.tuner import Tuner
from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Ports
from penstock.snapshot import NodeSnapshot, Target, TargetSnapshot
from penstock.spaces import lustre
from penstock.units import GIB

SPACE = lustre(16 * GIB)
# A limit so small that the coupling of the RPC knobs raises it.
USUAL = 64
ORIGINAL = SPACE.default.replace(dirty=USUAL)
TARGETS = tuple(Target(f"fs-OST000{i}-osc-1", "fs", f"OST000{i}") for i in range(3))


@dataclass
class World:
    """Three targets that move 100 MB/s whatever is set: clock, observer and actuator."""

    settings: dict[Target, Setting] = field(default_factory=lambda: dict.fromkeys(TARGETS, ORIGINAL))
    t_s: float = 0.0

    def now(self) -> float:
        return self.t_s

    def sleep_until(self, t_s: float) -> None:
        self.t_s = t_s

    def observe(self) -> NodeSnapshot:
        moved = {"write.bytes": 1e8 * self.t_s, "write.rpcs": 100 * self.t_s, "write.usec": 1e5 * self.t_s}
        seen = (TargetSnapshot(target, self.t_s, self.settings[target], moved) for target in TARGETS)
        return NodeSnapshot(self.t_s, tuple(seen))

    def space(self, target: Target) -> KnobSpace:
        return SPACE

    def get(self, target: Target) -> Setting:
        return self.settings[target]

    def original(self, target: Target) -> Setting:
        return ORIGINAL

    def set(self, target: Target, wanted: Setting) -> Receipt:
        self.settings[target] = SPACE.settle(self.settings[target], wanted)
        return Receipt(target, wanted, self.settings[target])

    def restore(self, target: Target) -> Receipt:
        return self.set(target, ORIGINAL)


def limits_after(wish: Setting, budget_mib: float, tuned: int) -> list[int]:
    """The dirty limits once the first targets were tuned for a while towards a setting, under the guard."""
    world = World()
    tuner = Tuner(lambda space, rng: FixedPolicy(space, rng, wish))
    guard = Guard(GuardLimits(dwell_s=0.0, jitter_s=0.0))
    view, scope = NodeView(budget_mib), TARGETS[:tuned]
    loop = Loop(Ports(world, world, world), tuner, 0.5, guard, lambda: view, lambda target: target in scope)
    for _ in range(20):
        world.sleep_until(world.t_s + 0.5)
        loop.tick()
    return [world.settings[target]["dirty"] for target in TARGETS]


@pytest.mark.parametrize(
    ("wish", "raised"),
    [(Setting(dirty=2047), 2047), (Setting(pages=1024, flight=256), 1024)],
    ids=["a limit", "a coupling"],
)
def test_row_30_limits_rise_only_while_their_sum_fits(wish: Setting, raised: int) -> None:
    fits = 2 * USUAL + raised
    assert limits_after(wish, fits + 1, tuned=3) == [raised, USUAL, USUAL]
    assert limits_after(wish, fits - 1, tuned=3) == [USUAL, USUAL, USUAL]


def test_row_30_targets_that_are_not_tuned_count() -> None:
    fits = 2 * USUAL + 2047
    assert limits_after(Setting(dirty=2047), fits - 1, tuned=1) == [USUAL, USUAL, USUAL]
    assert limits_after(Setting(dirty=2047), fits, tuned=1) == [2047, USUAL, USUAL]


@pytest.mark.parametrize(
    ("meminfo", "own_mib", "budget_mib", "left"),
    [
        ("MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n", None, 1024, 0.25),
        ("MemTotal: 4194304 kB\n", None, 1024, None),
        ("MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n", "600", 600, 0.25),
        ("MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n", "2000", 1024, 0.25),
    ],
)
def test_the_budget_is_a_share_of_memory_or_the_clients_own_limit(
    tmp_path: Path, meminfo: str, own_mib: str | None, budget_mib: float, left: float | None
) -> None:
    for place, text in (("proc/meminfo", meminfo), ("sys/fs/lustre/max_dirty_mb", own_mib)):
        if text is not None:
            (tmp_path / place).parent.mkdir(parents=True)
            (tmp_path / place).write_text(text)
    assert node_view(tmp_path, 0.25) == NodeView(budget_mib, left)


def test_the_budget_is_finite_where_the_tree_says_nothing(tmp_path: Path) -> None:
    assert 0 < node_view(tmp_path, 0.25).dirty_budget_mib < float("inf")
