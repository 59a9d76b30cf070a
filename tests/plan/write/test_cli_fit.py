"""`penstock plan fit` and `penstock plan sample` from the command line."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.plan.storage import load_system
from penstock.plan.write.ior_results import IorRun, write_csv
from penstock.plan.write.sampling import templates


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["penstock", "plan", *arguments])
    with pytest.raises(SystemExit) as leaving:
        main()
    return int(leaving.value.code or 0)


def ior_table() -> str:
    """Writes of a made-up system: a second, and a gigabyte a second shared by all."""
    rng = np.random.default_rng(6)
    runs = []
    for nodes in (1, 2, 4, 8, 16):
        for cores in (1, 2, 4):
            for burst in (512, 1024, 3072, 5000):
                seconds = 1 + nodes * cores * burst / 1000
                runs += [
                    IorRun(nodes, cores, burst * 10**6, None, seconds * rng.normal(1, 0.02)) for _ in range(3)
                ]
    return write_csv(runs)


def test_plan_fit_then_write(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("sklearn")
    Path("ior.csv").write_text(ior_table())
    arguments = [
        "fit",
        "--data",
        "ior.csv",
        "--out",
        "mine.json",
        "--technique",
        "lasso",
        "--train-up-to",
        "8",
        "--json",
    ]
    assert run(monkeypatch, *arguments) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert said["technique"] == "lasso"
    assert said["test"]["within_30"] > 0.9
    size = ["--nodes", "4", "--cores", "4", "--burst", "1000MB"]
    assert run(monkeypatch, "write", "--model", "mine.json", *size, "--adapt", "--json") == 0
    prediction: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert prediction["seconds"] == pytest.approx(17, rel=0.2)
    assert prediction["model"] == "mine.json"
    assert prediction["notes"] == []
    assert sum(prediction["contributions"].values()) == pytest.approx(prediction["seconds"])
    assert prediction["advice"]["seconds"] <= prediction["seconds"] * 1.001


def test_plan_fit_as_printed_is_the_papers_method(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    Path("ior.csv").write_text(ior_table())
    asked = ["fit", "--data", "ior.csv", "--out", "mine.json", "--train-up-to", "8", "--json"]
    assert run(monkeypatch, *asked, "--as-printed", "--technique", "lasso") == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out)
    lasso = said["techniques"]["lasso"]
    assert said["as_printed"]
    assert lasso["parameters"] == {"alpha": 0.01}
    assert lasso["validation_mse"] <= lasso["base_validation_mse"]
    # All larger runs are answered, and a fifth of the training samples was only chosen by.
    assert (said["test"]["samples"], said["test"]["refused"]) == (12, 0)
    assert said["training_samples"] < said["samples"] - 12
    assert run(monkeypatch, *asked, "--technique", "lasso") == 0
    assert "validation_mse" not in json.loads(capsys.readouterr().out)["techniques"]["lasso"]


def test_plan_fit_as_printed_knows_no_stack(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("ior.csv").write_text(ior_table())
    asked = ["fit", "--data", "ior.csv", "--out", "m.json", "--as-printed", "--technique", "stack"]
    assert run(monkeypatch, *asked) == 2
    assert "not stack" in capsys.readouterr().err


@pytest.mark.slow
def test_plan_fit_compares_the_techniques(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    lines = ior_table().splitlines()
    Path("a.csv").write_text("\n".join([line for line in lines if not line.startswith(("8,", "16,"))]))
    assert run(monkeypatch, "fit", "--data", "a.csv", "--out", "m.json", "--plot", "plots") == 0
    shown = capsys.readouterr().out
    for technique in ("linear", "lasso", "ridge", "tree", "forest", "stack"):
        assert technique in shown
    assert Path("plots/errors.png").read_bytes()[:4] == b"\x89PNG"
    assert Path("plots/variability.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--data", "gone.csv", "--out", "m.json"], 3, "gone.csv"),
        (["--data", "bad.csv", "--out", "m.json"], 5, "bad.csv"),
        (["--data", "good.csv", "--out", "m.json", "--shortest", "1h"], 5, "--shortest"),
        (["--data", "good.csv", "--out", "m.json", "--technique", "laso"], 2, 'did you mean "lasso"'),
        (["--data", "good.csv", "--out", "gone/m.json", "--technique", "ridge"], 3, "gone/m.json"),
        (["--data", "good.csv", "--out", "m.json", "--cores", "0"], 2, "--cores 0"),
        (["--data", "good.csv", "--out", "m.json", "--system", "titn"], 2, "titan"),
    ],
)
def test_plan_fit_refuses_bad_input(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    message: str,
) -> None:
    pytest.importorskip("sklearn")
    Path("good.csv").write_text(ior_table())
    Path("bad.csv").write_text("a,b\n1,2\n")
    assert run(monkeypatch, "fit", *arguments) == code
    streams = capsys.readouterr()
    assert message in streams.err
    assert streams.out == ""
    assert not Path("m.json").exists()


def test_templates_cover_every_range() -> None:
    rng = np.random.default_rng(0)
    common, large = templates(load_system("titan"), 64, rng)
    assert len(common.bursts_mib) == 7
    assert len(large.bursts_mib) == 3
    assert len(common.cores) == 8
    assert [1 <= common.stripes[0] <= 4, 33 <= common.stripes[-1] <= 64] == [True, True]
    (cetus,) = templates(load_system("cetus"), 256, rng)
    assert cetus.cores == (1, 2, 4, 8, 16)
    assert cetus.stripes == (1,)
    (production,) = templates(load_system("titan"), 2000, rng)
    assert production.cores == (1, 4)


def test_plan_sample_prints_a_script_that_bash_accepts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "sample", "--system", "titan", "--nodes", "4", "--nodes", "256") == 0
    said = capsys.readouterr()
    subprocess.run(["bash", "-n"], input=said.out.encode(), check=True)
    assert "lfs setstripe" in said.out
    assert said.out.count("while read") == 2
    assert said.err.startswith("1860 runs (620 patterns x 3), 722.3 TiB written, ")
    assert " hours by the published model of titan" in said.err


def test_plan_sample_script_runs_what_it_lists(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["--system", "cetus", "--nodes", "2", "--budget", "4GiB", "--rounds", "2", "--launcher", ""]
    assert run(monkeypatch, "sample", *words) == 0
    text = capsys.readouterr().out
    fake = tmp_path / "ior"
    fake.write_text('#!/bin/sh\ncat >>"$OUT/stdin"; echo "$@" >>"$OUT/calls"\n')
    fake.chmod(0o755)
    place = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "DIR": str(tmp_path),
        "OUT": str(tmp_path),
    }
    subprocess.run(["bash"], input=text.encode(), check=True, env=place)
    listed = text.split("<<'PATTERNS'\n")[1].split("PATTERNS")[0].splitlines()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 2 * len(listed) > 0
    assert (tmp_path / "stdin").read_text() == ""


def test_plan_sample_warns_of_too_few_patterns_for_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for budget, few in (("600MiB", True), ("40GiB", False)):
        assert run(monkeypatch, "sample", "--cores", "4", "--nodes", "2", "--budget", budget) == 0
        assert (
            "patterns are too few: plan fit needs 8, and 10 for a stack" in capsys.readouterr().err
        ) == few


@pytest.mark.parametrize(
    ("job", "begin"), [("7", "srun --nodes=2 --ntasks="), ("", "mpirun -n ")], ids=["slurm", "plain"]
)
def test_plan_sample_script_runs_as_printed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    job: str,
    begin: str,
) -> None:
    words = ["--cores", "4", "--nodes", "2", "--nodes", "4", "--budget", "4GiB", "--rounds", "1"]
    assert run(monkeypatch, "sample", *words) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[1:3] == ["#SBATCH --nodes=4", "#SBATCH --ntasks-per-node=4"]
    assert "# Writes " in text.splitlines()[3]
    for name in ("srun", "mpirun"):
        fake = tmp_path / name
        fake.write_text(f'#!/bin/sh\n[ "$1" = --version ] || echo "{name} $@" >>calls\n')
        fake.chmod(0o755)
    place = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_JOB_ID": job}
    subprocess.run(["bash"], input=text.encode(), check=True, env=place, cwd=tmp_path)
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls[0].startswith(begin)
    assert f"-o {tmp_path}/penstock-sample/W1/penstock.ior" in calls[0]
    assert (tmp_path / "penstock-results").is_dir()


def test_plan_sample_writes_a_script_for_each_number_of_nodes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "sample.sh"
    words = ["--cores", "4", "--nodes", "2", "--nodes", "4", "--budget", "4GiB", "--out", str(out)]
    assert run(monkeypatch, "sample", *words) == 0
    assert capsys.readouterr().out == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sample-2.sh", "sample-4.sh"]
    for nodes in (2, 4):
        text = (tmp_path / f"sample-{nodes}.sh").read_text()
        assert f"#SBATCH --nodes={nodes}\n" in text
        assert text.count("while read") == 1
        assert text.splitlines()[3].startswith("# Writes ")


@pytest.mark.slow
def test_plan_sample_stays_within_its_budget(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sample", "--system", "titan", "--nodes", "4", "--nodes", "16", "--json", "--budget"]
    costs = []
    for budget in ("50GiB", "2TiB", "2h"):
        assert run(monkeypatch, *words, budget) == 0
        said = json.loads(capsys.readouterr().out)
        assert len(said["patterns"]) == said["cost"]["patterns"] > 0
        assert said["cost"]["runs"] == 3 * said["cost"]["patterns"]
        costs.append(said["cost"])
    assert costs[0]["bytes"] <= 50 * 2**30 < costs[1]["bytes"] <= 2**41
    assert costs[2]["seconds"] <= 7200
    assert run(monkeypatch, *words, "1KiB") == 2
    assert "not even the smallest" in capsys.readouterr().err
    assert run(monkeypatch, *words, "7") == 2


def test_plan_fit_says_what_was_left_out_and_suggests_where(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    lines = ["operation,storageType,numNodes,tasksPerNode,transferSize,aggregateFilesizeMB,totalTime,trMiB"]
    for nodes in (1, 2, 4):
        for cores in (1, 2, 4, 8):
            for kind, rate in (("disk", 100.0), ("flash", 900.0)):
                moved = nodes * cores * 1000
                lines += [f"write,{kind},{nodes},{cores},1048576,{moved},{moved / rate:.4f},{rate}"] * 3
                lines += [f"read,{kind},{nodes},{cores},1048576,{moved},{moved / rate:.4f},{rate}"]
    lines.append("write,disk,4,8,1048576,32000,0,0")
    lines.append("write,disk,4,1,4096,4000,20,100")
    Path("mixed.csv").write_text("\n".join(lines) + "\n")
    words = ["fit", "--data", "mixed.csv", "--out", "m.json", "--technique", "forest", "--json"]
    assert run(monkeypatch, *words, "--unconverged", "use") == 0
    said = capsys.readouterr()
    assert "the data mix storageType = disk, flash" in said.err
    assert "--where storageType=disk" in said.err
    assert run(monkeypatch, *words, "--where", "storageType=disk", "--shortest", "15s") == 0
    second = capsys.readouterr()
    assert "mix" not in second.err
    found = json.loads(second.out)
    assert found["left_out"]["not a write"] == 12
    assert found["left_out"]["failed: no time"] == 1
    assert found["left_out"]["not as --where asks"] == 48
    assert found["left_out"]["identical runs merged into their mean"] == 24
    assert found["left_out"]["samples shorter than 15 s (--shortest)"] == 1
    assert found["short_writes"] == 1
    assert found["samples"] == 12
    assert set(found["inside"]) >= {"within_20", "held"}


@pytest.mark.slow
def test_plan_fit_takes_stripes_without_a_system(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    runs = [
        IorRun(nodes, cores, 10**9, stripes, 10.0 * nodes * cores / stripes)
        for nodes in (1, 2, 4)
        for cores in (1, 2)
        for stripes in (1, 2, 4)
    ]
    Path("striped.csv").write_text(write_csv(runs))
    words = ["--data", "striped.csv", "--out", "m.json", "--technique", "stack", "--shortest", "1s"]
    assert run(monkeypatch, "fit", *words) == 0
    capsys.readouterr()
    size = ["--nodes", "2", "--cores", "2", "--burst", "1000MB", "--transfer", "1m", "--json"]
    assert run(monkeypatch, "write", "--model", "m.json", *size, "--stripes", "4") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["interval"]["low_s"] <= said["seconds"] <= said["interval"]["high_s"]
    assert said["interval"]["level"] == 0.8
    assert not said["interval"]["beyond"]


def test_plan_write_refuses_what_no_held_out_scale_supports(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    Path("ior.csv").write_text(ior_table())
    words = ["--data", "ior.csv", "--out", "mine.json", "--technique", "lasso", "--shortest", "1s"]
    assert run(monkeypatch, "fit", *words, "--json") == 0
    fitted = json.loads(capsys.readouterr().out)
    support, largest = fitted["support"], max(fitted["scales"])
    assert support["nodes"] == largest * 2 ** support["doublings"] > largest
    size = ["write", "--model", "mine.json", "--cores", "4", "--burst", "2000MB"]
    assert run(monkeypatch, *size, "--nodes", str(support["nodes"])) == 0
    answer = next(line for line in capsys.readouterr().out.splitlines() if " s expected" in line)
    low, _, high, *_ = answer.split()
    expected = float(answer.split(" s expected")[0].split()[-1])
    assert float(low) <= expected <= float(high)
    beyond = str(support["nodes"] + 1)
    assert run(monkeypatch, *size, "--nodes", beyond, "--json") == 6
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["seconds"] is None
    assert found["interval"] is None
    assert found["refused"] in said.err
    assert f"no forecast for {beyond} nodes: mine.json was measured on up to {largest}" in found["refused"]


def test_plan_write_refuses_bytes_far_beyond_what_was_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    Path("ior.csv").write_text(ior_table())
    words = ["--data", "ior.csv", "--out", "mine.json", "--technique", "lasso", "--shortest", "1s"]
    assert run(monkeypatch, "fit", *words) == 0
    size = ["write", "--model", "mine.json", "--nodes", "4", "--cores", "4", "--json"]
    capsys.readouterr()
    assert run(monkeypatch, *size, "--burst", "16TiB") == 6
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["seconds"] is None
    assert found["interval"] is None
    assert "no forecast for a burst of 16 TiB: mine.json was measured with up to" in found["refused"]
    assert said.err.count("\n") == 1
    assert run(monkeypatch, *size, "--burst", "2000MB", "--system", "titan") == 2
    wrong = (
        "mine.json was fitted on a machine known by its job sizes only and knows nothing of Titan / Atlas2"
    )
    assert wrong in capsys.readouterr().err


def test_plan_write_answers_about_reads_from_a_model_of_reads(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sklearn")
    Path("ior.csv").write_text(ior_table().replace("write,", "read,"))
    words = ["--data", "ior.csv", "--out", "reads.json", "--technique", "lasso", "--operation", "read"]
    assert run(monkeypatch, "fit", *words) == 0
    capsys.readouterr()
    size = ["--nodes", "8", "--cores", "4", "--burst", "2000MB"]
    for asked in ([], ["--operation", "read"]):
        assert run(monkeypatch, "write", "--model", "reads.json", *size, *asked, "--json") == 0
        assert json.loads(capsys.readouterr().out)["operation"] == "read"
    assert run(monkeypatch, "write", "--model", "reads.json", *size, "--operation", "write") == 2
    assert "reads.json was fitted on reads" in capsys.readouterr().err
    assert run(monkeypatch, "write", "--system", "titan", *size, "--operation", "read") == 2
    assert "the published models are of writes" in capsys.readouterr().err


FAKE_IOR = """#!{python}
import json, sys
words = sys.argv[1:]
block = int(words[words.index("-b") + 1][:-1]) * 2**20
path = [word for word in words if word.startswith("summaryFile=")][0].split("=", 1)[1]
result = {{"access": "write", "blockKiB": block / 1024, "totalTime": 2 + block / 1e9}}
results = [result] + [{{**result, "access": "read", "totalTime": 1.0}}] * ("-r" in words)
test = {{"Parameters": {{"blockSize": block}}, "Options": {{"tasks": 2}}, "Results": results}}
with open(path, "w") as out:
    json.dump({{"tests": [test]}}, out)
