"""The contracts about imports and words hold, and would notice if they did not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import names, sizes, words

ROOT = Path(__file__).parent.parent


def lint(directory: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", code, "--no-cache"],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_of_source(directory: Path) -> Path:
    shutil.copytree(ROOT / "src", directory / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", directory)
    return directory / "src" / "penstock"


def test_contracts_hold() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout
    assert "0 broken" in result.stdout


# A line added to a module, and the contract that it breaks.
PLANTED = (
    ("decide/tuner.py", "import time", "Deciding and simulating touch nothing"),
    ("simulate/kernel/server.py", "import os", "Deciding and simulating touch nothing"),
    (
        "simulate/kernel/rpcs.py",
        "import penstock.simulate.cluster",
        "Kernels know the world's arrays, not what they were made from",
    ),
    ("knobs/space.py", "import penstock.agent.loop", "Imports point one way"),
    ("decide/tuner.py", "import penstock.testing.policies", "Imports point one way"),
    ("evaluate/demo.py", "import pickle", "Nothing unpickles"),
    ("agent/loop.py", "import numba", "Numba stays in its rooms"),
    ("predict/features.py", "import time", "Deciding and simulating touch nothing"),
    ("train/fit.py", "import numba", "Numba stays in its rooms"),
)


def test_contracts_notice_every_planted_import(tmp_path: Path) -> None:
    package = copy_of_source(tmp_path)
    for module, line, _ in PLANTED:
        with (package / module).open("a") as source:
            source.write(f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode != 0
    chains = [" ".join(line.split()) for line in result.stdout.splitlines()]
    for module, line, broken in PLANTED:
        assert f"{broken} BROKEN" in result.stdout
        importer = f"penstock.{module.removesuffix('.py').replace('/', '.')}"
        chain = f"{importer} -> {line.removeprefix('import ')} ("
        assert any(chain in told for told in chains), chain


@pytest.mark.parametrize(
    ("module", "line", "said"),
    [
        ("window.py", '_LIMIT = "dirty"', "knob 'dirty'"),
        ("decide/work.py", "def _of(setting):\n    return setting.replace(pages=1)", "knob 'pages'"),
        ("decide/tuner.py", "# As a Lustre client does.", "'Lustre' belongs"),
        ("agent/loop.py", "import penstock.actuate.lustre", "'lustre' belongs"),
        ("knobs/space.py", "# One for each OSC.", "'OSC' belongs"),
    ],
)
def test_word_contract_notices_a_planted_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], module: str, line: str, said: str
) -> None:
    package = copy_of_source(tmp_path)
    words.main(package)
    known = capsys.readouterr().out.splitlines()
    with (package / module).open("a") as source:
        source.write(f"\n{line}\n")
    assert words.main(package) == 1
    found = [told for told in capsys.readouterr().out.splitlines() if told not in known]
    assert [told for told in found if told.startswith(f"words: {module}:") and said in told]


def test_rooms_share_no_names() -> None:
    assert list(names.problems(names.SOURCE)) == []


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("train/loop.py", "module 'loop' is in agent/loop.py and train/loop.py"),
        ("train/roads.py", "class 'Decision' is in decision.py and train/roads.py"),
    ],
)
def test_name_contract_notices_a_planted_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], module: str, said: str
) -> None:
    package = copy_of_source(tmp_path)
    known = set(names.problems(package))
    (package / module).write_text("class Decision:\n    pass\n" if "roads" in module else "")
    assert set(names.problems(package)) - known == {f"{said}: give one of them its noun"}
    assert names.main(package) == 1
    assert f"names: {said}: give one of them its noun" in capsys.readouterr().out


def test_sizes_hold_and_would_notice_what_outgrows_them(tmp_path: Path) -> None:
    for what, lines in sizes.sizes(sizes.SOURCE).items():
        assert list(sizes.problems(what, lines, sizes.LIMITS[what])) == []
    (tmp_path / "long.py").write_text("def endless():\n" + "    x = 1\n" * 60)
    planted = sizes.sizes(tmp_path)["functions"]
    assert list(sizes.problems("functions", planted, sizes.LIMITS["functions"])) == [
        "one of twenty functions has 61 lines or more, above 25",
        "long.py:endless has 61 lines, above 60",
    ]
