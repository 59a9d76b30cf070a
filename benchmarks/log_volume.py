"""How much a whole agent writes in a day of virtual time on simulated targets.

Usage: ./run bench log_volume [--hours 24] [--interval 0.5] [--targets 2]
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.agent.plugins import find_policy
from penstock.agent.rate_limited_log import RateLimitedLog
from penstock.agent.service import Agent
from penstock.agent.settings import AgentConfig, Mode
from penstock.agent.startup import Places
from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Ports
from penstock.snapshot import NodeSnapshot, Problem, Target
from penstock.testing.queueing import Hardware, Load, QueueingTarget

HOUR_S = 3600.0


class CountingHandler(logging.Handler):
    """Adds up what would have gone to the journal."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines = self.bytes = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += 1
        self.bytes += len(f"penstock {record.levelname} {record.getMessage()}\n".encode())


@dataclass
class SimulatedNode:
    """Several targets on one clock; one source is always in trouble, as some are on any real node."""

    members: Sequence[QueueingTarget]
    _by_target: dict[Target, QueueingTarget] = field(init=False)

    def __post_init__(self) -> None:
        self._by_target = {member.target: member for member in self.members}

    def now(self) -> float:
        return self.members[0].now()

    def sleep_until(self, t_s: float) -> None:
        for member in self.members:
            member.sleep_until(t_s)

    def observe(self) -> NodeSnapshot:
        seen = [member.observe().targets[0] for member in self.members]
        trouble = Problem("home-OST0000-osc-1", f"stale: a read of its files blocks for {self.now():.0f} s")
        return NodeSnapshot(self.now(), tuple(seen), problems=(trouble,))

    def targets(self) -> list[Target]:
        return list(self._by_target)

    def space(self, target: Target) -> KnobSpace:
        return self._by_target[target].space(target)

    def get(self, target: Target) -> Setting:
        return self._by_target[target].get(target)

    def original(self, target: Target) -> Setting:
        return self._by_target[target].original(target)

    def set(self, target: Target, wanted: Setting) -> Receipt:
        return self._by_target[target].set(target, wanted)

    def restore(self, target: Target) -> Receipt:
        return self._by_target[target].restore(target)


def node(targets: int, hours: float) -> SimulatedNode:
    """Jobs of an hour with another request size and distance each."""
    sizes = (4 << 20, 64 << 10, 1 << 20, 16 << 10)
    members = []
    for index in range(targets):
        loads = [
            Load(hour * HOUR_S, sizes[(hour + index) % len(sizes)], 0.002 * (1 + hour % 3))
            for hour in range(int(hours) + 1)
        ]
        member = QueueingTarget(
            Hardware(1.1e9, 2e-4, 0.1), loads, index, target=Target(f"s-OST000{index}-osc-1", "s")
        )
        members.append(member)
    return SimulatedNode(members)


def measure(hours: float, interval_s: float, targets: int, directory: Path) -> dict[str, float]:
    """Run it and add up."""
    simulated, handler = node(targets, hours), CountingHandler()
    logger = logging.getLogger("penstock.agent.service")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    began_s = time.perf_counter()
    try:
        config = AgentConfig(mode=Mode.TUNE, interval_s=interval_s)
        agent = Agent(config, Places(directory, directory / "state"), find_policy("climb"))
        agent.messages = RateLimitedLog(logger, simulated.now)
        agent.loop.ports = Ports(simulated, simulated, simulated)
        for tick in range(int(hours * HOUR_S / interval_s)):
            simulated.sleep_until(tick * interval_s)
            agent.tick()
    finally:
        logger.removeHandler(handler)
    decisions = sum(path.stat().st_size for path in (directory / "state").glob("decisions.jsonl*"))
    changes = sum(agent.ledger.changes.values())
    return {
        "hours": hours,
        "targets": targets,
        "changes": changes,
        "journal_lines": handler.lines,
        "journal_bytes": handler.bytes,
        "decision_log_bytes": decisions,
        "wall_s": round(time.perf_counter() - began_s, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument("--interval", type=float, default=0.5)
    parser.add_argument("--targets", type=int, default=2)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measure(asked.hours, asked.interval, asked.targets, Path(directory)), indent=2))


if __name__ == "__main__":
    main()
