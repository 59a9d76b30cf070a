"""Curves from a site's own history: pooling, matching, the file, and the command."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import DataError, PenstockError
from penstock.schedule.darshan import PastRun
from penstock.schedule.jobtrace import TraceJob
from penstock.schedule.learn.curvefile import curves_toml, learn_applications
from penstock.schedule.learn.finished import FinishedRun, LoggedJob, find_logs, join
from penstock.schedule.learn.pooled import learn_pool
from penstock.schedule.site import known_of, load_site

COUNTS = (1, 2, 4, 8, 16)


def drawn_pool(seed: int, applications: int, runs_at: Sequence[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Applications that rise alike at levels of their own, with runs on only some counts; and the truth."""
    rng = Random(seed)
    pool, truth = {}, {}
    for index in range(applications):
        level, slope = rng.uniform(0.2, 5) * 1e9, rng.gauss(0.6, 0.05)
        truth[f"a{index}"] = {n: level * n**slope for n in COUNTS}
        own = COUNTS if index else runs_at
        pool[f"a{index}"] = {
            n: [truth[f"a{index}"][n] * math.exp(rng.gauss(0, 0.1)) for _ in range(3)] for n in own
        }
    return pool, truth


def test_application_with_few_runs_learns_from_similar_ones() -> None:
    pool, truth = drawn_pool(1, 12, [1])
    alone, together = learn_pool({"a0": pool["a0"], "x": pool["a1"]}), learn_pool(pool)
    errors = [
        sum(abs(math.log(found["a0"].curve.at(n) / truth["a0"][n])) for n in COUNTS)
        for found in (alone, together)
    ]
    assert errors[1] < 0.5 * errors[0]
    place = COUNTS.index(16)
    widths = [math.log(found["a0"].high[place] / found["a0"].low[place]) for found in (alone, together)]
    assert widths[1] < widths[0]


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    inside = []
    for seed in range(12):
        pool, truth = drawn_pool(seed, 10, [2, 4])
        for name, one in learn_pool(pool).items():
            held = zip(one.curve.counts, one.low, one.high, strict=True)
            inside += [low <= truth[name][n] <= high for n, low, high in held]
    assert 0.85 < sum(inside) / len(inside) <= 1


def test_many_runs_win_over_the_pool() -> None:
    pool, _ = drawn_pool(2, 10, COUNTS)
    pool["odd"] = {n: [1e9 / n * scale for scale in (0.98, 1.0, 1.02) * 5] for n in COUNTS}
    curve = learn_pool(pool)["odd"].curve
    assert [curve.at(n) * n for n in COUNTS] == pytest.approx([1e9] * 5, rel=0.1)


def test_runs_on_one_count_do_not_make_fewer_as_fast() -> None:
    learned = learn_pool({"a": {24: [4e10, 4.2e10]}}, "file-per-process")["a"]
    assert learned.curve.counts == (1, 2, 4, 8, 16, 24)
    assert learned.curve.at(1) < 0.3 * learned.curve.at(24)
    widths = [high / low for low, high in zip(learned.low, learned.high, strict=True)]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("runs", [{}, {2: []}, {2: [0.0]}, {0: [1.0]}, {1: [math.nan]}])
def test_runs_without_a_bandwidth_are_refused(runs: dict[int, list[float]]) -> None:
    with pytest.raises(DataError, match="'a'"):
        learn_pool({"a": runs})


def past(osts: int | None = 4, io_bytes: float = 1e12) -> PastRun:
    return PastRun("sim", 128, 900.0, 100.0, io_bytes, osts, True)


def logged(job: str, run: PastRun) -> LoggedJob:
    return LoggedJob(Path(f"u_sim_id{job}-1.darshan"), job, run)


def test_logs_and_jobs_are_joined_by_id_and_the_rest_is_reported() -> None:
    jobs = [TraceJob(str(number), "ocean-1", 8, 0.0, 1000.0) for number in range(6)]
    jobs[3] = TraceJob("3", "other", 8, 0.0, 1000.0)
    jobs.append(TraceJob("6", "other", 8, 0.0, 1000.0))
    logs = [logged("0", past()), logged("1", past(None)), logged("2", past(None)), logged("3", past())]
    logs += [logged("4", past(io_bytes=0.0)), logged("9", past()), logged("3", past())]
    found = join(jobs, logs, {"1": 6}, ["ocean*"])
    assert [(run.application, run.count, run.compute_s) for run in found.runs] == [
        ("ocean* 8x128", 4, 900.0),
        ("ocean* 8x128", 6, 900.0),
    ]
    assert found.left_out == {
        "the number of its resources is in neither log nor ledger": ("u_sim_id2-1.darshan",),
        "no application matches": ("3", "6"),
        "no I/O in the log": ("u_sim_id4-1.darshan",),
        "no job in the accounting": ("u_sim_id9-1.darshan",),
        "no Darshan log": ("5",),
    }


