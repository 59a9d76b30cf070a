"""Layouts and pools that jobs leave behind: given back whoever is killed, shares a directory, or starts twice."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.rigs.forked import command_server, start_command
from tests.rigs.lustre_tools import change_state, install_tools, tool_state

from penstock.cli.main import cli
from penstock.schedule import lifecycle
from penstock.schedule.ledger import Ledger
from penstock.schedule.lfs import run_tool

SITE = """
[platform]
resources = 32
compute_nodes = 100
fsname = "scratch"
apply = "{how}"
[next]
name = "{name}"
compute_nodes = 4
best_count = 2
directory = "{directory}"
"""
ORIGINAL = ("-c", "3", "-S", "4194304", "-i", "5")


class Place:
    """A stand-in file system with a ledger beside it, and commands about jobs in its directories."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.tools = home / "lustre"
        self.ledger = home / "jobs.jsonl"

    def directory(self, name: str) -> Path:
        path = self.home / name
        path.mkdir()
        run_tool(["lfs", "setstripe", *ORIGINAL, str(path)])
        return path

    def site(self, name: str, directory: Path | str, how: str = "directory") -> str:
        path = self.home / f"{name}.toml"
        path.write_text(SITE.format(name=name, directory=directory, how=how))
        return str(path)

    def arguments(self, site: str, *words: str) -> list[str]:
        return ["schedule", "advise", site, "--ledger", str(self.ledger), *words, "--json"]

    def ask(self, site: str, *words: str) -> tuple[dict[str, Any], str]:
        result = CliRunner().invoke(cli, self.arguments(site, *words), catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout), result.stderr

    def start(self, site: str) -> tuple[dict[str, Any], str]:
        return self.ask(site, "--start", "--apply")

    def end(self, name: str) -> tuple[dict[str, Any], str]:
        return self.ask(str(self.home / f"{name}.toml"), "--end", name, "--apply")

    def reconcile(self, site: str, *words: str) -> tuple[dict[str, Any], str]:
        return self.ask(site, "--reconcile", "--jobs", "/dev/null", *words)

    def layout(self, directory: Path) -> dict[str, Any]:
        found: dict[str, Any] = tool_state(self.tools)["layouts"][str(directory)]["components"][-1]
        return found

    def is_original(self, directory: Path) -> bool:
        now = self.layout(directory)
        return (now["count"], now["size"], now["offset"], now["osts"]) == (3, 4194304, 5, [])


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("PATH", f"{install_tools(tmp_path / 'lustre', 32)}:{os.environ['PATH']}")
    return Place(tmp_path)


@pytest.mark.parametrize("first", ["a", "b"])
def test_jobs_in_one_directory_leave_the_layout_that_was_there(first: str, place: Place) -> None:
    run = place.directory("run")
    answer, _ = place.start(place.site("a", run))
    other, said = place.start(place.site("b", f"{run}/"))
    assert "not applied" in said and "layout of job a" in said
    # The running job keeps its OSTs, and nobody takes its layout for the one to go back to.
    assert place.layout(run)["osts"] == answer["resources"]
    assert other["commands"]["undo"][0] == answer["commands"]["undo"][0]
    for name in (first, "b" if first == "a" else "a"):
        place.end(name)
    assert place.is_original(run)


def test_end_that_cannot_undo_is_made_good_by_reconcile(place: Place) -> None:
    run = place.directory("run")
    site = place.site("a", run)
    answer, _ = place.start(site)
    lfs = place.tools / "bin" / "lfs"
    whole = lfs.read_text()
    lfs.write_text("#!/bin/sh\necho 'server does not answer' >&2\nexit 1\n")
    ended, said = place.end("a")
    assert not ended["undone"] and "server does not answer" in said
    assert not place.ask(site, "--list")[0]["jobs"]
    lfs.write_text(whole)
    assert place.layout(run)["osts"] == answer["resources"]
    assert place.reconcile(site)[0]["not_undone"] == ["a"]
    found, said = place.reconcile(site, "--apply")
    assert found["not_undone"] == [] and found["ended"] == [] and said == ""
    assert place.is_original(run) and Ledger(place.ledger).read().left == ()


