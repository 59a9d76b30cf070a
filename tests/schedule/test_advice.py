"""Advice, its commands, the ledger and the guide."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import ConfigError, DataError, PenstockError, UsageError
from penstock.schedule.advice import SiteScene, advise
from penstock.schedule.application import Curve
from penstock.schedule.command import named_commands, ost_commands, pool_name
from penstock.schedule.guide import KNOWLEDGE, guide
from penstock.schedule.job import USUAL_IO_SHARE, Job
from penstock.schedule.layout import Component, Layout

RISING = Curve((1, 2, 4, 8), (1e9, 1.9e9, 3.6e9, 6.8e9))
HEAVY = Job("heavy", 100, 100.0, 4e11, RISING, resources=(0, 1, 2, 3))
NEXT = Job("next", 50, 1000.0, 1e12, RISING)

SITE = """
[platform]
kind = "ost"
resources = 12
compute_nodes = 1000
fsname = "scratch"
unusable = [11]

[[running]]
name = "climate"
compute_nodes = 400
resources = [0, 1, 2, 3]
compute = "2h"
io = "4TiB"
bandwidth = { 1 = "0.5GiB", 4 = "1.6GiB", 8 = "2GiB" }

[[running]]
name = "mystery"
compute_nodes = 20
resources = [4]

[next]
name = "ocean"
compute_nodes = 200
compute = "1h"
io = "2TiB"
family = "ascent"
family_bandwidth = "1GiB"
directory = "/scratch/my project"
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    path = tmp_path / "site.toml"
    path.write_text(SITE)
    return path


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["schedule", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_advice_avoids_occupied_and_unusable_resources() -> None:
    advice = advise(SiteScene(12, 1000, [HEAVY], unusable=[11]), NEXT)
    assert not set(advice.resources) & {0, 1, 2, 3, 11}
    assert advice.io_load_after > advice.io_load_before


def test_advice_on_an_idle_system_is_the_fastest_count() -> None:
    assert len(advise(SiteScene(12, 1000, []), NEXT).resources) == 8


def test_advice_counts_what_others_lose() -> None:
    crowd = [replace(HEAVY, name=f"heavy{index}", resources=(index,)) for index in range(6)]
    small = replace(NEXT, compute_nodes=1)
    assert len(advise(SiteScene(6, 1000, crowd), small).resources) < 6


def test_advice_keeps_the_system_from_saturating_where_it_can() -> None:
    crowd = [replace(HEAVY, name=f"heavy{index}", resources=(index,)) for index in range(5)]
    advice = advise(SiteScene(6, 1000, crowd), NEXT)
    assert advice.io_load_after <= 1 or all(option.io_load > 1 for option in advice.options)


@pytest.mark.parametrize(
    ("job", "rule", "count"),
    [
        (Job("a", 250), "static", 3),
        (Job("b", 1, best_count=4), "bestbdw", 4),
        (Job("c", 1, curve=RISING), "bestbdw", 8),
        (Job("d", 1, 10.0, 0.0, RISING), "idle-nodes", 1),
    ],
)
def test_advice_uses_the_best_rule_for_what_is_known(job: Job, rule: str, count: int) -> None:
    advice = advise(SiteScene(12, 1000, [HEAVY]), job)
    assert (advice.rule, len(advice.resources)) == (rule, count)


def test_unknown_jobs_are_assumed_to_do_a_little_io() -> None:
    assert Job("a", 1, resources=(0,)).io_share == USUAL_IO_SHARE


def test_all_resources_unusable_is_refused() -> None:
    with pytest.raises(DataError, match="unusable"):
        SiteScene(2, 1, unusable=[0, 1]).occupancy()


def test_commands_quote_and_undo() -> None:
    job = Job("my job", 1, directory="/scratch/my project", resources=(3, 17))
    commands = ost_commands(job, "scratch", "ps_mine", None)
    assert commands.user == ("lfs setstripe -c 2 -o 3,17 '/scratch/my project'",)
    assert "lctl pool_add scratch.ps_mine scratch-OST0003 scratch-OST0011" in commands.admin
    assert commands.save == ("lfs getstripe -d --raw --yaml '/scratch/my project' > ps_mine.lyl",)
    assert commands.undo[0] == "lfs setstripe --yaml=ps_mine.lyl '/scratch/my project'"
    assert commands.undo[-1] == "lctl pool_destroy scratch.ps_mine"
    assert named_commands(["ion1", "ion2"], "io-node").user == ("export PENSTOCK_IO_NODES=ion1,ion2",)


def test_undo_gives_back_the_layout_that_was_there() -> None:
    job = Job("a", 1, directory="/scratch/a", resources=(3,))
    commands = ost_commands(job, "scratch", "ps_a", Layout((Component(-1, 4, 1 << 20, -1, pool="flash"),)))
    assert commands.save == ()
    assert commands.undo[0] == "lfs setstripe -c 4 -S 1048576 -i -1 -p flash /scratch/a"
    assert ost_commands(job, "scratch", "ps_a", Layout()).undo[0] == "lfs setstripe -d /scratch/a"


def test_pool_names_are_legal_and_differ() -> None:
    names = ["climate_run_1", "climate_run_2", "my job", "my_job", "my-job", "x" * 50, "x" * 51, "a", "é", ""]
    names += [f"array[{index}]" for index in range(200)]
    pools = [pool_name(name) for name in names]
    assert len(set(pools)) == len(names)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,15}", pool) for pool in pools)
    assert pool_name("a", taken={"ps_a"}) != "ps_a"


