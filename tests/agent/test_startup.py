"""Starting: a stop at any instant, nothing that holds up the first look, compiling beside the loop or never."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from random import Random

import pytest
from benchmarks.startup import measure
from tests.rigs.agents import agent
from tests.rigs.kills import all_knobs
from tests.rigs.served import Served, served, wait_for

from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lustre import LustreActuator
from penstock.agent.compiling import FEWEST_TARGETS, Compiling
from penstock.agent.settings import Compile
from penstock.decide.policies import POLICY_NAMES
from penstock.knobs import Setting
from penstock.predict.kinds import default_predictor
from penstock.predict.model import ForestPredictor
from penstock.spaces import LUSTRE

pytestmark = pytest.mark.live

KILLS = 8
PATIENCE_S = 300.0


def leave_tuned(client: Served, state: Path) -> None:
    """What an agent that died leaves behind: a knob turned, its original in the journal."""
    actuator = LustreActuator(client.root, Journal(state, owner_of(client.root)))
    target = next(target for target in actuator.targets() if target.resource == "OST0000")
    receipt = actuator.set(target, Setting(pages=256, flight=64))
    assert receipt.error is None


def catches(process: subprocess.Popen[str], number: int) -> bool:
    """Whether a process answers a signal itself by now."""
    text = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    caught = next(line for line in text.splitlines() if line.startswith("SigCgt:")).split()[1]
    return bool(int(caught, 16) >> (number - 1) & 1)


def start(client: Served, state: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "penstock", "agent", "run", "--mode", "tune", "--policy", "carat"]
    command += ["--root", str(client.root), "--state-dir", str(state)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_stop_at_any_instant_of_starting_exits_zero(client: Served, tmp_path: Path) -> None:
    state, originals, rng = tmp_path / "state", all_knobs(client), Random(44)
    state.mkdir(mode=0o750)
    longest_s = time_to_answer(client, state)
    for _ in range(KILLS):
        if all_knobs(client) == originals:
            leave_tuned(client, state)
        left = all_knobs(client)
        with start(client, state) as process:
            wait_for(lambda: catches(process, signal.SIGTERM))
            time.sleep(rng.uniform(0.0, longest_s))
            process.send_signal(signal.SIGTERM)
            _, said = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, said
        assert "Traceback" not in said
        assert all_knobs(client) in (left, originals)


def time_to_answer(client: Served, state: Path) -> float:
    """From the first moment it answers a signal until it works."""
    with start(client, state) as process:
        wait_for(lambda: catches(process, signal.SIGTERM))
        began_s = time.monotonic()
        wait_for((state / "control.sock").exists)
        took_s = time.monotonic() - began_s
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    return took_s


@pytest.mark.parametrize("policy", POLICY_NAMES)
def test_no_policy_loads_a_compiler_to_start(policy: str, client: Served, tmp_path: Path) -> None:
    with agent(client, tmp_path / "state", "--policy", policy) as running:
        wait_for(lambda: running.ask("status")["ticks"] > 2)
        maps = Path(f"/proc/{running.process.pid}/maps").read_text(encoding="utf-8")
        assert "llvmlite" not in maps
        assert running.stop() == 0


@pytest.mark.parametrize("policy", ["weir", "carat"])
def test_first_counters_are_read_before_the_first_window(policy: str, tmp_path: Path) -> None:
    with served(tmp_path, layout="2.15", osts=8, plain=True) as client:
        first_look_s, first_window_s = measure(sys.executable, policy, client.root)
    # `./run bench startup` says how much.
    assert 0.0 < first_look_s <= first_window_s


def test_few_targets_are_never_compiled_for_unless_asked(tmp_path: Path) -> None:
    for wish, targets, compiles in (
        (Compile.AUTO, FEWEST_TARGETS - 1, False),
        (Compile.AUTO, FEWEST_TARGETS, True),
        (Compile.ALWAYS, 1, True),
        (Compile.NEVER, 10_000, False),
    ):
        predictor = Slow(default_predictor("forest"))
        predictor.may_end.set()
        Compiling(predictor, wish, tmp_path).consider(targets)
        assert predictor.asked.wait(PATIENCE_S if compiles else 0.1) is compiles


def _switched(compiling: Compiling, predictor: ForestPredictor) -> bool:
    """Whether compiled code answers after another look."""
    compiling.consider(1)
    return predictor.compiled_walk


def test_compiling_never_holds_up_a_look(tmp_path: Path) -> None:
    predictor = Slow(default_predictor("forest"))
    compiling = Compiling(predictor, Compile.ALWAYS, tmp_path)
    compiling.consider(1)
    assert predictor.asked.wait(PATIENCE_S)
    compiling.consider(1)
    before = predictor.outlooks("read", [()], LUSTRE.candidates())[0]
    assert not predictor.compiled_walk
    predictor.may_end.set()
    wait_for(lambda: _switched(compiling, predictor))
    after = predictor.outlooks("read", [()], LUSTRE.candidates())[0]
    assert list(after.probabilities) == pytest.approx(list(before.probabilities))
    assert predictor.calls == 1


class Slow(ForestPredictor):
    """Compiles for as long as it is told to."""

    def __init__(self, like: object) -> None:
        assert isinstance(like, ForestPredictor)
        super().__init__(like.model)
        self.asked, self.may_end, self.calls = threading.Event(), threading.Event(), 0

    def compile(self) -> bool:
        self.calls += 1
        self.asked.set()
        self.may_end.wait(PATIENCE_S)
        return super().compile()
