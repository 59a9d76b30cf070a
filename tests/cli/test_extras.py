"""A base install: whatever needs an extra says which before it works, with commands for a checkout and an index."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.errors import PACKAGED, MissingError, require_extra
from penstock.plan.collective import launch
from penstock.plan.job.drishti import run_drishti

# The libraries that extras bring, and so a base install does not have.
ABSENT = (
    "numba",
    "mfusepy",
    "matplotlib",
    "pyarrow",
    "lightgbm",
    "sklearn",
    "darshan",
    "optuna",
    "starlette",
    "torch",
)
CASES = {
    "demo": ("demo", "numba", ["demo"]),
    "run": ("demo", "numba", ["simulate", "run", "--workload", "s_rd_rn_1m"]),
    "surface": ("plot", "matplotlib", ["simulate", "surface", "--workload", "s_rd_rn_1m", "--png", "x.png"]),
    "serve": ("serve", "numba", ["simulate", "serve", "--root", "tree"]),
    "evaluate": ("demo", "numba", ["evaluate", "static", "--only", "s_rd_rn_1m", "--fresh"]),
    "survey": ("demo", "numba", ["train", "survey", "--out", "survey.json"]),
    "collect": ("train", "pyarrow", ["train", "collect", "--out", "data"]),
    "fit": ("train", "lightgbm", ["train", "fit", "--data", "data", "--out", "model.json"]),
    "compare": ("train", "sklearn", ["train", "compare", "--data", "data"]),
    "nets": ("nets", "torch", ["train", "compare", "--data", "data", "--kinds", "rnn,tcn"]),
    "study": ("train", "lightgbm", ["train", "study", "--data", "data"]),
    "dash": ("dash", "starlette", ["dash", "--state-dir", "state"]),
    "cluster": ("demo", "numba", ["-c", "import penstock; penstock.Cluster(seconds=1).play('climb')"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_needs_an_extra_says_which_and_does_nothing(tmp_path: Path, name: str) -> None:
    extra, library, words = CASES[name]
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules.update(dict.fromkeys({ABSENT}))\n")
    command = words if words[0] == "-c" else ["-m", "penstock", *words]
    done = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    last = done.stderr.splitlines()[-1]
    assert f"{library} is not installed: pip install 'penstock[{extra}]'" in last
    assert f"or in a checkout pip install '.[{extra}]'" in last
    assert [path.name for path in tmp_path.iterdir()] == ["sitecustomize.py"]
    if words[0] != "-c":
        assert (done.returncode, done.stderr.count("\n")) == (3, 1)


def test_node_with_a_package_is_not_told_to_use_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "prefix", PACKAGED)
    said = str(require_extra("demo", ImportError(name="numba")))
    assert "pip" not in said
    assert "./run bundle demo" in said
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=r"\./run bundle mpi.*--launcher") as no_mpi:
        launch.find_launcher()
    with pytest.raises(MissingError, match="on the PATH") as no_drishti:
        run_drishti(tmp_path / "x.darshan")
    assert "pip" not in f"{no_mpi.value} {no_drishti.value}"
