"""The rules of `schedule allocate` and `simulate`, reached through advice: the same counts and the same places."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from tests.schedule.strategies import documents

from penstock.cli.main import cli
from penstock.errors import ConfigError, PenstockError, UsageError
from penstock.schedule.advice import Rule, SiteScene, advise, advise_together
from penstock.schedule.allocation import ALLOCATORS
from penstock.schedule.application import ApplicationSet, Curve
from penstock.schedule.belief import Measurement, believe
from penstock.schedule.demand import fits
from penstock.schedule.family import family_profiles
from penstock.schedule.generator import Scenario, generate
from penstock.schedule.job import Job
from penstock.schedule.placement import PLACERS
from penstock.schedule.plan import allocate, place
from penstock.schedule.setfile import parse_set
from penstock.schedule.site_rule import ALLOCATION_FALLBACK

RISING = Curve((1, 2, 4, 8), (1e9, 1.9e9, 3.6e9, 6.8e9))
KNOWN = Job("known", 50, 1000.0, 1e12, RISING)


def jobs_of(workload: ApplicationSet) -> list[Job]:
    return [
        Job(one.name, one.compute_nodes, one.compute_s, one.io_bytes, one.curve)
        for one in workload.applications
    ]


def drawn(seed: int) -> ApplicationSet:
    rng = Random(seed)
    scenario = Scenario(rng.randint(3, 60), rng.uniform(0.02, 0.14), rng.choice((8, 20, 64)))
    return generate(scenario, family_profiles(rng.choice((4, 8, 32))), rng)


@pytest.mark.parametrize("name", list(ALLOCATORS))
def test_jobs_announced_together_get_the_counts_of_schedule_allocate(name: str) -> None:
    for seed in range(8):
        workload = drawn(seed)
        scene = SiteScene(workload.resources, workload.compute_nodes, rule=Rule(name, seed=seed))
        found = advise_together(scene, jobs_of(workload))
        counts = tuple(len(one.resources) for one in found)
        assert counts == allocate(workload, name, Random(seed)).counts
        assert {one.rule for one in found} == {name} and not any(one.missing for one in found)


@given(documents(), st.sampled_from(list(ALLOCATORS)))
def test_any_set_announced_together_gets_the_counts_of_schedule_allocate(
    document: dict[str, Any], name: str
) -> None:
    workload = parse_set(json.dumps(document), "x")
    scene = SiteScene(workload.resources, workload.compute_nodes, rule=Rule(name, seed=1))
    found = tuple(len(one.resources) for one in advise_together(scene, jobs_of(workload)))
    assert found == allocate(workload, name, Random(1)).counts


@pytest.mark.parametrize("placement", list(PLACERS))
def test_jobs_announced_together_get_the_places_of_schedule_simulate(placement: str) -> None:
    workload = drawn(3)
    scene = SiteScene(workload.resources, workload.compute_nodes, rule=Rule("tcpu", placement, seed=5))
    rng = Random(5)
    expected = place(workload, allocate(workload, "tcpu", rng), placement, rng)
    assert tuple(one.resources for one in advise_together(scene, jobs_of(workload))) == expected


@pytest.mark.parametrize("name", list(ALLOCATORS))
def test_running_jobs_stay_and_count(name: str) -> None:
    running = [replace(KNOWN, name=f"r{index}", resources=(2 * index, 2 * index + 1)) for index in range(3)]
    advice = advise(SiteScene(12, 1000, running, unusable=[11], rule=Rule(name)), KNOWN)
    assert advice.rule == name and 11 not in advice.resources and 1 <= len(advice.resources) <= 8
    if name not in ("random", "static"):
        idle = set(range(6, 11))
        assert set(advice.resources) <= idle or idle <= set(advice.resources)


def test_tcpu_counts_the_load_of_running_jobs() -> None:
    heavy = Curve((1, 2, 4), (1e9, 1.2e9, 1.3e9))
    rule = Rule("tcpu")
    job = Job("next", 50, 100.0, 1e11, heavy)
    assert len(advise(SiteScene(4, 100, rule=rule), job).resources) == 4
    crowd = [Job(f"r{index}", 1, 10.0, 1e11, heavy, resources=(index,)) for index in range(4)]
    crowded = advise(SiteScene(4, 100, crowd, rule=rule), job)
    assert fits(crowded.io_load_before) and len(crowded.resources) < 4


def test_mckp_gives_only_what_is_free_and_shares_where_nothing_is() -> None:
    running = [replace(KNOWN, name="r", resources=(0, 1, 2))]
    rule = Rule("mckp")
    assert advise(SiteScene(6, 100, running, rule=rule), KNOWN).resources == (3, 4, 5)
    full = [replace(KNOWN, name="r", resources=(0, 1, 2, 3, 4, 5))]
    assert advise(SiteScene(6, 100, full, rule=rule), KNOWN).resources == (5,)


@pytest.mark.parametrize(
    ("job", "rule", "missing"),
    [
        (Job("size", 250), "static", {"volume", "compute", "curve"}),
        (Job("best", 1, best_count=4), "bestbdw", {"volume", "compute", "curve"}),
        (replace(KNOWN, io_bytes=None), "bestbdw", {"volume"}),
    ],
)
@pytest.mark.parametrize("asked", ["idle-nodes", "tcpu", "balance"])
def test_missing_knowledge_is_said_and_the_order_kept(
    asked: str, job: Job, rule: str, missing: set[str]
) -> None:
    advice = advise(SiteScene(12, 1000, rule=Rule(asked)), job)
    assert advice.rule == rule and rule in ALLOCATION_FALLBACK
    needs = ALLOCATORS[asked].needs
    assert set(advice.missing) == missing & needs
    assert f"allocation {asked} needs" in advice.reason and f"so {rule} stands in" in advice.reason


def test_clairvoyant_placement_without_knowledge_counts_users_instead() -> None:
    advice = advise(
        SiteScene(12, 1000, rule=Rule("bestbdw", "greedy-clairvoyant")), Job("a", 1, best_count=3)
    )
    assert advice.placement == "greedy-non-clairvoyant" and advice.rule == "bestbdw"
    assert "placement greedy-clairvoyant needs compute, curve, volume" in advice.reason


def test_each_job_is_told_what_is_not_known_of_it() -> None:
    jobs = [replace(KNOWN, name="a"), Job("b", 1, best_count=3), replace(KNOWN, name="c", io_bytes=None)]
    scene = SiteScene(12, 1000, rule=Rule("bestbdw", "greedy-clairvoyant"))
    told = {one.job: one.reason for one in advise_together(scene, jobs)}
    assert "needs more than is known of 'b', 'c', so" in told["a"] and "not known" not in told["a"]
    assert "needs compute, curve, volume, which are not known" in told["b"]
    assert "needs volume, which is not known" in told["c"]


def test_mckp_says_who_has_resources_of_their_own() -> None:
    held = [replace(KNOWN, name="r", resources=(0, 1))]
    full = advise(SiteScene(2, 1000, held, rule=Rule("mckp", "random")), KNOWN)
    assert full.placement == "shared" and full.reason.startswith("no resource is free: known shares one")
    assert "mckp places by itself: placement random is not used" in full.reason
    free = advise(SiteScene(12, 1000, held, rule=Rule("mckp")), KNOWN)
    assert free.placement == "exclusive" and "of the free resources" in free.reason
    crowd = advise_together(SiteScene(3, 1000, rule=Rule("mckp")), [replace(KNOWN, name=n) for n in "abcde"])
    shared = [one for one in crowd if one.placement == "shared"]
    assert len(shared) == 3 and all("others make more" in one.reason for one in shared)


def test_placement_of_the_site_holds_for_idle_nodes_too() -> None:
    scene = SiteScene(12, 1000, [replace(KNOWN, name="r", resources=(0,))])
    own = advise(scene, KNOWN)
    told = advise(replace(scene, rule=Rule(placement="random", seed=1)), KNOWN)
    assert len(own.resources) == len(told.resources) and own.resources != told.resources
    assert told.placement == "random" and own.placement == "idlest"


def test_reason_and_figures_are_those_of_the_placement_used() -> None:
    held = [replace(KNOWN, name=f"r{index}", resources=(index,)) for index in range(6)]
    scene = SiteScene(12, 1000, held, rule=Rule(placement="random", seed=3))
    job = replace(KNOWN, curve=Curve((1, 2), (1e9, 1.9e9)))
    told = advise(scene, job)
    assert set(told.resources) & set(range(6)), "the test needs a place beside another job"
    here = told.options[len(told.resources) - 1]
    assert here.slowdown > 1.4 and f"{here.slowdown:.2f} times as long as at its fastest" in told.reason
    assert here.others_idle_nodes > 0
    assert f"of other jobs {here.others_idle_nodes:.2f} compute nodes wait for it on average" in told.reason
    assert here.io_load == pytest.approx(told.io_load_after)


def test_table_shows_the_count_that_is_used_even_if_others_are_better(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text(
        '[platform]\nresources = 40\ncompute_nodes = 64\nallocation = "nsys"\n[next]\nname = "a"\n'
        "compute_nodes = 8\ncompute = 600\nio = 1e12\nbandwidth = { 1 = 1e9, 40 = 2e10 }\n"
    )
    told = CliRunner().invoke(cli, ["schedule", "advise", str(site)], catch_exceptions=False).stdout
    assert "│    *1 │" in told and "as idle-nodes counts" in " ".join(told.split())


def test_io_load_of_jobs_announced_together_is_that_of_their_own_table() -> None:
    jobs = [replace(KNOWN, name="a"), Job("unknown", 5), replace(KNOWN, name="b")]
    for one in advise_together(SiteScene(12, 1000), jobs):
        for option in one.options:
            if option.count == len(one.resources):
                assert option.io_load == pytest.approx(one.io_load_after)


def test_jobs_of_which_less_is_known_are_served_beside_the_others() -> None:
    jobs = [Job("size", 250), KNOWN, Job("best", 1, best_count=2)]
    found = advise_together(SiteScene(12, 1000, rule=Rule("balance")), jobs)
    assert [one.job for one in found] == ["size", "known", "best"]
    assert [one.rule for one in found] == ["static", "balance", "bestbdw"]
    assert found[-1].io_load_after > found[0].io_load_after > 0


SITE = """
[platform]
resources = 20
compute_nodes = 480
allocation = "{rule}"
"""


def site_of(path: Path, workload: ApplicationSet, rule: str) -> Path:
    """A site file that announces a whole set."""
    lines = [SITE.format(rule=rule)]
    for one in workload.applications:
        points = zip(one.curve.counts, one.curve.bytes_per_s, strict=True)
        curve = ", ".join(f"{count} = {value!r}" for count, value in points)
        lines.append(
            f'[[next]]\nname = "{one.name}"\ncompute_nodes = {one.compute_nodes}\ncompute = {one.compute_s!r}\n'
            f"io = {one.io_bytes!r}\nbandwidth = {{ {curve} }}\n"
        )
    path.write_text("\n".join(lines))
    return path


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["schedule", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_command_announces_a_set_and_records_it(tmp_path: Path) -> None:
    workload = generate(Scenario(12, 0.3), family_profiles(), Random(2))
    site = str(site_of(tmp_path / "site.toml", workload, "tcpu"))
    ledger = str(tmp_path / "jobs.jsonl")
    names = [one.name for one in workload.applications]
    found = run("advise", site, "--ledger", ledger, "--start")
    assert found["allocation"] == dict(zip(names, allocate(workload, "tcpu", Random(0)).counts, strict=True))
    assert [one["rule"] for one in found["jobs"]] == ["tcpu"] * 12
    listed = run("advise", site, "--ledger", ledger, "--list")["jobs"]
    assert [job["name"] for job in listed] == names
    assert run("advise", site, "--ledger", ledger, "--start") == found
    with pytest.raises(ConfigError, match="running already"):
        run("advise", site, "--ledger", ledger)
    with pytest.raises(UsageError, match="--apply is for one job"):
        run("advise", site, "--ledger", ledger, "--start", "--apply")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('allocation = "tcp"', "platform.allocation"),
        ('placement = "round-robin"', "platform.placement"),
        ('allocation = "tcpu"\nworst_slowdown = 3.0', "belongs to allocation idle-nodes"),
    ],
)
def test_unknown_rules_are_refused_in_one_line(tmp_path: Path, line: str, message: str) -> None:
    site = tmp_path / "site.toml"
    site.write_text(
        f'[platform]\nresources = 4\ncompute_nodes = 8\n{line}\n[next]\nname = "a"\ncompute_nodes = 1\n'
    )
    with pytest.raises(PenstockError, match=message) as caught:
        run("advise", str(site))
    assert caught.value.exit_code == 5 and "\n" not in str(caught.value)


def test_guide_states_the_order_in_which_rules_stand_in() -> None:
    found = run("guide", "--know", "nodes")
    assert found["fallback"] == list(ALLOCATION_FALLBACK) == ["bestbdw", "static"]
    told = CliRunner().invoke(cli, ["schedule", "guide"], catch_exceptions=False).stdout
    assert "bestbdw, then static" in told
    assert "one by one: idle-nodes" in told and "also needs compute, curve, volume" in found["one_by_one"]


def test_advice_of_an_earlier_version_is_still_read() -> None:
    from penstock.schedule.answer import Answer, answer_text, parse_answer
    from penstock.schedule.command import Commands

    answer = Answer(advise(SiteScene(4, 8), KNOWN), ("x",), 0, Commands((), (), ()))
    old = json.loads(answer_text(answer))
    del old["missing"], old["placement"]
    read = parse_answer(json.dumps(old | {"rule": "balance", "added_later": 1}))
    assert read.advice.rule == "balance" and read.advice.missing == ()
    assert parse_answer(answer_text(answer)) == answer


@pytest.mark.parametrize("measured", [True, False])
def test_job_that_computes_nothing_gets_its_fastest_count(measured: bool) -> None:
    belief = None if measured else believe("file-per-process", 8, [Measurement(1, 1e9, 0.1)])
    only_io = replace(KNOWN, compute_s=0.0, belief=belief)
    assert len(advise(SiteScene(12, 1000), only_io).resources) == 8
    # Others that wait for it still count: it stays on what is free.
    held = [replace(KNOWN, name=f"r{index}", resources=(index,)) for index in range(9)]
    assert advise(SiteScene(12, 1000, held), only_io).resources == (9, 10, 11)
    flat = replace(KNOWN, compute_s=0.0, curve=Curve((1, 8), (1e9, 1e9)))
    assert len(advise(SiteScene(12, 1000), flat).resources) == 1


def test_counts_of_a_curve_are_read_as_in_a_set(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    text = '[platform]\nresources = 4\ncompute_nodes = 8\n[next]\nname = "a"\ncompute_nodes = 8\nbandwidth = {}\n'
    site.write_text(text.format('{ "0" = 9e9, "01" = 1e9, "002" = 3e9 }') + "compute = 1\nio = 1e9\n")
    assert run("advise", str(site))["count"] == 2
    for counts in ('"1" = 1e9, "01" = 1e9', '"\\u0661" = 1e9', '"1_0" = 1e9', '"0" = 1e9'):
        site.write_text(text.format(f"{{ {counts} }}"))
        with pytest.raises(PenstockError, match="job 'a': bandwidth: ") as caught:
            run("advise", str(site))
        assert caught.value.exit_code == 5 and "\n" not in str(caught.value)
