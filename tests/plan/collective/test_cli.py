"""The planner's commands as users run them, with real MPI: measure, rank, confirm, run, verify."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import MissingError, PenstockError, UsageError
from penstock.plan.collective import advise, surrogates
from penstock.plan.collective.launch import Launcher, find_launcher, run_tasks

PENSTOCK = [sys.executable, "-m", "penstock"]
APP = """
import mpi4py
mpi4py.rc.thread_level = "multiple"
from mpi4py import MPI
comm = MPI.COMM_WORLD
file = MPI.File.Open(comm, "app.out", MPI.MODE_CREATE | MPI.MODE_WRONLY)
row = MPI.BYTE.Create_contiguous(4096).Create_resized(0, 4096 * comm.size).Commit()
file.Set_view(4096 * comm.rank, MPI.BYTE, row)
for _ in range(4):
    file.Write_all(bytearray(1 << 20))
file.Close()
"""


def run(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PENSTOCK, *args], capture_output=True, text=True, check=False)


@pytest.fixture
def mpi() -> str:
    """The launcher's path; the tests below need real MPI."""
    pytest.importorskip("mpi4py", reason="needs MPI: pip install 'penstock[mpi]'")
    return find_launcher().command[0]


@pytest.mark.slow
def test_profile_is_measured_and_hints_are_confirmed(
    mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every family, one member each: all of them are compared where the help's example is pasted.
    few = {name: {key: values[:1] for key, values in grid.items()} for name, grid in surrogates.GRIDS.items()}
    monkeypatch.setattr(surrogates, "GRIDS", few)
    how = ["--dir", ".", "--out", "p.json", "--ranks", "2", "--limit", "5s", "--json"]
    measured = CliRunner().invoke(cli, ["plan", "profile", *how])
    assert measured.exit_code == 0, measured.stderr
    table = {row["operation"]: row for row in json.loads(measured.stdout)["operations"]}
    assert {"allreduce", "allgather", "alltoall", "alltoallv", "shuffle", "write_first"} <= set(table)
    assert all(row["algorithm"] in {"knn", "svr-rbf", "forest", "boosting"} for row in table.values())
    assert "2 ranks" in measured.stderr
    ask = ["plan", "collective", "--profile", "p.json", "--ranks", "2", "--bytes-per-rank", "1m"]
    # Who wins, and when, is up to the machine: one doubling shows that there are some.
    monkeypatch.setattr(advise, "MOST_REPETITIONS", 6)
    ask += ["--pattern", "strided", "--block", "4k", "--confirm", "2", "--repetitions", "3", "--json"]
    found = CliRunner().invoke(cli, ask)
    assert found.exit_code == 0, found.stderr
    answer = json.loads(found.stdout)
    assert {"default", "advice", "ranking", "operations"} <= set(answer)
    assert {"none", "rule"} <= {one["name"] for one in answer["confirmed"]}
    assert answer["default"]["cb_nodes"] == 1
    # Three repetitions prove nothing, so they were doubled.
    counts = [len(one["seconds"]) for one in answer["confirmed"]]
    assert min(counts) >= 3
    assert max(counts) == 6
    assert not list(tmp_path.glob("penstock-*"))


@pytest.mark.slow
def test_profile_that_runs_out_of_time_says_so_and_promises_nothing(
    mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Which surrogate is best is not asked here, and comparing them takes most of the time.
    monkeypatch.setattr(surrogates, "GRIDS", {"knn": surrogates.GRIDS["knn"]})
    how = ["--dir", ".", "--out", "p.json", "--ranks", "2", "--limit", "10ms"]
    measured = CliRunner().invoke(cli, ["plan", "profile", *how])
    assert measured.exit_code == 0, measured.stderr
    assert "2 of 7 repetitions, then the time was over (--limit)" in measured.stderr
    ask = ["plan", "collective", "--profile", "p.json", "--ranks", "2", "--bytes-per-rank", "1m", "--json"]
    found = CliRunner().invoke(cli, [*ask, "--pattern", "strided", "--block", "4k"])
    answer = json.loads(found.stdout)
    assert (answer["sure"], answer["advice"]) == (False, None)
    assert "cut short after 2 repetitions" in answer["reasons"][0]
    assert not list(tmp_path.glob("penstock-*"))


def test_rank_that_fails_ends_the_others_with_its_own_error(mpi: str, tmp_path: Path) -> None:
    """Only the aggregator opens a file; the other rank would wait for its data forever."""
    point = {"operation": "rounds", "bytes": 64, "short_bytes": 24, "piece_bytes": 32, "aggregators": 1}
    limits = {"repetitions": 1, "fewest": 1, "limit_s": 60.0}
    task = {"task": "measure_elements", "dir": str(tmp_path / "nowhere"), "points": [point], **limits}
    with pytest.raises(PenstockError, match=r"2 ranks failed with exit code \d+: FileNotFoundError.*nowhere"):
        run_tasks(find_launcher(), 2, [task], 600)


def test_run_sets_hints_and_sees_them_work(mpi: str) -> None:
    Path("app.py").write_text(APP)
    job = [mpi, "-n", "4", sys.executable, "app.py"]
    good = run("run", "--cb-nodes", "2", "--cb-buffer-size", "256k", "--json", "--", *job)
    report = json.loads(good.stdout)
    assert (good.returncode, report["verified"]) == (0, True), good.stderr
    assert sum(rank["written_bytes"] > 1 << 20 for rank in report["ranks"]) == 2
    capped = run("run", "--cb-nodes", "2", "--hint", "cb_config_list=*:1", "--", *job)
    assert capped.returncode == 6
    assert "did NOT take effect" in capped.stderr


def test_run_leaves_with_the_commands_own_code() -> None:
    assert run("run", "--cb-nodes", "2", "--", "sh", "-c", "exit 9").returncode == 9
    Path("bad").write_text("cb_nodes 4\ncb_nods 3\n")
    assert 'did you mean "cb_nodes"' in run("run", "--hints", "bad", "--", "true").stderr


def test_run_without_hints_runs_the_command_as_it_is() -> None:
    done = run("run", "--", "sh", "-c", "echo hello; exit 3")
    assert (done.returncode, done.stdout) == (3, "hello\n")
    assert "no hints given and none proven for this command: it runs once, as it is" in done.stderr
    assert "penstock: the command failed (3)" in done.stderr


def test_comparison_without_hints_runs_the_command_once_and_says_so() -> None:
    done = run("run", "--compare", "2", "--", "sh", "-c", "echo hello")
    assert (done.returncode, done.stdout) == (0, "hello\n")
    assert "--compare has no hints to compare: name some (--cb-nodes" in done.stderr
    assert "failed" not in done.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["plan", "collective", "--ranks", "0", "--bytes-per-rank", "1m"], 2, "--ranks 0"),
        (["plan", "collective", "--ranks", "4", "--bytes-per-rank", "4Q"], 2, "4Q"),
        (
            ["plan", "collective", "--ranks", "4", "--bytes-per-rank", "1m", "--pattern", "stride"],
            2,
            "strided",
        ),
        (["plan", "profile", "--dir", "nowhere", "--out", "x"], 3, "nowhere: no such directory"),
        (["plan", "profile", "--dir", ".", "--out", "no/x"], 3, "no/x: no such directory"),
        (["plan", "profile", "--dir", ".", "--out", "x", "--ranks", "two"], 2, "'two' is not a list"),
        (["plan", "profile", "--dir", ".", "--out", "x", "--repetitions", "2"], 2, "at least 7"),
        (["plan", "job", "--darshan", "nothing"], 3, "nothing: no such file"),
        (["plan", "job", "--darshan", ".", "--stripe-size", "100"], 2, "64 KiB"),
        (["run", "--hint", "cb_nods=2", "--", "true"], 2, 'did you mean "cb_nodes"'),
        (["run", "--cb-nodes", "2", "--", "no-such-program"], 3, "no-such-program: no such program"),
        (["run", "--hints", "nofile", "--", "true"], 3, "nofile: no such file"),
    ],
)
def test_bad_input_gets_one_line_and_its_exit_code(
    args: list[str], code: int, said: str, profile_path: Path
) -> None:
    if args[:2] == ["plan", "collective"]:
        args = [*args, "--profile", str(profile_path)]
    result = run(*args)
    assert (result.returncode, result.stdout) == (code, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("x").exists()


def test_absent_mpi_is_a_clear_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("penstock.plan.collective.launch.sys.executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match=r"MPI is absent: .*penstock\[mpi\]"):
        find_launcher()
    with pytest.raises(UsageError, match="has no"):
        find_launcher("srun -n 4")
    with pytest.raises(MissingError, match="nothing-here"):
        find_launcher("nothing-here -n {ranks}")


def test_launch_that_fails_or_hangs_is_one_error() -> None:
    pytest.importorskip("mpi4py", reason="needs MPI: pip install 'penstock[mpi]'")
    with pytest.raises(PenstockError, match="exit code 3: broken"):
        run_tasks(Launcher(("sh", "-c", "echo broken >&2; exit 3")), 2, [], 30)
    with pytest.raises(PenstockError, match="did not end within 1 s"):
        run_tasks(Launcher(("sh", "-c", "sleep 5")), 2, [], 1)
    with pytest.raises(PenstockError, match="without an answer"):
        run_tasks(Launcher(("true",)), 2, [], 30)
