"""The hooks in a real Slurm: jobs arrive, get their OSTs, leave, and nothing is left behind."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.rigs.served import wait_for
from tests.slurm_site import HOOKS, PATIENCE_S, Site

from penstock.schedule.queue import parse_jobs

pytestmark = pytest.mark.live


@pytest.fixture
def site(slurm_site: Site) -> Site:
    return slurm_site


def test_job_gets_its_osts_and_gives_them_back(site: Site) -> None:
    run = site.directory("run1")
    comment = f"--comment=penstock dir={run} best=3"
    script = 'echo "osts=$PENSTOCK_OSTS lfs=$PENSTOCK_LFS"; while [ ! -e go1 ]; do sleep 0.1; done'
    job = site.cluster.submit(script, comment, f"--chdir={site.home}")
    wait_for(lambda: "osts=" in site.cluster.output(job), PATIENCE_S)
    osts = site.jobs()[job]
    listed = ",".join(map(str, osts))
    assert len(osts) == 3
    assert site.cluster.output(job) == f"osts={listed} lfs=lfs setstripe -c 3 -o {listed} {run}\n"
    assert site.layouts()[str(run)]["components"][0]["osts"] == osts
    (site.home / "go1").touch()
    site.wait_for_empty()
    assert site.cluster.state(job) == "COMPLETED"
    assert str(run) not in site.layouts() and not list((site.home / "exports").iterdir())


def test_jobs_that_come_together_share_no_ost(site: Site) -> None:
    waiting = 'echo "$PENSTOCK_OSTS"; while [ ! -e go2 ]; do sleep 0.1; done'
    jobs = [
        site.cluster.submit(waiting, f"--chdir={site.home}", f"--job-name=ocean{number}")
        for number in range(5)
    ]
    wait_for(lambda: all(site.cluster.output(job).strip() for job in jobs), PATIENCE_S)
    recorded = site.jobs()
    assert sorted(recorded) == sorted(jobs)
    used = [ost for job in jobs for ost in recorded[job]]
    assert len(used) == len(set(used)) == 20
    assert all(site.cluster.output(job).strip() == ",".join(map(str, recorded[job])) for job in jobs)
    # What Slurm says of them, read in both of its formats.
    said = parse_jobs(site.cluster.run("squeue", "--json"), "squeue")
    held = {job.id for job in said if job.holds_resources}
    text = site.cluster.run("squeue", "--noheader", "--format=%A|%T|%D|%u|%M|%j")
    assert held == {job.id for job in parse_jobs(text, "squeue") if job.holds_resources} == set(jobs)
    assert {(job.name, job.nodes, job.user) for job in said if job.id == jobs[0]} == {("ocean0", 1, "root")}
    # One is killed, one is cancelled, the others leave by themselves.
    site.cluster.run("scancel", "--signal=KILL", "--full", jobs[0])
    site.cluster.run("scancel", jobs[1])
    (site.home / "go2").touch()
    site.wait_for_empty()


def test_controller_killed_in_the_middle_loses_nothing(site: Site) -> None:
    run = site.directory("run3")
    waiting = 'echo "$PENSTOCK_OSTS"; while [ ! -e go3 ]; do sleep 0.1; done'
    job = site.cluster.submit(waiting, f"--chdir={site.home}", f"--comment=penstock dir={run} best=2")
    wait_for(lambda: bool(site.cluster.output(job).strip()), PATIENCE_S)
    site.cluster.wait_until_saved(job)
    site.cluster.kill("slurmctld")
    with pytest.raises(RuntimeError, match="exit 1"):
        site.ask("--reconcile")
    assert list(site.jobs()) == [job]
    site.cluster.start_controller()
    assert site.ask("--reconcile")["running"] == [job]
    (site.home / "go3").touch()
    site.wait_for_empty()
    assert str(run) not in site.layouts()


def test_reconcile_makes_good_for_lost_events(site: Site) -> None:
    run = site.directory("run4")
    waiting = 'echo "$PENSTOCK_OSTS"; while [ ! -e go4 ]; do sleep 0.1; done'
    epilog = site.home / "epilog-slurmctld.sh"
    whole = epilog.read_text()
    epilog.write_text("#!/bin/sh\nexit 0\n")
    try:
        job = site.cluster.submit(waiting, f"--chdir={site.home}", f"--comment=penstock dir={run}")
        wait_for(lambda: bool(site.cluster.output(job).strip()), PATIENCE_S)
        assert str(run) in site.layouts()
        (site.home / "go4").touch()
        wait_for(lambda: not site.cluster.active_jobs(), PATIENCE_S)
        assert list(site.jobs()) == [job]
    finally:
        epilog.write_text(whole)
    assert [left["name"] for left in site.reconcile()["ended"]] == [job]
    assert not site.jobs() and str(run) not in site.layouts()
    assert not list((site.home / "exports").iterdir())


@pytest.mark.parametrize("broken", ["no penstock", "ledger is no ledger", "lfs hangs", "no configuration"])
def test_hooks_never_fail_a_job(broken: str, site: Site) -> None:
    run = site.directory(f"run-{broken.replace(' ', '-')}")
    conf = site.home / "schedule.conf"
    lfs = site.home / "lustre" / "bin" / "lfs"
    before = {path: path.read_text() for path in (conf, lfs)}
    try:
        if broken == "no penstock":
            conf.write_text(before[conf].replace("penstock=", "penstock=/nowhere"))
        elif broken == "ledger is no ledger":
            (site.home / "broken.jsonl").write_text("nonsense\n")
            conf.write_text(before[conf].replace("jobs.jsonl", "broken.jsonl"))
        elif broken == "lfs hangs":
            lfs.write_text("#!/bin/sh\nexec sleep 1000\n")
            conf.write_text(before[conf].replace("most_seconds=60", "most_seconds=1"))
        else:
            conf.unlink()
        job = site.cluster.submit("echo done", f"--comment=penstock dir={run}")
        wait_for(lambda: not site.cluster.active_jobs(), PATIENCE_S)
        assert site.cluster.state(job) == "COMPLETED" and site.cluster.output(job) == "done\n"
        assert "drain" not in site.cluster.run("sinfo", "--noheader", "--format=%T")
    finally:
        for path, text in before.items():
            path.write_text(text)
    # A hook that was cut off may have recorded the start but not the end.
    site.reconcile()
    assert not site.jobs() and not site.layouts()


def test_submission_tells_wrong_hints_and_takes_the_job(site: Site) -> None:
    script = site.home / "hinted.sh"
    script.write_text("#!/bin/sh\ntrue\n")
    comment = "mine; penstock io=lots clas=shared dir=relative family=accent best=2"
    command = ["sbatch", "--parsable", f"--comment={comment}", "--output=/dev/null", str(script)]
    done = subprocess.run(command, env=site.cluster.environment, capture_output=True, text=True, check=True)
    assert all(
        word in done.stderr for word in ("'io=lots'", "'clas=shared'", "'dir=relative'", "'family=accent'")
    )
    assert "best=2" not in done.stderr
    site.wait_for_empty()
    assert site.cluster.state(done.stdout.strip()) == "COMPLETED"


def test_licences_make_jobs_wait_for_bandwidth(site: Site) -> None:
    waiting = "while [ ! -e go6 ]; do sleep 0.1; done"
    first = site.cluster.submit(waiting, f"--chdir={site.home}", "--comment=penstock rate=800")
    wait_for(lambda: site.cluster.state(first) == "RUNNING", PATIENCE_S)
    second = site.cluster.submit("true", "--comment=penstock rate=300")
    third = site.cluster.submit("true", "--comment=penstock rate=200")
    wait_for(lambda: site.cluster.state(third) == "COMPLETED", PATIENCE_S)
    assert site.cluster.state(second) == "PENDING"
    (site.home / "go6").touch()
    site.wait_for_empty()
    assert site.cluster.state(second) == "COMPLETED"


def test_task_prolog_prints_only_what_was_told(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    conf.write_text(f"exports={tmp_path}\n")
    hook = tmp_path / "task-prolog.sh"
    hook.write_text((HOOKS / "task-prolog.sh").read_text().replace("/etc/penstock/schedule.conf", str(conf)))
    (tmp_path / "7.env").write_text(
        "PENSTOCK_OSTS=1,2\nLD_PRELOAD=/evil\nPENSTOCK_LFS=lfs setstripe -o 1,2 '/a b'\n"
    )
    shutil.copy(tmp_path / "7.env", tmp_path / "real")
    (tmp_path / "8.env").symlink_to(tmp_path / "real")
    printed = {}
    for job in ("7", "8", "9", "../7", ""):
        done = subprocess.run(
            ["/bin/sh", str(hook)], env={"SLURM_JOB_ID": job}, capture_output=True, text=True, check=True
        )
        printed[job] = done.stdout
    assert printed.pop("7") == "export PENSTOCK_OSTS=1,2\nexport PENSTOCK_LFS=lfs setstripe -o 1,2 '/a b'\n"
    assert set(printed.values()) == {""}


def test_array_tasks_in_one_directory_give_back_what_was_there(site: Site) -> None:
    run = site.directory("run7")
    waiting = 'echo "$PENSTOCK_OSTS"; while [ ! -e go7 ]; do sleep 0.1; done'
    options = (f"--chdir={site.home}", "--array=0-2", f"--comment=penstock dir={run} best=2")
    site.cluster.submit(waiting, *options)
    wait_for(lambda: len(site.jobs()) == 3, PATIENCE_S)
    # Hooks and squeue know each task by an id of its own.
    found = site.reconcile()
    assert found["ended"] == [] and sorted(found["running"]) == sorted(site.jobs())
    wait_for(lambda: str(run) in site.layouts(), PATIENCE_S)
    assert site.layouts()[str(run)]["components"][0]["osts"] in site.jobs().values()
    (site.home / "go7").touch()
    site.wait_for_empty()
    assert site.reconcile()["not_undone"] == [] and str(run) not in site.layouts()