def test_advise_command_explains_itself(site: Path) -> None:
    document = run("advise", str(site))
    assert document["job"] == "ocean" and document["count"] == len(document["resources"])
    assert not set(document["resources"]) & {0, 1, 2, 3, 11}
    listed = ",".join(map(str, document["resources"]))
    user = f"lfs setstripe -c {document['count']} -o {listed} '/scratch/my project'"
    assert document["commands"]["user"] == [user]
    assert "of its run in I/O" in document["reason"] and document["running_jobs"] == 2


def test_advise_command_keeps_a_ledger(site: Path, tmp_path: Path) -> None:
    ledger = str(tmp_path / "jobs.jsonl")
    first = run("advise", str(site), "--ledger", ledger, "--start")
    with pytest.raises(ConfigError, match="running already"):
        run("advise", str(site), "--ledger", ledger)
    site.write_text(SITE.replace('name = "ocean"', 'name = "ocean2"'))
    second = run("advise", str(site), "--ledger", ledger)
    assert second["running_jobs"] == 3 and second["io_load_before"] == pytest.approx(first["io_load_after"])
    assert run("advise", str(site), "--ledger", ledger, "--end", "ocean")["running"] == 0


def test_advise_prints_for_people(site: Path) -> None:
    result = CliRunner().invoke(cli, ["schedule", "advise", str(site)], catch_exceptions=False)
    assert result.exit_code == 0 and "Why (idle-nodes)" in result.stdout and "lctl pool_new" in result.stdout


BAD_SITES = [
    ("resources = 12", "resources = 0", "platform.resources"),
    ("unusable = [11]", "unusable = [12]", "12 is not a resource id"),
    ("resources = [4]", "resources = [4, 4]", "listed twice"),
    ("resources = [4]\n", "\n", "resources is missing"),
    ('name = "mystery"', 'name = "climate"', "occurs twice"),
    ("unusable", "unusabel", "unusable"),
    ('family = "ascent"', 'family = "accent"', "family"),
    ('family_bandwidth = "1GiB"\n', "", "family needs family_bandwidth"),
    ('io = "2TiB"', 'io = "-1"', "io"),
    ("1 =", "one =", "'one' is not a number of resources"),
    ('1 = "0.5GiB"', "1 = 0", "bandwidth"),
    ('fsname = "scratch"', 'fsname = "../x"', "fsname"),
]


@pytest.mark.parametrize(("old", "new", "message"), BAD_SITES)
def test_bad_site_is_refused_in_one_line(site: Path, old: str, new: str, message: str) -> None:
    assert old in SITE
    site.write_text(SITE.replace(old, new, 1))
    with pytest.raises(PenstockError) as caught:
        run("advise", str(site))
    assert message in str(caught.value) and "\n" not in str(caught.value)
    assert caught.value.exit_code in (3, 5)


def test_ledger_options_belong_together(site: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--ledger"):
        run("advise", str(site), "--start")
    with pytest.raises(UsageError, match="--reconcile"):
        run("advise", str(site), "--jobs", "x", "--ledger", str(tmp_path / "l"), "--list")
    with pytest.raises(UsageError, match="exclude"):
        run("advise", str(site), "--start", "--end", "x", "--ledger", str(tmp_path / "l"))


@pytest.mark.parametrize(
    ("known", "allocation"),
    [
        ("", "random"),
        ("nodes", "static"),
        ("nodes,best-count", "bestbdw"),
        ("nodes,family", "bestbdw"),
        ("nodes,volume,compute,family", "balance"),
        ("volume,compute,curve", "bestbdw"),
    ],
)
def test_guide_follows_table_ii(known: str, allocation: str) -> None:
    found = run("guide", "--know", known)
    assert found["allocation"] == allocation and found["placement"] == "greedy-non-clairvoyant"
    assert set(found["words"]) == set(KNOWLEDGE)


def test_guide_says_what_more_would_allow() -> None:
    assert guide(["nodes"]).missing[0] == ("balance", ("compute", "curve", "volume"))
    with pytest.raises(UsageError, match='did you mean "volume"'):
        guide(["volum"])
