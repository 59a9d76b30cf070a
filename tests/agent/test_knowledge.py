"""What a node measured is there after a restart, and nothing that is wrong with the file costs more than that."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.rigs.agents import AgentProcess, agent, knobs
from tests.rigs.served import Served, wait_for

from penstock.agent.containment import contained
from penstock.agent.knowledge import ASIDE, FILE, SAVE_S, KnowledgeFile
from penstock.agent.loop import ticks
from penstock.decide.memory import Memories, Remembered, WorkMemory
from penstock.decide.memoryfile import DatedMemory, dump
from penstock.decide.objective import Rates
from penstock.decide.policies.climb import ClimbPolicy
from penstock.decide.work import Work
from penstock.evaluate.simulated_client import Tuning, simulated_client
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation
from penstock.spaces import LUSTRE
from penstock.window import Window

HOME, SMALL, TINY = Setting(pages=1024, flight=8), Setting(pages=64, flight=16), Setting(pages=8, flight=1)
READS = Work("read", 20.0)


def memory(fs: str = "fs", read: float = 2e8, work: Work = READS) -> WorkMemory:
    settings = {
        HOME: Remembered(Rates(1e8, 1e8, 4.0, 4.0), 20, 0.02),
        SMALL: Remembered(Rates(read, read, 4.0, 4.0), 20, 0.02),
    }
    return WorkMemory(fs, work, settings)


def tune(state: Path, policy: str, seconds: float, seed: int) -> tuple[list[tuple[str, Setting]], float]:
    """One life of a guarded tuner in a simulated client: the changes it made, and the bytes that were read."""
    plan = named_plan(builtin_cluster("c220g5"), "s_rd_rn_1m", 1, seed)
    simulation = Simulation(plan)
    simulation.run_until(2.0)
    kept, client = KnowledgeFile(state), simulated_client(simulation, Tuning(policy, guard=True))
    client.tuner.recall(kept.load())
    loop = ticks(client)
    moves, read = [], 0.0
    while simulation.now_s < 2.0 + seconds:
        for step in next(loop):
            read += step.window.metrics.get("app.read_bytes", 0.0) if isinstance(step.window, Window) else 0.0
            if step.decision is not None and step.decision.changes:
                moves.append((step.decision.reason, step.decision.wanted.only("pages", "flight")))
    kept.keep(client.tuner.remembered(), seed)
    return moves, read


def test_a_restarted_tuner_takes_the_proven_setting_as_its_first_change(tmp_path: Path) -> None:
    first, _ = tune(tmp_path, "weir", 25.0, 7)
    assert len(first) > 1
    assert first[0][0] == "promising"
    (known,) = (one.settings for one in KnowledgeFile(tmp_path).load())
    again, _ = tune(tmp_path, "weir", 8.0, 8)
    assert again[0][0] == "remembered"
    assert again[0][1] in [setting for _, setting in first]
    assert known[again[0][1]].rates.read >= 0.95 * max(one.rates.read for one in known.values())


def test_a_world_that_changed_meanwhile_is_left_within_the_guards_bound(
    tmp_path: Path,
) -> None:
    tune(tmp_path, "weir", 15.0, 7)
    document = json.loads((tmp_path / FILE).read_text())
    original, tiny = (document["units"][0]["settings"][0] | {"knobs": dict(s)} for s in (HOME, TINY))
    document["units"][0]["settings"] = [original, tiny | {"read": 5.0 * original["read"]}]
    (tmp_path / FILE).write_text(json.dumps(document))
    moves, read = tune(tmp_path, "weir", 40.0, 8)
    _, plain = tune(tmp_path / "none", "default", 40.0, 8)
    assert moves[0] == ("remembered", TINY)
    assert read >= 0.95 * plain
    assert TINY not in [setting for _, setting in moves[1:]]


def test_what_is_remembered_beyond_the_guards_reach_is_not_asked_for(tmp_path: Path) -> None:
    """Otherwise the policy would ask for it, be refused, and try nothing else."""
    tune(tmp_path, "weir", 15.0, 7)
    document = json.loads((tmp_path / FILE).read_text())
    settings = document["units"][0]["settings"]
    original = next(one for one in settings if one["knobs"] == dict(HOME))
    far = original | {"knobs": {"pages": 1, "flight": 1}, "read": 5.0 * original["read"]}
    document["units"][0]["settings"] = [original, far]
    (tmp_path / FILE).write_text(json.dumps(document))
    moves, _ = tune(tmp_path, "weir", 20.0, 8)
    assert moves
    assert moves[0][0] == "promising"


@pytest.mark.parametrize(
    "raw", [b"\x00", b"{}", b'{"schema":"penstock-knowledge","version":2,"units":[]}', b" " * (5 << 20)]
)
def test_a_file_that_cannot_be_used_is_put_aside_and_said_once(
    tmp_path: Path, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(raw)
    kept = KnowledgeFile(tmp_path)
    assert kept.load() == []
    assert len(caplog.records) == 1
    assert (tmp_path / ASIDE).read_bytes() == raw
    kept.keep([memory()], 1.0)
    assert [one.fs for one in KnowledgeFile(tmp_path).load()] == ["fs"]


def test_a_file_that_others_may_write_or_a_link_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(dump([DatedMemory(memory(), 1.0)]))
    (tmp_path / FILE).chmod(0o622)
    assert KnowledgeFile(tmp_path).load() == []
    (tmp_path / "true.json").write_bytes(dump([DatedMemory(memory(), 1.0)]))
    (tmp_path / FILE).symlink_to("true.json")
    assert KnowledgeFile(tmp_path).load() == []


def test_other_work_stays_known_and_the_file_is_private_and_written_only_for_news(tmp_path: Path) -> None:
    kept = KnowledgeFile(tmp_path)
    kept.keep([memory("a"), memory("b")], 1.0)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    kept = KnowledgeFile(tmp_path)
    kept.load()
    (tmp_path / FILE).unlink()
    kept.keep([memory("a")], 2.0)
    assert not (tmp_path / FILE).exists()
    kept.keep_when_due(lambda: [memory("a", 3e8)], 3.0)
    assert not (tmp_path / FILE).exists()
    kept.keep_when_due(lambda: [memory("a", 3e8)], 3.0 + SAVE_S)
    assert [(one.fs, one.settings[SMALL].rates.read) for one in KnowledgeFile(tmp_path).load()] == [
        ("b", 2e8),
        ("a", 3e8),
    ]


def test_a_directory_that_cannot_be_written_costs_only_the_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = KnowledgeFile(tmp_path / "gone")
    for i in range(3):
        kept.keep([memory(read=1e8 + i)], float(i))
    assert len(caplog.records) == 1


def _rpc_changes(running: AgentProcess) -> list[dict[str, Any]]:
    """The decisions about RPCs; the node's cache is shared anew beside them."""
    made = running.events("decision")
    return [one for one in made if any(what.startswith(("pages", "flight")) for what in one["made"])]


