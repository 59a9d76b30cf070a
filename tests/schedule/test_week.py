"""Jobs that come and go: the replay, traces of both formats, and the commands that use them."""

from __future__ import annotations

import json
from dataclasses import replace
from html import unescape
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from tests.rigs.served import wait_for
from tests.slurm_site import PATIENCE_S, Site

from penstock.cli.main import cli
from penstock.errors import DataError, MissingError, PenstockError, UsageError
from penstock.schedule import ledger as ledger_module
from penstock.schedule.application import Application, ApplicationSet, Curve, Phase
from penstock.schedule.arrivals import FIRST_SEATS, Arrival, replay
from penstock.schedule.family import family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.job import Job
from penstock.schedule.jobtrace import BadLines, JobTrace, TraceJob, parse_trace, shown_name
from penstock.schedule.ledger import Grant, Ledger
from penstock.schedule.plan import allocate, place
from penstock.schedule.simulation import simulate
from penstock.schedule.site import load_site
from penstock.schedule.tracegen import TracePlan, generate_trace, sacct_text, swf_text
from penstock.schedule.week import match_ledger, match_trace

FLAT = Curve((1, 2, 4), (1e9, 2e9, 4e9))
SITE = """
[platform]
resources = 8
compute_nodes = 64
[[application]]
match = "ocean*"
io = 1e12
bandwidth = { 1 = 1e9, 2 = 1.9e9, 4 = 3e9 }
[[application]]
match = "guess"
best_count = 2
"""


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["schedule", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return path


def test_replay_of_jobs_that_come_together_is_the_exact_simulation() -> None:
    rng = Random(1)
    drawn = generate(Scenario(2 * FIRST_SEATS + 3, 0.9), family_profiles(), rng)
    equal = tuple(
        Application(a.name, a.compute_nodes, a.curve, (Phase(a.compute_s / 4, a.io_bytes / 4),) * 4)
        for a in drawn.applications
    )
    workload = ApplicationSet(drawn.resources, drawn.compute_nodes, equal)
    placed = place(workload, allocate(workload, "tcpu", rng), "greedy-non-clairvoyant", rng)
    ids = {a.name: some for a, some in zip(equal, placed, strict=True)}
    arrivals = [Arrival(Job(a.name, a.compute_nodes, a.compute_s, a.io_bytes, a.curve), 5.0) for a in equal]
    found = replay(arrivals, workload.resources, lambda running, job: ids[job.name], phases=4)
    exact = simulate(workload, placed)
    by_name = {job.name: job for job in found.jobs}
    for a, one in zip(equal, exact.experiences, strict=True):
        assert by_name[a.name].io_s == pytest.approx(one.io_s, rel=1e-9)
        assert by_name[a.name].slowdown == pytest.approx(one.io_slowdown, rel=1e-9)
    assert found.idle_nodes / workload.compute_nodes == pytest.approx(exact.machine_idle_time, rel=1e-9)
    assert sum(found.idle_over_time) * found.interval_s == pytest.approx(found.idle_nodes * found.span_s)


def test_replay_lets_jobs_meet_only_those_that_are_there() -> None:
    job = Job("a", 2, 10.0, 1e10, FLAT)
    seen: list[int] = []

    def first(running: Any, job: Job) -> tuple[int, ...]:
        seen.append(len(running))
        return (0,)

    # Each alone takes 20 s on one resource; the second comes while the first one writes, the third long after.
    arrivals = [
        Arrival(replace(job, name=name), start) for name, start in (("a", 0.0), ("b", 5.0), ("c", 500.0))
    ]
    jobs = {one.name: one for one in replay(arrivals, 1, first, phases=1).jobs}
    assert seen == [0, 1, 0]
    # From 15 s to 20 s b shares with a, which has 5 s of work left then: it ends at 25 s, b at 30 s.
    assert [jobs[name].end_s for name in "abc"] == pytest.approx([25.0, 30.0, 520.0])
    assert [jobs[name].io_s for name in "abc"] == pytest.approx([15.0, 15.0, 10.0])
    assert jobs["c"].slowdown == pytest.approx(1.0)


SACCT = """JobIDRaw|JobName|User|NNodes|Start|Elapsed|State|Comment
10|ocean-1|anna|4|2026-10-01T10:00:00|01:00:00|COMPLETED|
10.batch|batch||4|2026-10-01T10:00:00|01:00:00|COMPLETED|
11|other|ben|2|2026-10-01T09:00:00|2-00:00:30|TIMEOUT|
12|ocean-2|ben|2|Unknown|00:00:00|CANCELLED by 0|
13|mine|ben|2|2026-10-01T11:00:00|01:00:00|COMPLETED|penstock io=1TB best=2 family=ascent bandwidth=1GB
14|guess|ben|1|2026-10-01T11:00:01|01:00:00|COMPLETED|penstock oi=3
"""


def test_sacct_is_read_and_steps_and_jobs_that_never_ran_are_not_jobs() -> None:
    trace = parse_trace(SACCT, "x")
    assert [job.id for job in trace.jobs] == ["11", "10", "13", "14"] and trace.never_ran == 1
    assert (trace.jobs[0].elapsed_s, trace.jobs[1].start_s - trace.jobs[0].start_s) == (172830.0, 3600.0)
    assert trace.nodes == 6


def test_jobs_that_have_not_ended_and_bad_lines_are_counted(site: Path, tmp_path: Path) -> None:
    more = """20|ocean-3|anna|4|2026-10-01T10:00:00|00:30:00|RUNNING|
21|ocean-3|anna|4|Unknown|00:00:00|PENDING|
22|ocean|pipe|anna|4|2026-10-01T10:00:00|00:30:00|COMPLETED|
23|ocean-3|anna|x|2026-10-01T10:00:00|00:30:00|FAILED|
24|ocean-3|anna|y|2026-10-01T10:00:00|00:30:00|FAILED|
25|ocean-3|anna|4|2026-10-01T10:00:00|soon|OUT_OF_MEMORY|
26|ocean-3|anna|4
"""
    trace = parse_trace(SACCT + more, "x")
    assert trace.jobs == parse_trace(SACCT, "x").jobs and trace.never_ran == 1
    assert trace.unfinished == {"RUNNING": 1, "PENDING": 1}
    assert trace.bad == (
        BadLines("State is not known", 1, 10),
        BadLines("NNodes is not a number of nodes", 2, 11),
        BadLines("Elapsed is not a time", 1, 13),
        BadLines("fewer cells than headings", 1, 14),
    )
    path = tmp_path / "trace.txt"
    path.write_text(SACCT + more)
    arguments = ["study", "--site", str(site), "--trace", str(path), "--out", str(tmp_path / "week")]
    found = run(*arguments)
    assert found["unfinished"] == trace.unfinished and found["bad_lines"][1]["lines"] == 2
    page = Path(found["page"]).read_text()
    assert "4 jobs ran, " in page and "Left out of the trace: not finished, RUNNING: 1" in page
    told = CliRunner().invoke(cli, ["schedule", *arguments], catch_exceptions=False).stdout
    assert (
        "not finished, RUNNING: 1" in told and "bad lines, Elapsed is not a time: 1 (first: line 13)" in told
    )


def test_names_that_users_chose_are_shown_without_control_characters() -> None:
    assert shown_name("run\x1b[2J\u2028é") == "run\\x1b[2J\\u2028é"
    job = parse_trace("JobID|JobName|NNodes|Start|Elapsed\n1|a\x0b\x85b|2|100|00:00:10\n", "x").jobs[0]
    assert job.name == "a\x0b\x85b"


def test_swf_is_read() -> None:
    text = "; MaxNodes: 10\n; MaxProcs: 160\n1 100 20 60 33 -1 -1 33 -1 -1 1 7 -1 3 -1 -1 -1 -1\n2 0 0 -1 4 -1 -1 4"
    trace = parse_trace(text, "x")
    assert trace == JobTrace((TraceJob("1", "exe3", 3, 120.0, 60.0, "7"),), 1)
    odd = text.replace("MaxNodes: 10", "MaxNodes: nan")
    assert parse_trace(odd, "x").jobs[0].nodes == 33


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "trace.txt: it is empty"),
        ("hello world\n", "neither sacct"),
        ("JobID|Start\n", "no column 'nnodes'"),
        ("JobID|NNodes|Start|Elapsed\n", "no line of it can be used: it has no jobs"),
        (
            "JobID|NNodes|Start|Elapsed\n1|many|2026-10-01T10:00:00|00:00:10\n",
            "line 2: NNodes is not a number of nodes",
        ),
        ("; MaxNodes: 1\n1 2 x\n", "line 2: not a line of SWF"),
        ("; MaxNodes: 1\n1 2 0 nan 4\n", "line 2: not a line of SWF"),
        ("; MaxNodes: 1\n1 inf 0 60 4\n", "line 2: not a line of SWF"),
        ("; MaxNodes: 1\n1 2 0 60 1e30\n", "line 2: not a line of SWF"),
    ],
)
def test_bad_traces_are_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        parse_trace(text, "trace.txt")