def test_written_curves_are_read_back_by_a_site_file(tmp_path: Path) -> None:
    runs = [
        FinishedRun(f"{name} {nodes}x{16 * nodes}", "shared", count, 1e9 * count, 2e12, 3600.0, nodes)
        for name, nodes in (('o"cean[1]', 4), ('o"cean[1]', 64), ("sea", 4))
        for count in (1, 2, 4)
    ]
    (tmp_path / "curves.toml").write_text(curves_toml(learn_applications(runs)))
    site = tmp_path / "site.toml"
    site.write_text(
        'curves = "curves.toml"\n[platform]\nresources = 8\ncompute_nodes = 99\n'
        '[[application]]\nmatch = "sea"\nio = "1TiB"\n[[application]]\nmatch = "lake"\nbest_count = 3\n'
    )
    read = load_site(site)
    facts = known_of('o"cean[1]', 50, read)
    assert facts["io"] == 2e12 and facts["access"] == "shared" and set(facts["bandwidth"]) == {"1", "2", "4"}
    assert known_of("sea", 4, read)["io"] == 1 << 40 and "bandwidth" in known_of("sea", 4, read)
    assert known_of("lake", 4, read) == {"best_count": 3} and known_of("ocean1", 4, read) == {}


def test_jobs_of_a_site_file_get_what_their_application_knows(tmp_path: Path) -> None:
    runs = [FinishedRun("sea 4x64", "shared", count, 1e9 * count, 2e12, 3600.0, 4) for count in (1, 2, 4)]
    (tmp_path / "curves.toml").write_text(curves_toml(learn_applications(runs)))
    site = tmp_path / "site.toml"
    site.write_text(
        'curves = "curves.toml"\n[platform]\nresources = 8\ncompute_nodes = 99\n'
        '[[application]]\nmatch = "la*"\nio = "1TiB"\nbandwidth = { 1 = 1e9 }\n'
        '[[running]]\nname = "lake"\ncompute_nodes = 4\nresources = [0]\nio = 5\n'
        '[[next]]\nname = "sea"\ncompute_nodes = 4\n'
        '[[next]]\nname = "lava"\ncompute_nodes = 4\nfamily = "ascent"\nfamily_bandwidth = 7\n'
    )
    read = load_site(site)
    (sea, lava), (lake,) = read.next, read.running
    assert sea.io == 2e12 and sea.compute == 3600 and set(sea.bandwidth or ()) == {"1", "2", "4"}
    assert (lava.io, lava.bandwidth, lava.family) == (1 << 40, None, "ascent")
    assert (lake.io, lake.bandwidth) == (5, {"1": 1e9})
    ledger = str(tmp_path / "jobs.jsonl")
    for options in (["--start"], ["--compare"]):
        command = ["schedule", "advise", str(site), "--ledger", ledger, *options]
        assert CliRunner().invoke(cli, command, catch_exceptions=False).exit_code == 0


@pytest.mark.slow
def test_command_learns_from_real_logs(shared_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("darshan")
    logs = shared_dir / "data" / "darshan"
    ids = sorted(
        {found.group(1) for path in find_logs([logs]) if (found := re.search(r"_id(\d+)-", path.name))}
    )
    lines = ["JobIDRaw|JobName|NNodes|Start|Elapsed|State"]
    lines += [
        f"{job}|run{job[:4]}|16|2026-10-01T10:00:0{n % 10}|00:20:00|COMPLETED" for n, job in enumerate(ids)
    ]
    lines += ["1|idle|2|2026-10-01T10:00:00|00:01:00|COMPLETED", "2|never|2|Unknown|00:00:00|CANCELLED"]
    (tmp_path / "jobs.txt").write_text("\n".join(lines) + "\n")
    out = tmp_path / "curves.toml"
    arguments = ["--accounting", str(tmp_path / "jobs.txt"), "--darshan", str(logs), "--out", str(out)]
    result = CliRunner().invoke(cli, ["schedule", "learn", *arguments, "--json"], catch_exceptions=False)
    document = json.loads(result.stdout)
    assert result.exit_code == 0 and document["runs"] == 14 and not document["broken"]
    assert document["left_out"] == {"no Darshan log": ["1"]}
    for one in document["applications"]:
        assert all(one["low"][n] < value < one["high"][n] for n, value in one["bandwidth"].items())
    assert out.read_text().count("[[application]]") == len(document["applications"]) > 3


def test_nothing_to_learn_from_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text("JobID|NNodes|Start|Elapsed\n1|2|2026-10-01T10:00:00|00:01:00\n")
    command = ["schedule", "learn", "--accounting", str(tmp_path / "jobs.txt"), "--darshan", str(tmp_path)]
    with pytest.raises(PenstockError, match=r"no Darshan logs \(\*.darshan\) there"):
        CliRunner().invoke(cli, command, catch_exceptions=False)
    (tmp_path / "bad.darshan").write_bytes(b"nonsense" * 100)
    with pytest.raises(PenstockError, match=r"cannot be read: 1 \(first: .*bad.darshan: not a Darshan log"):
        CliRunner().invoke(cli, command, catch_exceptions=False)
    with pytest.raises(PenstockError, match=r"none.jsonl: no such file \(--ledger\)"):
        CliRunner().invoke(cli, [*command, "--ledger", "none.jsonl"], catch_exceptions=False)