def test_what_cannot_be_undone_for_a_week_is_given_up(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    site = place.site("a", place.directory("run"))
    place.start(site)
    (place.tools / "bin" / "lfs").write_text("#!/bin/sh\necho 'permission denied' >&2\nexit 1\n")
    place.end("a")
    assert place.reconcile(site, "--apply")[0]["not_undone"] == ["a"]
    monkeypatch.setattr(lifecycle, "TRY_FOR_S", 0.0)
    found, said = place.reconcile(site, "--apply")
    assert found["not_undone"] == [] and "undo it by hand: lfs setstripe -c 3" in said


def test_next_job_in_a_directory_left_behind_still_gives_back_the_original(place: Place) -> None:
    run = place.directory("run")
    place.start(place.site("a", run))
    with Ledger(place.ledger).locked() as book:
        # As a hook leaves it that is killed after it has recorded the end.
        book.end("a")
    answer, said = place.start(place.site("b", run))
    assert said == "" and place.layout(run)["osts"] == answer["resources"] == [0, 1]
    (place.home / "jobs").write_text("b\n")
    found, said = place.ask(
        place.site("b", run), "--reconcile", "--jobs", str(place.home / "jobs"), "--apply"
    )
    # Both had the same OSTs, and yet the second job's layout is not taken for what the first one left.
    assert found["not_undone"] == [] and said == "" and place.layout(run)["osts"] == [0, 1]
    place.end("b")
    assert place.is_original(run) and Ledger(place.ledger).read().left == ()


def test_directory_that_is_gone_needs_nothing_back(place: Place) -> None:
    run = place.directory("run")
    place.start(place.site("a", run))
    run.rmdir()
    assert place.end("a")[0]["undone"]
    assert Ledger(place.ledger).read().left == ()


def test_second_start_keeps_the_pool_of_the_first(place: Place) -> None:
    run = place.directory("run")
    site = place.site("a", run, "pool")
    answer, _ = place.start(site)
    pool = answer["commands"]["pool"]
    before = tool_state(place.tools)
    assert place.start(site) == (answer, "")
    assert tool_state(place.tools)["pools"] == before["pools"] and place.layout(run)["pool"] == pool
    place.end("a")
    assert place.is_original(run) and tool_state(place.tools)["pools"] == {}


def test_start_that_was_cut_off_is_finished_by_the_next(place: Place) -> None:
    run = place.directory("run")
    site = place.site("a", run, "pool")
    answer, _ = place.start(site)
    pool = answer["commands"]["pool"]
    run_tool(["lfs", "setstripe", *ORIGINAL, str(run)])
    assert place.start(site) == (answer, "")
    assert place.layout(run)["pool"] == pool


def test_pool_of_somebody_else_is_never_touched(place: Place) -> None:
    run = place.directory("run")
    change_state(place.tools, pools={"ps_a": ["scratch-OST0000", "scratch-OST0001"]})
    _, said = place.start(place.site("a", run, "pool"))
    assert "already exists" in said and place.is_original(run)
    assert place.end("a")[0]["undone"] is None
    assert tool_state(place.tools)["pools"] == {"ps_a": ["scratch-OST0000", "scratch-OST0001"]}


def test_ledger_rewritten_keeps_what_is_not_given_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    site = place.site("a", place.directory("run"))
    place.start(site)
    monkeypatch.setattr("penstock.schedule.ledger.MOST_DEAD_LINES", 0)
    with Ledger(place.ledger).locked() as book:
        grant = book.end("a")
        for _ in range(3):
            book.start(grant)
            book.unapplied("a")
            book.end("a")
    (left,) = Ledger(place.ledger).read().left
    assert left.job == grant.job and left.ended_s is not None
    place.reconcile(site, "--apply")
    assert Ledger(place.ledger).read().left == ()


def test_kills_at_random_leave_no_layout_behind(place: Place) -> None:
    """Starts and ends that change layouts, half of them killed; then one reconcile against what runs."""
    rng = random.Random(29)
    names = [f"job{number}" for number in range(6)]
    runs = {name: place.directory(name) for name in names}
    sites = {name: place.site(name, runs[name]) for name in names}
    killed = 0
    with command_server() as context:

        def together(words: Mapping[str, tuple[str, ...]], kills: int, within_s: float = 0.0) -> None:
            nonlocal killed
            doomed = rng.sample(list(words), kills)
            running = []
            for name, options in words.items():
                output = place.home / f"{name}.out"
                process = start_command(context, place.arguments(sites[name], *options), output)
                running.append(process)
                if name in doomed:
                    # Soon after its own start: later it may have ended by itself.
                    time.sleep(rng.uniform(0, within_s))
                    process.kill()
            for process in running:
                process.join(120)
            killed += sum(process.exitcode == -9 for process in running)

        starts = dict.fromkeys(names, ("--start", "--apply"))
        ends = {name: ("--end", name, "--apply") for name in names[:4]}
        # How long a command takes differs between machines: the first kills meet every one of them.
        for within_s in (0.001, 0.03, 0.1, 0.4):
            together(starts, 3, within_s)
        together(starts, 0)
        for within_s in (0.001, 0.03, 0.1):
            together(ends, 2, within_s)
    alive = names[4:]
    assert killed > 0
    (place.home / "jobs").write_text("\n".join(alive) + "\n")
    found, _ = place.ask(sites["job0"], "--reconcile", "--jobs", str(place.home / "jobs"), "--apply")
    assert sorted(found["running"]) == alive and found["not_undone"] == []
    assert all(place.is_original(runs[name]) for name in names[:4])
    listed = {job["name"]: job["resources"] for job in place.ask(sites["job0"], "--list")[0]["jobs"]}
    assert {name: place.layout(runs[name])["osts"] for name in alive} == listed


def as_slurm(place: Place, monkeypatch: pytest.MonkeyPatch, job_id: str, uid: int, directory: Path) -> str:
    """Start a job of a user through the hooks' environment; returns what was said."""
    site = place.home / "site.toml"
    site.write_text(SITE.split("[next]", maxsplit=1)[0].format(how="directory"))
    facts = {"ID": job_id, "UID": str(uid), "GID": str(uid), "NUM_NODES": "1"}
    for name, value in {**facts, "COMMENT": f"penstock best=2 dir={directory}"}.items():
        monkeypatch.setenv(f"SLURM_JOB_{name}", value)
    return place.ask(str(site), "--slurm", "--start", "--apply")[1]


def holders(place: Place, directory: Path) -> list[str]:
    return [grant.job.name for grant in Ledger(place.ledger).read().holders(str(directory))]


def open_to(place: Place, directory: Path, uid: int) -> None:
    """The directory is this user's; everybody may come there."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    os.chown(directory, uid, uid)
    for part in (directory, *directory.parents):
        if part.stat().st_uid == 0 and not part.stat().st_mode & 0o001:
            part.chmod(0o755)
    for path in (place.tools, *place.tools.rglob("*")):
        path.chmod(0o777)


def test_job_cannot_take_a_directory_that_its_owner_may_not_write(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = place.directory("hers")
    open_to(place, run, 4001)
    # A stand-in that every user can run: it shows the layout and takes every other one.
    shown = run_tool(["lfs", "getstripe", "-d", "--raw", str(run)])
    tools = place.home / "bin"
    tools.mkdir(mode=0o755)
    (tools / "shown").write_text(shown)
    (tools / "lfs").write_text(f'#!/bin/sh\n[ "$1" = setstripe ] || cat "{tools}/shown"\n')
    (tools / "lfs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    assert "not applied" in as_slurm(place, monkeypatch, "100", 4002, run)
    assert holders(place, run) == []
    assert "not applied" not in as_slurm(place, monkeypatch, "101", 4001, run)
    assert holders(place, run) == ["101"]


def test_layout_that_was_refused_is_not_held_by_the_job(place: Place) -> None:
    run = place.directory("run")
    osts = tool_state(place.tools)["osts"]
    change_state(place.tools, osts={})
    _, said = place.start(place.site("a", run))
    assert "not applied" in said
    assert holders(place, run) == []
    change_state(place.tools, osts=osts)
    _, said = place.start(place.site("b", run))
    assert "not applied" not in said
    assert holders(place, run) == ["b"]


def test_name_that_somebody_chose_keeps_no_job_of_another_alive(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = place.directory("run")
    open_to(place, run, 4001)
    as_slurm(place, monkeypatch, "100", 4001, run)
    queue = place.home / "queue"
    queue.write_text("JobID|JobName|State\n200|100|RUNNING\n")
    found, _ = place.ask(str(place.home / "site.toml"), "--reconcile", "--jobs", str(queue))
    assert [job["name"] for job in found["ended"]] == ["100"]
    # A job that was started by its name alone is known by nothing else.
    place.start(place.site("climate", place.directory("other")))
    queue.write_text("JobID|JobName|State\n200|climate|RUNNING\n")
    found, _ = place.ask(str(place.home / "site.toml"), "--reconcile", "--jobs", str(queue))
    assert (found["ended"], found["running"], found["unrecorded"]) == ([], ["climate"], [])


@pytest.mark.parametrize("hint", ["best=" + "9" * 5000, "io=" + "9" * 5000, "measured_on=" + "9" * 5000])
def test_hint_with_thousands_of_digits_is_a_complaint(
    place: Place, monkeypatch: pytest.MonkeyPatch, hint: str
) -> None:
    site = place.home / "site.toml"
    site.write_text(SITE.split("[next]", maxsplit=1)[0].format(how="directory"))
    for name, value in {"ID": "7", "UID": "0", "GID": "0", "NUM_NODES": "1"}.items():
        monkeypatch.setenv(f"SLURM_JOB_{name}", value)
    monkeypatch.setenv("SLURM_JOB_COMMENT", f"penstock {hint}")
    _, said = place.ask(str(site), "--slurm", "--start")
    assert said.count("\n") <= 2
