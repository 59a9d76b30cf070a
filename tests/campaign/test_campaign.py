"""Campaigns: done once, whatever fails, dies or is cancelled, and the same rows wherever they run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyarrow import parquet  # type: ignore[import-untyped]
from pydantic import Field
from tests.rigs.served import wait_for

from penstock.campaign import kinds
from penstock.campaign.dask_engine import scheduler_at
from penstock.campaign.engines import LocalEngine
from penstock.campaign.kinds import HOMES, Kind, Row, Shard, find_kind
from penstock.campaign.ledger import CampaignLedger, Standing
from penstock.campaign.rowsfile import digest_of, write_rows
from penstock.campaign.runner import run_campaign
from penstock.campaign.spec import load_specification
from penstock.cli.main import cli
from penstock.config import Section
from penstock.errors import ConfigError, DataError, MissingError, PenstockError, UsageError
from penstock.train import parquet as training

SHARDS = 40


class NumbersSection(Section):
    """Squares of numbers: `bad` ones never succeed, `shaky` ones on the second try, `deadly` ones end a process."""

    seed: int = 0
    bad: tuple[int, ...] = Field(default=(), strict=False)
    shaky: tuple[int, ...] = Field(default=(), strict=False)
    deadly: tuple[int, ...] = Field(default=(), strict=False)


def shards_of(asked: NumbersSection, directory: Path) -> list[Shard]:
    kinds = {name: list(getattr(asked, name)) for name in ("bad", "shaky", "deadly")}
    return [
        Shard(f"n{n:03d}", {"n": n, "marks": str(directory), "seed": asked.seed, **kinds})
        for n in range(SHARDS)
    ]


def squares(work: Mapping[str, Any]) -> list[Row]:
    n, mark = work["n"], Path(work["marks"]) / f"tried-{work['n']}"
    first = not mark.exists()
    mark.touch()
    if n in work["bad"] or (n in work["shaky"] and first):
        raise ValueError(f"no {n}")
    if n in work["deadly"] and first:
        os._exit(9)
    return [{"n": n, "square": float(n * n + work["seed"])}]


NUMBERS = Kind(NumbersSection, shards_of, squares, {"n": int, "square": float}, program=("units.py",))


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work that takes no time, in place of a survey. Worker processes are forked, so they know it too."""
    monkeypatch.setitem(HOMES, "survey", "penstock.campaign.kinds:NUMBERS")
    monkeypatch.setattr(kinds, "NUMBERS", NUMBERS, raising=False)


def write_spec(directory: Path, table: str = "", out: str = "out") -> Path:
    path = directory / "spec.toml"
    path.write_text(f'kind = "survey"\nout = "{out}"\n[survey]\n{table}\n')
    return path


def run(spec: Path) -> Standing:
    return run_campaign(load_specification(spec), LocalEngine(2, 2), lambda ledger: None)


@pytest.mark.usefixtures("numbers")
def test_finished_shards_are_not_done_again(tmp_path: Path) -> None:
    spec = write_spec(tmp_path)
    standing = run(spec)
    assert (standing.state, standing.done, standing.rows) == ("done", SHARDS, SHARDS)
    files = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "shards").iterdir()}
    digest = CampaignLedger(tmp_path / "out").digest()
    lost = tmp_path / "out" / "shards" / "n007.parquet"
    lost.unlink()
    assert run(spec).state == "done"
    again = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "shards").iterdir()}
    assert {path for path in files if again[path] != files[path]} == {lost}
    assert CampaignLedger(tmp_path / "out").digest() == digest
    rows = parquet.read_table(tmp_path / "out" / "shards").to_pylist()
    assert sorted(row["square"] for row in rows) == [float(n * n) for n in range(SHARDS)]