def test_an_agent_takes_up_what_it_remembers_says_so_and_keeps_what_it_finds(
    client: Served, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o750)
    work = Work("both", 20.0)
    before = knobs(client)
    KnowledgeFile(state).keep([memory(client.osc().split("-OST")[0], 2e8, work)], 1.0)
    with agent(client, state, "--mode", "tune", "--policy", "weir") as running:
        wait_for(lambda: bool(_rpc_changes(running)))
        first = _rpc_changes(running)[0]
        assert first["reason"] == "remembered"
        assert (first["wanted"]["pages"], first["wanted"]["flight"]) == (64, 16)
        (said,) = running.events("remembered")
        assert said["unit"]["kind"] == "both"
        assert len(said["unit"]["settings"]) == 2
        ticks_then = running.ask("status")["ticks"]
        wait_for(lambda: running.ask("status")["ticks"] > ticks_then + 10)
        assert running.stop() == 0
    assert knobs(client) == before
    (kept,) = KnowledgeFile(state).load()
    # What the original brings today was measured anew.
    assert kept.settings[HOME].rates.read != 1e8
    assert kept.fs == "lustre"


class Forgetful(ClimbPolicy):
    """Somebody else's policy whose memory is broken."""

    def remembered(self) -> Memories:
        return {HOME: Remembered(Rates(math.nan, 0.0), 3, 0.1)}

    def recall(self, memories: Memories) -> None:
        raise KeyError("nothing")


def test_a_policy_whose_memory_is_broken_keeps_nothing_and_harms_nobody() -> None:
    said: list[str] = []
    policy = contained(Forgetful, said.append)(LUSTRE, Random(1))
    policy.recall({})
    assert policy.remembered() == {}
    assert len(said) == 1