"""


@pytest.mark.parametrize("named", [False, True])
def test_plan_sample_runs_ior_until_samples_converge(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, named: bool
) -> None:
    """IOR as found on the path, or as PENSTOCK_IOR names it."""
    fake = tmp_path / "bin" / ("ior-4.0" if named else "ior")
    fake.parent.mkdir()
    fake.write_text(FAKE_IOR.format(python=sys.executable))
    fake.chmod(0o755)
    if named:
        monkeypatch.setenv("PENSTOCK_IOR", str(fake))
    else:
        monkeypatch.delenv("PENSTOCK_IOR", raising=False)
        monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    Path("small.toml").write_text(
        'name = "small"\nkind = "gpfs"\n[compute]\nnodes = 1000\ncores_per_node = 2\n'
        "[stages.bridge]\ncomponents = 2\n[stages.link]\ncomponents = 2\n[stages.io_node]\ncomponents = 1\n"
        "[gpfs]\nnsds = 4\nservers = 2\n"
    )
    Path("small.toml").chmod(0o644)
    arguments = [
        "--system",
        "small.toml",
        "--nodes",
        "200",
        "--run",
        "--directory",
        str(tmp_path),
        "--out",
        "s.csv",
    ]
    assert run(monkeypatch, "sample", *arguments, "--launcher", "", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"out": "s.csv", "patterns": 14, "converged": 14, "runs": 42}
    assert len(Path("s.csv").read_text().splitlines()) == 43
    assert not list(tmp_path.glob("penstock-*"))


def test_plan_sample_of_an_undescribed_machine_times_reads_as_well(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fake = tmp_path / "ior"
    fake.write_text(FAKE_IOR.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_IOR", str(fake))
    words = ["sample", "--nodes", "1", "--nodes", "2", "--budget", "400MiB", "--operation", "read"]
    assert run(monkeypatch, *words) == 2
    assert "--cores is missing" in capsys.readouterr().err
    words += ["--cores", "2", "--launcher", ""]
    assert run(monkeypatch, *words) == 0
    text = capsys.readouterr().out
    assert " -w -r -C -F " in text
    assert "lfs" not in text
    place = ["--run", "--directory", str(tmp_path), "--out", "s.csv", "--json"]
    assert run(monkeypatch, *words, *place) == 0
    said = json.loads(capsys.readouterr().out)
    lines = Path("s.csv").read_text().splitlines()
    assert len(lines) == said["runs"] + 1
    assert sum(line.startswith("read,") for line in lines) == said["runs"] / 2
    assert {line.split(",")[1] for line in lines[1:]} == {"1", "2"}


def test_plan_sample_begins_nothing_after_its_time_is_spent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    fake = tmp_path / "ior"
    fake.write_text(FAKE_IOR.format(python=sys.executable))
    fake.chmod(0o755)
    monkeypatch.setenv("PENSTOCK_IOR", str(fake))
    # Every look at the clock finds an hour gone.
    hours = itertools.count(0, 3600)
    monkeypatch.setattr("penstock.plan.write.ior_runner.time.monotonic", lambda: float(next(hours)))
    words = ["--nodes", "1", "--cores", "2", "--budget", "90m", "--launcher", "", "--run", "--json"]
    assert run(monkeypatch, "sample", *words, "--directory", str(tmp_path), "--out", "s.csv") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["patterns"] == 1
    assert "the budget of 90m is spent" in said.err


def test_plan_sample_without_ior_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("PENSTOCK_IOR", raising=False)
    arguments = ["--system", "cetus", "--nodes", "4", "--run", "--directory", str(tmp_path), "--out", "s.csv"]
    assert run(monkeypatch, "sample", *arguments) == 3
    assert "ior is not on PATH" in capsys.readouterr().err
    monkeypatch.setenv("PENSTOCK_IOR", "nowhere/ior")
    assert run(monkeypatch, "sample", *arguments) == 3
    assert "PENSTOCK_IOR=nowhere/ior is no program" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nodes", "0"], "--nodes 0 is not positive"),
        (["--nodes", "4", "--max-runs", "1"], "--max-runs 1: a pattern takes at least 3 runs"),
        (["--nodes", "4", "--run"], "--directory"),
        (["--nodes", "4", "--error", "2"], "--error"),
        (["--nodes", "4", "--launcher", "srun {ranks}"], "--launcher"),
        (["--nodes", "4", "--rounds", "0"], "--rounds"),
    ],
)
def test_plan_sample_refuses_bad_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run(monkeypatch, "sample", "--system", "titan", *arguments) == 2
    assert message in capsys.readouterr().err