@pytest.mark.usefixtures("numbers")
def test_shards_that_fail_or_lose_their_process_are_tried_again(tmp_path: Path) -> None:
    spec = write_spec(tmp_path, "shaky = [1, 5, 30]\ndeadly = [9]")
    standing = run(spec)
    assert (standing.state, standing.failed) == ("done", {})


@pytest.mark.usefixtures("numbers")
def test_two_failures_of_forty_are_told_and_three_fail_the_campaign(tmp_path: Path) -> None:
    standing = run(write_spec(tmp_path, "bad = [3, 4]"))
    assert standing.done == SHARDS - 2 and standing.state == "unfinished"
    assert standing.failed == {"n003": "ValueError: no 3", "n004": "ValueError: no 4"}
    with pytest.raises(PenstockError, match=r"3 of 40 shards, more than 5 %; the first: .*ValueError: no"):
        run(write_spec(tmp_path, "bad = [3, 4, 5]", out="other"))
    assert CampaignLedger(tmp_path / "other").standing().state == "failed"


@pytest.mark.usefixtures("numbers")
def test_directory_belongs_to_one_specification_and_one_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(write_spec(tmp_path))
    with pytest.raises(DataError, match="another specification"):
        run(write_spec(tmp_path, "seed = 1"))
    spec = write_spec(tmp_path)
    other = Kind(NumbersSection, shards_of, squares, NUMBERS.columns, program=("errors.py",))
    monkeypatch.setattr(kinds, "NUMBERS", other)
    with pytest.raises(DataError, match="another version of penstock"):
        run(spec)


