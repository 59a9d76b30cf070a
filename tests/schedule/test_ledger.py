"""The ledger: one lock, safe against crashes, equal to what runs whoever is killed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.rigs.forked import command_server, start_command

from penstock.cli.main import cli
from penstock.errors import DataError, MissingError, PenstockError
from penstock.schedule import ledger as ledger_module
from penstock.schedule.application import Curve
from penstock.schedule.job import Job
from penstock.schedule.ledger import Grant, Ledger
from penstock.schedule.queue import parse_jobs

CURVE = Curve((1, 2, 4, 8), (1e9, 1.9e9, 3.6e9, 6.8e9))
HEAVY = Grant(Job("heavy", 100, 100.0, 4e11, CURVE, resources=(0, 1, 2, 3)), 12.5, "{}")
LIGHT = Grant(Job("light", 1, resources=(5,)), 13.5, "{}")

SITE = """
[platform]
resources = 128
compute_nodes = 1000
[next]
name = "{name}"
compute_nodes = 2
best_count = 2
directory = "/scratch/{name}"
"""
JOBS = 50


def site_for(directory: Path, name: str) -> str:
    path = directory / f"{name}.toml"
    path.write_text(SITE.format(name=name))
    return str(path)


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["schedule", "advise", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_ledger_follows_jobs_that_come_and_go(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "jobs.jsonl")
    assert ledger.read().grants == ()
    with ledger.locked() as book:
        book.start(HEAVY)
    with ledger.locked() as book:
        book.start(LIGHT)
    assert ledger.read().grants == (HEAVY, LIGHT)
    with ledger.locked() as book:
        assert book.end("heavy") == HEAVY
        with pytest.raises(MissingError, match="'heavy' is not running"):
            book.end("heavy")
        with pytest.raises(DataError, match="already running"):
            book.start(LIGHT)
    assert ledger.read().running == (LIGHT.job,)


def test_ledger_survives_a_torn_line_and_refuses_a_damaged_one(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    with Ledger(path).locked() as book:
        book.start(HEAVY)
    with path.open("a") as stream:
        stream.write('{"event": "start", "job"')
    with Ledger(path).locked() as book:
        assert book.grants == (HEAVY,)
        book.end("heavy")
    assert Ledger(path).read().grants == ()
    path.write_text("nonsense\n")
    with pytest.raises(DataError, match="line 1"):
        Ledger(path).read()


def test_ledger_cut_at_any_byte_reads_as_before_or_after(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    with Ledger(path).locked() as book:
        book.start(LIGHT)
        book.end("light")
        book.start(HEAVY)
    whole = path.read_bytes()
    seen = set()
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        seen.add(tuple(job.name for job in Ledger(path).read().running))
    assert seen == {(), ("light",), ("heavy",)}


def test_ledger_forgets_what_ended_long_ago(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "MOST_DEAD_LINES", 10)
    path = tmp_path / "jobs.jsonl"
    with Ledger(path).locked() as book:
        book.start(HEAVY)
        for number in range(50):
            book.start(replace(LIGHT, job=replace(LIGHT.job, name=f"job{number}")))
            book.end(f"job{number}")
    assert len(path.read_text().splitlines()) < 20
    assert Ledger(path).read().grants == (HEAVY,)


def test_torn_line_of_any_length_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "TAIL_BYTES", 16)
    for torn in (1, 15, 16, 17, 500):
        path = tmp_path / f"{torn}.jsonl"
        ledger = Ledger(path)
        for grant in (HEAVY, LIGHT):
            with path.open("ab") as stream:
                stream.write(b"x" * torn)
            with ledger.locked() as book:
                book.start(grant)
        assert [grant.job for grant in ledger.read().grants] == [HEAVY.job, LIGHT.job]


def test_ledger_mentions_directories_of_jobs_that_run_or_ended(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "jobs.jsonl")
    where = '/scratch/a "b"/ü'
    with ledger.locked() as book:
        book.start(replace(LIGHT, job=replace(LIGHT.job, directory=where)))
        book.end("light")
    assert ledger.mentions(where) and not ledger.mentions("/scratch/other")
    assert Ledger(tmp_path / "none").mentions("/scratch/other"), "to be read, and then told what is wrong"


def test_ledger_does_not_wait_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    with Ledger(path).locked() as book, pytest.raises(PenstockError, match="has held"):
        book.start(HEAVY)
        with Ledger(path, wait_s=0.1).locked():
            pass
    assert Ledger(path).read().grants == (HEAVY,)


def test_ledger_in_no_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such directory"), Ledger(tmp_path / "no" / "l").locked():
        pass


def test_full_disk_records_nothing(tmp_path: Path) -> None:
    # A limit on the size of files refuses a write as a full disk does, in the middle of a line.
    path = tmp_path / "jobs.jsonl"
    with Ledger(path).locked() as book:
        book.start(LIGHT)
    limit = path.stat().st_size + 20
    program = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
from penstock.cli.main import main
main()
"""
    site = site_for(tmp_path, "big")
    command = [sys.executable, "-c", program, "schedule", "advise", site, "--ledger", str(path), "--start"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "nothing was recorded" in done.stderr
    assert Ledger(path).read().grants == (LIGHT,)


def test_second_start_answers_as_the_first_did(tmp_path: Path) -> None:
    ledger = str(tmp_path / "jobs.jsonl")
    first = run(site_for(tmp_path, "a"), "--ledger", ledger, "--start")
    run(site_for(tmp_path, "b"), "--ledger", ledger, "--start")
    assert run(site_for(tmp_path, "a"), "--ledger", ledger, "--start") == first
    listed = run(site_for(tmp_path, "a"), "--ledger", ledger, "--list")["jobs"]
    assert [(job["name"], job["resources"]) for job in listed] == [("a", [0, 1]), ("b", [2, 3])]


def test_end_says_how_to_undo(tmp_path: Path) -> None:
    ledger = str(tmp_path / "jobs.jsonl")
    site = site_for(tmp_path, "a")
    first = run(site, "--ledger", ledger, "--start")
    ended = run(site, "--ledger", ledger, "--end", "a")
    assert ended == {
        "ended": "a",
        "freed": [0, 1],
        "running": 0,
        "undo": first["commands"]["undo"],
        "undone": None,
    }


@pytest.mark.parametrize(
    "text",
    [
        "b\n# a comment\nelsewhere\n",
        '{"jobs": [{"job_id": 7, "name": "b", "job_state": "RUNNING"},'
        ' {"job_id": 9, "name": "elsewhere", "job_state": ["COMPLETING"]},'
        ' {"job_id": 8, "name": "a", "job_state": "COMPLETED"}]}',
        "JobID|JobName|State|NNodes|Elapsed\n7|b|RUNNING|2|00:10\n7.batch|batch|RUNNING|1|00:10\n"
        "8|a|CANCELLED by 0|2|00:03\n9|elsewhere|RUNNING|1|00:01\n",
        "7|RUNNING|2|root|0:10|b\n8|PENDING|2|root|0:00|a\n9|RUNNING|1|root|0:10|elsewhere\n",
        "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n7 all b root R 0:10 2 n[1-2]\n"
        "8 all a root PD 0:00 2 (Resources)\n9 all elsewhere root R 0:10 1 n3\n",
    ],
    ids=["list", "squeue-json", "sacct", "squeue-format", "squeue-table"],
)
def test_reconcile_ends_what_does_not_run(text: str, tmp_path: Path) -> None:
    ledger = str(tmp_path / "jobs.jsonl")
    for name in ("a", "b"):
        run(site_for(tmp_path, name), "--ledger", ledger, "--start")
    (tmp_path / "jobs").write_text(text)
    found = run(site_for(tmp_path, "a"), "--ledger", ledger, "--reconcile", "--jobs", str(tmp_path / "jobs"))
    assert [left["name"] for left in found["ended"]] == ["a"] and found["running"] == ["b"]
    assert found["unrecorded"] == ["9" if "9" in text else "elsewhere"]
    assert found["ended"][0]["freed"] == [0, 1] and found["ended"][0]["undo"]
    assert [job.name for job in Ledger(Path(ledger)).read().running] == ["b"]


def test_reconcile_without_an_answer_ends_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = str(tmp_path / "jobs.jsonl")
    site = site_for(tmp_path, "a")
    run(site, "--ledger", ledger, "--start")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(MissingError, match="squeue"):
        run(site, "--ledger", ledger, "--reconcile")
    (tmp_path / "bin" / "squeue").write_text("#!/bin/sh\necho 'cannot contact the controller' >&2\nexit 1\n")
    (tmp_path / "bin" / "squeue").chmod(0o755)
    with pytest.raises(PenstockError, match="cannot contact the controller"):
        run(site, "--ledger", ledger, "--reconcile")
    # What Debian's squeue --json prints, with exit code 0, while slurmctld is down.
    error = '{"description": "Failed while looking for jobs", "error_number": -1}'
    (tmp_path / "jobs").write_text(f'{{"meta": {{}}, "errors": [{error}], "jobs": []}}')
    with pytest.raises(PenstockError, match="Failed while looking for jobs"):
        run(site, "--ledger", ledger, "--reconcile", "--jobs", str(tmp_path / "jobs"))
    (tmp_path / "jobs").write_text('{"jobs": 3}')
    with pytest.raises(DataError, match="not a list of jobs"):
        run(site, "--ledger", ledger, "--reconcile", "--jobs", str(tmp_path / "jobs"))
    assert [job.name for job in Ledger(Path(ledger)).read().running] == ["a"]


def test_concurrent_starts_and_ends_killed_at_random_leave_what_runs(tmp_path: Path) -> None:
    """Fifty jobs start at once, some twice; half of them end at once. A third of all processes is killed."""
    rng = random.Random(28)
    ledger = tmp_path / "jobs.jsonl"
    names = [f"job{number}" for number in range(JOBS)]
    sites = {name: site_for(tmp_path, name) for name in names}
    starts = [(name, (sites[name], "--ledger", str(ledger), "--start")) for name in names + names[:10]]
    answers: dict[str, Any] = {}
    kills = 0
    with command_server() as context:

        def together(work: list[tuple[str, tuple[str, ...]]], kill: bool) -> list[tuple[str, int, str]]:
            """Run all at once; returns each job's exit code and output."""
            nonlocal kills
            outputs = [tmp_path / f"out{index}" for index in range(len(work))]
            doomed = set(rng.sample(range(len(work)), len(work) // 3 if kill else 0))
            running = []
            for index, ((_, arguments), output) in enumerate(zip(work, outputs, strict=True)):
                output.touch()
                process = start_command(context, ["schedule", "advise", *arguments, "--json"], output)
                running.append(process)
                if index in doomed:
                    # At once, while others work: later it may have ended by itself.
                    time.sleep(rng.uniform(0, 0.03))
                    process.kill()
            for process in running:
                process.join(120)
            kills += sum(process.exitcode == -9 for process in running)
            return [
                (name, process.exitcode if process.exitcode is not None else -1, output.read_text())
                for (name, _), process, output in zip(work, running, outputs, strict=True)
            ]

        for kill in (True, True, False):
            for name, code, text in together([one for one in starts if one[0] not in answers], kill):
                if code == 0:
                    assert answers.setdefault(name, json.loads(text)) == json.loads(text)
        assert set(answers) == set(names) and kills > 0
        ends = [(name, (sites[name], "--ledger", str(ledger), "--end", name)) for name in names[::2]]
        ended: set[str] = set()
        for kill in (True, False):
            for name, code, _ in together([one for one in ends if one[0] not in ended], kill):
                if code in (0, 3):
                    ended.add(name)
    assert ended == set(names[::2])
    alive = names[1::2]
    listed = run(sites["job1"], "--ledger", str(ledger), "--list")["jobs"]
    assert sorted(job["name"] for job in listed) == sorted(alive)
    assert {job["name"]: job["resources"] for job in listed} == {n: answers[n]["resources"] for n in alive}
    # There are enough OSTs for everybody, so nobody decided in ignorance of another.
    used = [resource for name in names for resource in answers[name]["resources"]]
    assert len(set(used)) == len(used) == 2 * JOBS
    assert len({answer["commands"]["pool"] for answer in answers.values()}) == JOBS


def test_job_that_completes_still_holds_its_nodes() -> None:
    jobs = [
        {"job_id": 7, "job_state": ["COMPLETED", "COMPLETING"]},
        {"job_id": 8, "job_state": ["FAILED"]},
    ]
    newer = json.dumps({"jobs": jobs})
    assert [(job.id, job.holds_resources) for job in parse_jobs(newer, "squeue")] == [
        ("7", True),
        ("8", False),
    ]


def test_tasks_of_an_array_are_known_by_their_own_ids_or_refused() -> None:
    both = "JobID|JobIDRaw|State\n100_3|104|RUNNING\n100_3.batch|104.batch|RUNNING\n100_[4-9]|100|PENDING\n"
    assert [(job.id, job.holds_resources) for job in parse_jobs(both, "sacct")] == [
        ("104", True),
        ("100", False),
    ]
    with pytest.raises(DataError, match=r"sacct: 100_3 is part of an array.*JobIDRaw"):
        parse_jobs("JobID|State\n100_3|RUNNING\n", "sacct")
    with pytest.raises(DataError, match="JobIDRaw"):
        parse_jobs(
            "JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)\n7_1 all b me R 0:10 2 n1\n", "squeue"
        )
