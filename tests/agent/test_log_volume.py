"""A day of a restless agent on a troubled node leaves less than a megabyte in the journal."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from penstock.agent.plugins import find_policy
from penstock.agent.rate_limited_log import RateLimitedLog
from penstock.agent.service import Agent
from penstock.agent.settings import AgentConfig, GuardSection, Mode
from penstock.agent.startup import Places
from penstock.decision import Receipt
from penstock.knobs import KnobSpace, Setting
from penstock.ports import Ports
from penstock.snapshot import NodeSnapshot, Problem, Target, TargetSnapshot
from penstock.spaces import LUSTRE

DAY_S = 86400.0
INTERVAL_S = 10.0
JOURNAL_LIMIT_BYTES = 1_000_000


class RestlessNode:
    """Targets that are always busy, one source that is always in trouble; clock, observer and actuator."""

    def __init__(self, count: int) -> None:
        self.t_s = 0.0
        targets = [Target(f"s-OST{i:04x}-osc-ff11", "s", f"OST{i:04x}") for i in range(count)]
        self._settings = dict.fromkeys(targets, LUSTRE.default)

    def now(self) -> float:
        return self.t_s

    def sleep_until(self, t_s: float) -> None:
        self.t_s = t_s

    def observe(self) -> NodeSnapshot:
        moved = {"write.bytes": self.t_s * 1e9, "write.rpcs": self.t_s * 1e3, "write.usec": self.t_s * 1e6}
        seen = tuple(
            TargetSnapshot(target, self.t_s, setting, moved) for target, setting in self._settings.items()
        )
        trouble = Problem("s-OST00ff-osc-ff11", f"stale: a read of its files blocks for {self.t_s:.0f} s")
        return NodeSnapshot(self.t_s, seen, problems=(trouble,))

    def space(self, target: Target) -> KnobSpace:
        return LUSTRE

    def get(self, target: Target) -> Setting:
        return self._settings[target]

    def original(self, target: Target) -> Setting:
        return LUSTRE.default

    def set(self, target: Target, wanted: Setting) -> Receipt:
        self._settings[target] = LUSTRE.settle(self._settings[target], wanted)
        return Receipt(target, wanted, self._settings[target], error="read-back differs")

    def restore(self, target: Target) -> Receipt:
        return self.set(target, LUSTRE.default)


@pytest.mark.slow
def test_a_day_of_virtual_time_floods_no_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = RestlessNode(2)
    config = AgentConfig(
        mode=Mode.TUNE,
        interval_s=INTERVAL_S,
        guard=GuardSection(pause_s=INTERVAL_S, fair_share=0.0),
        log_max_bytes=200_000,
        log_keep=3,
    )
    agent = Agent(config, Places(tmp_path, tmp_path / "state"), find_policy("random"))
    agent.loop.ports = Ports(node, node, node)
    agent.messages = RateLimitedLog(logging.getLogger("penstock.agent.service"), node.now)
    size = lines = 0
    with caplog.at_level(logging.INFO):
        while node.t_s < DAY_S:
            node.sleep_until(node.t_s + INTERVAL_S)
            agent.tick()
            for record in caplog.records:
                size += len(f"penstock {record.levelname} {record.getMessage()}\n")
                lines += 1
            caplog.clear()
    changes = sum(agent.ledger.changes.values())
    assert changes > 5000
    assert 24 * 100 < lines < changes
    assert size < JOURNAL_LIMIT_BYTES
    decision_logs = list((tmp_path / "state").glob("decisions.jsonl*"))
    assert len(decision_logs) <= config.log_keep + 1
    assert sum(path.stat().st_size for path in decision_logs) <= (config.log_keep + 1) * config.log_max_bytes
    assert agent.log.lost == 0