def test_jobs_without_a_matching_application_do_no_io_and_are_counted(site: Path) -> None:
    matched = match_trace(parse_trace(SACCT, "x").jobs, load_site(site), site.parent, 1)
    assert [one.job.name for one in matched.arrivals] == ["10", "13"]
    assert matched.without_io == {"no application matches": 1, "no curve is known": 1}
    first = matched.arrivals[0].job
    assert first.io_bytes == 1e12 and first.compute_s == pytest.approx(3600 - 1000)


def test_hint_without_which_it_cannot_be_used_stops_no_study(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A family without a bandwidth, of one user among many, and in a hook."""
    hint = "penstock family=ascent io=1TB"
    jobs = f"14|lake|ben|1|2026-10-01T11:00:01|01:00:00|COMPLETED|{hint}\n15|ocean-9|ben|99|"
    trace = tmp_path / "trace.txt"
    trace.write_text(SACCT + jobs + f"2026-10-01T12:00:00|00:10:00|COMPLETED|{hint}\n")
    command = ["study", "--site", str(site), "--trace", str(trace), "--out", str(tmp_path)]
    found = run(*command)
    assert found["rules"][0]["jobs"] == 3 and found["without_io"]["no curve is known"] == 2
    assert found["larger_than_platform"] == 1
    told = CliRunner().invoke(cli, ["schedule", *command], catch_exceptions=False)
    assert "1 jobs ran on more nodes than the platform of" in told.stderr
    for name, value in {"ID": "7", "UID": "0", "GID": "0", "NUM_NODES": "1", "COMMENT": hint}.items():
        monkeypatch.setenv(f"SLURM_JOB_{name}", value)
    started = CliRunner().invoke(
        cli, ["schedule", "advise", str(site), "--slurm", "--json"], catch_exceptions=False
    )
    assert json.loads(started.stdout)["rule"] == "static"
    assert "hint: family=ascent needs a bandwidth" in started.stderr and started.exit_code == 0


def test_comment_with_a_bar_is_still_swf() -> None:
    trace = parse_trace("; Note: a|b\n1 100 20 60 4 -1 -1 4 -1 -1 1 7 -1 3 -1 -1 -1 -1\n", "x")
    assert [job.name for job in trace.jobs] == ["exe3"]


def test_generated_traces_keep_within_the_machine_and_read_back(site: Path) -> None:
    plan = TracePlan(400, 1.0, 64, ("ocean1",), 0.4)
    made = generate_trace(plan, Random(2))
    assert made == generate_trace(plan, Random(2)) and len(made) == 400
    read = parse_trace(sacct_text(made), "x")
    assert read.nodes <= 64 and read.never_ran == 0
    first = made[0].start_s
    shifted = [
        (job.id, job.name, job.nodes, job.start_s - read.jobs[0].start_s, job.elapsed_s) for job in read.jobs
    ]
    assert shifted == [(job.id, job.name, job.nodes, job.start_s - first, job.elapsed_s) for job in made]
    other = parse_trace(swf_text(made, 64), "x")
    assert [(job.name, job.nodes, job.start_s, job.elapsed_s) for job in other.jobs] == [
        (job.name, job.nodes, job.start_s, job.elapsed_s) for job in made
    ]
    assert match_trace(other.jobs, load_site(site), site.parent, 1).arrivals
    names = {job.name for job in made}
    assert "ocean1" in names and len(names) > 5


def test_study_of_a_trace_writes_one_page(site: Path, tmp_path: Path) -> None:
    trace = str(tmp_path / "trace.txt")
    made = run("generate", "--site", str(site), "--jobs", "120", "--days", "0.5", "--out", trace)
    assert made["jobs"] == 120 and made["most_nodes"] <= 64
    found = run("study", "--site", str(site), "--trace", trace, "--out", str(tmp_path / "week"))
    before, after = found["rules"]
    assert (before["rule"], after["rule"]) == ("without", "idle-nodes")
    assert before["jobs"] == after["jobs"] == 120 - sum(found["without_io"].values())
    assert after["mean_slowdown"] < before["mean_slowdown"] and after["idle_nodes"] < before["idle_nodes"]
    page = Path(found["page"]).read_text()
    assert page.count("<svg") >= 4 and "no application matches" in page and "ocean1" in page
    with pytest.raises(UsageError, match="belong together"):
        run("study", "--trace", trace)


@pytest.mark.parametrize(
    "words",
    [
        ("generate", "--days", "nan"),
        ("generate", "--days", "inf"),
        ("generate", "--days", "1e9"),
        ("generate", "--others", "nan"),
        ("advise", "--ledger", "jobs.jsonl", "--compare", "nan"),
    ],
)
def test_numbers_that_are_none_are_refused(words: tuple[str, ...], site: Path) -> None:
    command, *rest = words
    where = ["--site", str(site)] if command == "generate" else [str(site)]
    refused = CliRunner().invoke(cli, ["schedule", command, *where, *rest])
    assert refused.exit_code == 2 and f"Invalid value for '{rest[-2]}'" in refused.stderr


def granted(name: str, start_s: float, end_s: float | None) -> Grant:
    return Grant(Job(name, 4, 1000.0, 1e12, FLAT, resources=(0,)), start_s, "{}", end_s)


def test_ledger_history_survives_being_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "MOST_DEAD_LINES", 6)
    ledger = Ledger(tmp_path / "jobs.jsonl")
    for index in range(12):
        with ledger.locked() as book:
            book.start(granted(f"j{index}", 100.0 + index, None))
            if index != 5:
                book.end(f"j{index}")
    assert ledger_module.history_path(ledger.path).exists()
    assert len(ledger.path.read_text().splitlines()) < 12
    assert [one.job.name for one in ledger.history()] == [f"j{index}" for index in range(12)]
    assert [one.job.name for one in ledger.history(since_s=1e12)] == ["j5"]
    assert [one.job.name for one in ledger.read().grants] == ["j5"]


def test_compare_replays_the_ledger_under_every_rule(site: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "jobs.jsonl"
    text = (
        SITE
        + '[next]\nname = "{}"\ncompute_nodes = 8\ncompute = 600\nio = 1e12\nbandwidth = {{ 1 = 1e9, 4 = 3e9 }}\n'
    )
    for index in range(5):
        site.write_text(text.replace("{}", f"j{index}").replace("{{", "{").replace("}}", "}"))
        run("advise", str(site), "--ledger", str(ledger), "--start")
        if index < 2:
            run("advise", str(site), "--ledger", str(ledger), "--end", f"j{index}")
    site.write_text(SITE + '[next]\nname = "unknown"\ncompute_nodes = 1\n')
    run("advise", str(site), "--ledger", str(ledger), "--start")
    page = tmp_path / "compare.html"
    found = run("advise", str(site), "--ledger", str(ledger), "--compare", "2", "--page", str(page))
    rules = {row["rule"]: row for row in found["rules"]}
    assert {"without", "bestbdw", "nsys", "tcpu", "mckp", "static", "balance", "idle-nodes"} <= set(rules)
    assert found["jobs"] == 6 and sum(found["without_io"].values()) == 1 and found["rule"] == "idle-nodes"
    assert all(
        row["jobs"] == 5 and row["worst_slowdown"] >= row["mean_slowdown"] >= 1 for row in rules.values()
    )
    text = unescape(page.read_text())
    assert text.count("<svg") >= 4 and "1.00 x the site's own rule" in text and "x default" not in text
    own = rules["idle-nodes"]["mean_slowdown"]
    least = min(row["mean_slowdown"] for row in found["rules"])
    assert ("no rule would have had a smaller mean" in text) == (f"{own:.2f}" == f"{least:.2f}")
    command = ["schedule", "advise", str(site), "--ledger", str(ledger), "--compare"]
    told = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert told.exit_code == 0 and "idle-nodes *" in told.stdout and "█" in told.stdout
    with pytest.raises(MissingError, match=r"none.jsonl: nothing to compare: no such file"):
        run("advise", str(site), "--ledger", str(tmp_path / "none.jsonl"), "--compare")
    with pytest.raises(PenstockError, match="--ledger"):
        run("advise", str(site), "--compare")


def test_compare_takes_the_compute_time_that_nobody_told_from_how_long_a_job_ran() -> None:
    unsaid = replace(granted("a", 0.0, 1500.0).job, compute_s=None)
    ended, runs = Grant(unsaid, 0.0, "{}", 1500.0), Grant(unsaid, 0.0, "{}")
    matched = match_ledger([ended, runs, granted("told", 5.0, 6.0)], 4)
    on_its_own_s = 1e12 / FLAT.at(1)
    assert [one.job.compute_s for one in matched.arrivals] == [1500.0 - on_its_own_s, 1000.0]
    assert matched.without_io == {"compute time is not known before it ends": 1}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("study", "--trace", "t", "--sets", "3"), "--sets belongs to the evaluation, not to --site"),
        (("study", "--trace", "t", "--stripes", "9"), "--stripes 9: .*site.toml has 8 resources"),
        (("generate", "--load", "0.5"), "--load belongs to --applications, not to --site"),
    ],
)
def test_options_without_an_effect_are_refused(words: tuple[str, ...], message: str, site: Path) -> None:
    with pytest.raises(UsageError, match=message):
        run(words[0], "--site", str(site), *words[1:])
    with pytest.raises(UsageError, match="--phases belongs to --site and --trace"):
        run("study", "--phases", "2")


@pytest.mark.xdist_group("slurm")
def test_trace_of_a_real_slurm_is_replayed(slurm_site: Site, site: Path, tmp_path: Path) -> None:
    names = ("ocean-a", "ocean-b", "lake")
    jobs = [slurm_site.cluster.submit("sleep 2", f"--job-name={name}") for name in names]
    slurm_site.wait_for_empty()
    columns = "JobIDRaw,JobName,User,NNodes,Start,Elapsed,State,Comment"
    command = ("sacct", "--completion", "--parsable2", f"--format={columns}")

    def listed() -> dict[str, str]:
        lines = slurm_site.cluster.run(*command).splitlines()
        return {line.split("|")[0]: line for line in lines if line.split("|")[0] in ("JobIDRaw", *jobs)}

    wait_for(lambda: set(jobs) <= set(listed()), PATIENCE_S)
    trace = tmp_path / "sacct.txt"
    trace.write_text("\n".join(listed().values()) + "\n")
    found = run("study", "--site", str(site), "--trace", str(trace), "--out", str(tmp_path / "week"))
    assert found["jobs"] == 3 and found["without_io"] == {"no application matches": 1}
    assert [row["jobs"] for row in found["rules"]] == [2, 2]