@pytest.mark.usefixtures("numbers")
def test_second_runner_is_refused(tmp_path: Path) -> None:
    from penstock.actuate.lock import BusyError, StateLock

    spec = write_spec(tmp_path)
    CampaignLedger(tmp_path / "out").create(load_specification(spec))
    lock = StateLock(tmp_path / "out")
    assert CampaignLedger(tmp_path / "out").standing().state == "running"
    with pytest.raises(BusyError, match="in use by process"):
        run(spec)
    lock.release()
    assert run(spec).state == "done"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('kind = "surfaces"\nout = "x"\n', 'did you mean "surface"'),
        ('kind = "survey"\nout = "x"\n[robust]\ndraws = 1\n', r"table \[robust\] is for another kind"),
        ('kind = "survey"\nout = "x"\n[survey]\nworld = 1\n', "'world'.*did you mean \"worlds\""),
        ('kind = "survey"\nout = "x"\n[survey]\nworlds = 0\n', "must be at least 1"),
        ('kind = "surface"\nout = "x"\n[slurm]\ncores = 0\n', "must be at least 1"),
        ('kind = "study"\nout = "x"\n[study]\nexperiments = ["lode"]\n', 'did you mean "load"'),
    ],
)
def test_wrong_specifications_say_what_is_wrong(text: str, told: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(text)
    with pytest.raises(ConfigError, match=told):
        load_specification(spec)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_kind_makes_rows_of_its_columns(name: str, tmp_path: Path) -> None:
    tables = {
        "surface": 'workloads = ["s_rd_rn_1m"]\nseconds = 0.5\nwarmup = 0.5\nsettings_per_shard = 2',
        "static": 'workloads = ["s_rd_rn_1m"]\nseconds = 1\npolicies = ["climb"]',
        "scenarios": 'files = ["world.toml"]\nseconds = 1\nsearch = false\npolicies = ["climb"]',
        "robust": 'draws = 1\nseconds = 1\nsearch = false\npolicies = ["climb"]',
        "collect": 'workloads = ["s_rd_rn_1m"]\nruns = 1\nseconds = 2',
        "survey": "worlds = 1\nseconds = 0.5",
        "study": "sets = 2",
    }
    (tmp_path / "world.toml").write_text('[[job]]\nworkload = "s_rd_rn_1m"\n')
    spec = tmp_path / "spec.toml"
    spec.write_text(f'kind = "{name}"\nout = "out"\n[{name}]\n{tables[name]}\n')
    shard = load_specification(spec).shards[0]
    kind = find_kind(name)
    work = json.loads(json.dumps(shard.work))
    rows = kind.perform(work)
    assert rows and all(set(row) == set(kind.columns) for row in rows)
    path = tmp_path / "rows.parquet"
    assert (
        write_rows(path, rows, kind.columns, kind.stamp) == digest_of(rows) == digest_of(kind.perform(work))
    )
    assert parquet.read_table(path).to_pylist() == [dict(row) for row in rows]
    if name == "collect":
        assert len(training.read(path)) == len(rows)


SLOW = """
kind = "surface"
out = "out"
[surface]
workloads = ["s_rd_sq_8k"]
seconds = 20
settings_per_shard = 3
"""


@pytest.mark.slow
def test_cancelled_or_killed_campaigns_go_on(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SLOW)
    command = [sys.executable, "-m", "penstock", "campaign"]
    ledger = CampaignLedger(tmp_path / "out")

    def started() -> subprocess.Popen[str]:
        before = ledger.standing().done if (tmp_path / "out" / "campaign.json").exists() else 0
        process = subprocess.Popen(
            [*command, "run", str(spec), "--workers", "1"], stderr=subprocess.PIPE, text=True
        )
        wait_for(
            lambda: (tmp_path / "out" / "campaign.json").exists() and ledger.standing().done > before, 300
        )
        return process

    with started() as process:
        status = subprocess.run(
            [*command, "status", str(spec), "--json"], capture_output=True, text=True, check=True
        )
        told = json.loads(status.stdout)
        assert (told["state"], told["runner"], told["shards"]) == ("running", process.pid, 33)
        assert told["cpu_s"] > 0 and told["seconds_left"] > 0
        subprocess.run([*command, "cancel", str(tmp_path / "out")], check=True, capture_output=True)
        assert process.wait(300) == 1
        assert process.stderr is not None and "cancelled; run it again to go on" in process.stderr.read()
    first = ledger.standing()
    assert first.state == "unfinished" and 0 < first.done < 33
    with started() as process:
        process.kill()
    # The workers end with it, and with them its lock.
    wait_for(lambda: ledger.standing().runner is None, 300)
    second = ledger.standing()
    assert second.state == "unfinished" and first.done < second.done < 33
    again = subprocess.run([*command, "cancel", str(spec)], capture_output=True, text=True, check=True)
    assert "nobody runs it" in again.stdout


@pytest.mark.slow
def test_dask_gives_the_rows_of_local_processes(tmp_path: Path) -> None:
    text = SLOW.replace("seconds = 20", "seconds = 0.5\nwarmup = 0.5\n").replace("_shard = 3", "_shard = 20")
    digests = []
    for engine in ("local", "dask"):
        (tmp_path / engine).mkdir()
        spec = tmp_path / engine / "spec.toml"
        spec.write_text(text)
        command = [sys.executable, "-m", "penstock", "campaign", "run", str(spec), "--workers", "1"]
        done = subprocess.run(
            [*command, "--engine", engine, "--json"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        digests.append(json.loads(done.stdout)["digest"])
    assert digests[0] == digests[1]


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "scheduler:8786", "ucx://127.0.0.1:1"])
def test_schedulers_that_others_could_reach_are_refused(address: str) -> None:
    with pytest.raises(UsageError, match="tls:// or an address on this machine"):
        scheduler_at(address)


def test_campaign_of_nothing_is_told(tmp_path: Path) -> None:
    for verb in ("status", "cancel"):
        with pytest.raises(MissingError):
            CliRunner().invoke(cli, ["campaign", verb, str(tmp_path)], catch_exceptions=False)
    with pytest.raises(UsageError, match="belongs to --engine dask"):
        CliRunner().invoke(
            cli, ["campaign", "run", "x.toml", "--scheduler", "127.0.0.1:1"], catch_exceptions=False
        )
