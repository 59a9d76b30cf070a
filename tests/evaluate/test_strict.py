"""Somebody else's policy in experiments: found by file or by name, and its mistakes end the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import penstock
from penstock.agent.containment import contained
from penstock.agent.plugins import find_policy
from penstock.errors import PenstockError
from penstock.evaluate.drivers import Course
from penstock.evaluate.trial import Trial
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.testing.policies import check_policy

EXAMPLE = Path(__file__).parents[2] / "examples" / "policy"
HEAD = """\
from penstock import Policy, Proposal, Setting

class Mine(Policy):
    name = "mine"

    def propose(self, window, outlook=None):
        if window.t1_s > 1.6:
            {body}
        return Proposal(window.setting, "wait", "not yet")

POLICY = Mine
"""
# what propose() does once 1.6 s have passed -> (line blamed, what is said)
MISTAKES = {
    "return 1 / 0": (8, "ZeroDivisionError: division by zero"),
    "return None": (6, "propose() returned None, not a Proposal"),
    "return Proposal(Setting(pages=64), 'x', 'y')": (6, "a setting without flight, dirty"),
    "return Proposal(window.setting.replace(flight=9999), 'x', 'y')": (6, "flight=9999 is outside"),
    "return Proposal(window.setting.replace(flihgt=9), 'x', 'y')": (6, 'did you mean "flight"'),
    "return Proposal(window.setting.replace(flight=9.5), 'x', 'y')": (6, "flight=9.5, not a whole number"),
    "return Proposal(window.setting, 'x', 'y', {'gain': float('inf')})": (6, "gain=inf, not a finite number"),
    "return Proposal(window.setting, 'x', '')": (6, "the sentence ''"),
}


def written(directory: Path, body: str) -> Path:
    path = directory / "mine.py"
    path.write_text(HEAD.format(body=body))
    return path


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *words],
        capture_output=True, text=True, env={**os.environ, **env}, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("body", MISTAKES)
def test_mistakes_of_a_policy_name_file_line_and_window(tmp_path: Path, body: str) -> None:
    line, said = MISTAKES[body]
    path = written(tmp_path, body)
    world = penstock.Cluster("s_rd_rn_1m", seconds=2, warmup_s=1)
    with pytest.raises(PenstockError) as caught:
        world.play(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert said in str(caught.value)
    assert "window 1.5 to 2.0 s of " in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ("simulate", "run", "--workload", "s_rd_rn_1m", "--seconds", "2", "--warmup", "1"),
        ("evaluate", "static", "--only", "s_rd_rn_1m", "--seconds", "2", "--fresh", "--workers", "2"),
    ],
)
def test_commands_end_with_one_line_and_exit_5(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = written(tmp_path, "return undefined")
    done = run(*words, "--policy", str(path))
    assert (done.returncode, done.stdout) == (5, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"penstock: {path}:8: NameError")
    assert " s of " in last
    assert "Traceback" not in done.stderr


def test_agent_leaves_the_target_alone_where_an_experiment_would_end(tmp_path: Path) -> None:
    reported: list[str] = []
    check_policy(contained(find_policy(str(written(tmp_path, "raise ValueError"))), reported.append))
    assert all("ValueError" in sentence for sentence in reported)
    assert reported


class Caller:
    def __call__(self, seen: dict[str, float]) -> int:
        return int(seen["nothing"])


@pytest.mark.parametrize(
    ("chooser", "said"),
    [
        (lambda seen: seen["nothing"], "KeyError: 'nothing'"),
        (lambda seen: penstock.Setting(flight=1000), "1000"),
        (lambda seen: "64", "action '64': not a Setting"),
        (Caller(), "KeyError: 'nothing'"),
        (lambda seen: 99, "action 99: not an index"),
    ],
)
def test_a_function_that_chooses_nonsense_is_told_where(chooser: object, said: str) -> None:
    world = penstock.Cluster("s_rd_rn_1m", seconds=2, warmup_s=1)
    with pytest.raises(PenstockError) as caught:
        world.play(chooser)  # type: ignore[arg-type]
    assert f"{Path(__file__).name}:" in str(caught.value)
    assert said in str(caught.value)
    assert "(window 0.5 to 1.0 s)" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("POLICY = 3", "is not a subclass of penstock.Policy"),
        ("from penstock import Policy\nclass P(Policy): pass\nPOLICY = P", "has no method propose"),
        ("x = 1", "must set POLICY"),
        ("x = 1\ny = x +", "mine.py:2: SyntaxError"),
        ("x = 1\nfoo()", "mine.py:2: NameError"),
    ],
)
def test_files_that_hold_no_policy_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    with pytest.raises(PenstockError) as caught:
        find_policy(str(tmp_path / "mine.py"))
    assert said in str(caught.value)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A directory for PYTHONPATH that holds the example as an installer would leave it."""
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    metadata = tmp_path / "penstock_small_rpcs-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    for group, entries in project["entry-points"].items():
        lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
        (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "small_rpcs.py").write_text((EXAMPLE / "small_rpcs.py").read_text())
    return tmp_path


@pytest.mark.slow
def test_an_installed_policy_does_by_name_what_its_file_does(installed: Path) -> None:
    words = ["simulate", "run", "--workload", "s_rd_rn_1m", "--seconds", "5", "--json", "--policy"]
    by_name = json.loads(run(*words, "small-rpcs", PYTHONPATH=str(installed)).stdout)
    by_file = json.loads(run(*words, str(EXAMPLE / "small_rpcs.py")).stdout)
    assert by_name["final"] == by_file["final"] == {"pages": 64, "flight": 32, "dirty": 2000}
    assert by_name["app_mbps"] == by_file["app_mbps"]
    missing = run(*words, "small-rpsc", PYTHONPATH=str(installed))
    assert (missing.returncode, 'did you mean "small-rpcs"?' in missing.stderr) == (2, True)


def test_the_example_obeys_the_law_of_policies() -> None:
    check_policy(find_policy(str(EXAMPLE / "small_rpcs.py")))


def test_results_of_a_changed_file_are_not_taken_for_those_of_the_old_one(tmp_path: Path) -> None:
    plan = named_plan(builtin_cluster("c220g5"), "s_rd_rn_1m")
    trial = Trial(plan, Course(1.0, 1.0, policy=str(written(tmp_path, "pass"))))
    before = trial.key
    written(tmp_path, "return None")
    assert trial.key != before


def test_dir_lists_the_public_api() -> None:
    assert dir(penstock) == sorted(penstock.__all__)
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
    with pytest.raises(AttributeError):
        _ = penstock.nothing  # type: ignore[attr-defined]


def test_the_documented_policy_is_eight_lines_and_works(tmp_path: Path) -> None:
    page = (EXAMPLE.parents[1] / "docs" / "how-to" / "add-a-policy.md").read_text()
    text = page.split("```python\n")[1].split("```")[0]
    assert len([line for line in text.splitlines() if line.strip()]) <= 8
    (tmp_path / "documented.py").write_text(text)
    check_policy(find_policy("documented.py"))
    assert penstock.Cluster("s_rd_rn_1m", seconds=2).play("documented.py") > 0
