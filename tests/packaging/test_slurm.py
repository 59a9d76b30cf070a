"""Prolog and epilog mark jobs, and whatever is broken they exit 0 at once: anything else drains the node."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from tests.rigs.agents import agent
from tests.rigs.served import served, wait_for

from penstock.agent.jobs import JobBook, JobMark

HOOKS = (("prolog.sh", "begin"), ("epilog.sh", "end"))
# Ten times what is usual and more; without its own limits a hook would wait for ever.
PATIENCE_S = 300.0


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / "state" / "jobs").mkdir(parents=True)
    return tmp_path / "state"


def run(hook: Path, state: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a hook as slurmd does: with little environment, its output collected."""
    known = {"PENSTOCK_STATE_DIR": str(state), "SLURM_JOB_ID": "4711", "SLURM_JOB_USER": "alice"}
    return subprocess.run(
        [str(hook)],
        env={**known, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def ends(hook: Path, state: Path, **environment: str) -> bool:
    """Whether a hook ends by itself, silently and well."""
    done = run(hook, state, **environment)
    return (done.returncode, done.stdout, done.stderr) == (0, "", "")


def take(state: Path, name: str) -> tuple[JobBook, JobMark]:
    """The mark of that name, once it is there: on a busy machine a hook ends before it is written."""
    wait_for((state / "jobs" / name).exists)
    book = JobBook(state / "jobs")
    (mark,) = book.take()
    return book, mark


def test_hooks_differ_only_in_what_they_mark(packaging: Path) -> None:
    prolog, epilog = ((packaging / "slurm" / name).read_text().splitlines() for name, _ in HOOKS)
    different = [pair for pair in zip(prolog, epilog, strict=True) if pair[0] != pair[1]]
    assert [pair for pair in different if not pair[0].startswith("#")] == [("what=begin", "what=end")]
    assert prolog[-1] == "exit 0"


@pytest.mark.parametrize(("name", "what"), HOOKS)
def test_hooks_leave_a_mark_that_the_agent_takes(name: str, what: str, packaging: Path, state: Path) -> None:
    assert ends(packaging / "slurm" / name, state)
    _, mark = take(state, f"4711.{what}")
    assert (mark.job, mark.what, mark.user) == ("4711", what, "alice")


@pytest.mark.parametrize(
    ("asked", "hands_off"),
    [
        ({"PENSTOCK": "off"}, True),
        ({"SPANK_PENSTOCK": "off"}, True),
        ({"SLURM_JOB_COMMENT": "fast,penstock=off please"}, True),
        ({"PENSTOCK": "on"}, False),
        ({"PENSTOCK": "$(reboot)\noff"}, False),
        ({"SLURM_JOB_COMMENT": "notpenstock=offline"}, False),
        ({}, False),
    ],
)
def test_prolog_passes_on_that_a_job_asks_to_be_left_alone(
    asked: dict[str, str], hands_off: bool, packaging: Path, state: Path
) -> None:
    assert ends(packaging / "slurm" / "prolog.sh", state, **asked)
    book, mark = take(state, "4711.begin")
    assert (mark.user, mark.hands_off) == ("alice", hands_off)
    assert book.hands_off == (("4711",) if hands_off else ())
    again = JobBook(state / "jobs")
    again.open(0.0)
    assert again.hands_off == book.hands_off


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("broken", ["missing", "a file", "a link", "read-only", "full of marks", "no id"])
def test_hooks_exit_zero_whatever_is_broken(
    hook: tuple[str, str], broken: str, packaging: Path, tmp_path: Path, state: Path
) -> None:
    (name, what), jobs, environment = hook, state / "jobs", {}
    if broken == "missing":
        shutil.rmtree(state)
    elif broken == "a file":
        jobs.rmdir()
        jobs.write_text("")
    elif broken == "a link":
        jobs.rmdir()
        (tmp_path / "elsewhere").mkdir()
        jobs.symlink_to(tmp_path / "elsewhere")
    elif broken == "read-only":
        # Root writes where modes forbid it; a path that cannot be created is refused to everybody.
        environment = {"PENSTOCK_STATE_DIR": "/proc/self/penstock"}
    elif broken == "full of marks":
        for i in range(1000):
            (jobs / f"{i}.begin").touch()
    else:
        environment = {"SLURM_JOB_ID": ""}
    assert ends(packaging / "slurm" / name, state, **environment)
    assert not (jobs / f"4711.{what}").exists()
    assert not list((tmp_path / "elsewhere").glob("*"))


@pytest.mark.parametrize("job", ["../../etc/x", "a/b", "1 2", "$(touch x)", "-f", ".x", "1;rm", "é", "x\ny"])
def test_hooks_refuse_ids_that_are_no_ids(job: str, packaging: Path, state: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert run(packaging / "slurm" / "prolog.sh", state, SLURM_JOB_ID=job).returncode == 0
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("name", "what"), HOOKS)
def test_hooks_do_not_wait_for_a_disk_that_hangs(
    name: str, what: str, packaging: Path, state: Path, tmp_path: Path
) -> None:
    # Opening a pipe that nobody reads hangs like a dead disk does.
    text = (packaging / "slurm" / name).read_text()
    os.mkfifo(tmp_path / "hangs")
    hook = tmp_path / name
    hook.write_text(text.replace('>"$new" &&', f'>"{tmp_path / "hangs"}" &&'))
    hook.chmod(0o755)
    assert hook.read_text() != text
    try:
        assert ends(hook, state)
    finally:
        # Let those that hang go.
        os.close(os.open(tmp_path / "hangs", os.O_RDONLY | os.O_NONBLOCK))


@pytest.mark.parametrize(("name", "what"), HOOKS)
def test_hooks_survive_without_any_program(
    name: str, what: str, packaging: Path, state: Path, tmp_path: Path
) -> None:
    hook = tmp_path / name
    hook.write_text((packaging / "slurm" / name).read_text().replace("PATH=/usr/bin:/bin", "PATH=/nowhere"))
    hook.chmod(0o755)
    assert ends(hook, state)


def test_hooks_do_not_care_about_a_hung_or_dead_agent(packaging: Path, tmp_path: Path) -> None:
    prolog, epilog = (packaging / "slurm" / name for name, _ in HOOKS)
    with served(tmp_path / "tree", plain=True) as client, agent(client, tmp_path / "state") as running:
        assert run(prolog, running.state_dir).returncode == 0
        wait_for(lambda: running.ask("status")["jobs"] == ["4711"])
        running.process.send_signal(signal.SIGSTOP)
        assert ends(epilog, running.state_dir)
        assert ends(prolog, running.state_dir, SLURM_JOB_ID="4712")
        running.process.send_signal(signal.SIGCONT)
        wait_for(lambda: running.ask("status")["jobs"] == ["4712"])
        assert running.stop() == 0
        assert [(event["job"], event["what"]) for event in running.events("job")] == [
            ("4711", "begin"),
            ("4711", "end"),
            ("4712", "begin"),
        ]
    assert ends(epilog, tmp_path / "state", SLURM_JOB_ID="4712")
    wait_for((tmp_path / "state" / "jobs" / "4712.end").exists)
