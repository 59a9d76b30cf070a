"""Tuning metadata in the simulator: what the shipped policy gains, and what it leaves alone."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from penstock.cli.simulate import simulate
from penstock.errors import KnobError
from penstock.evaluate.metadata_runs import MetadataRun, run_metadata
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata

TIMES = (60.0, 5.0)


def run(name: str, policy: str | None = None, clients: int = 1, **changes: object) -> MetadataRun:
    given = {f"metadata.{key}": str(value) for key, value in ({"mod_rpcs": 16} | changes).items()}
    cluster = builtin_cluster("emulated-10ms").override(given)
    return run_metadata(MetadataWorld(cluster, parse_metadata(name), clients), TIMES, policy=policy)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("md_create_16", 1.35), ("md_ls", 1.9), ("md_stat_16", 0.97)])
def test_shipped_policy_gains_where_there_is_something_to_gain(name: str, least: float) -> None:
    default, tuned = run(name), run(name, "weir")
    assert tuned.ops_per_s[0] >= least * default.ops_per_s[0]


def test_shipped_policy_stays_within_what_the_server_allows() -> None:
    assert run("md_create_16", "weir", mod_rpcs=8).finals[0]["mod_rpcs"] <= 8


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 4])
def test_clients_of_one_busy_server_lose_nothing_where_all_are_tuned(threads: int) -> None:
    slow = {"service_threads": threads, "create_us": 4000, "close_us": 4000}
    default, tuned = run("md_create_16", None, 6, **slow), run("md_create_16", "weir", 6, **slow)
    assert sum(tuned.ops_per_s) >= 0.99 * sum(default.ops_per_s)
    assert min(b / a for a, b in zip(default.ops_per_s, tuned.ops_per_s, strict=True)) >= 0.95


def test_simulate_run_answers_for_metadata_in_operations() -> None:
    asked = [
        "run",
        "--cluster",
        "emulated-10ms",
        "--workload",
        "md_create_16",
        "--set",
        "mod_rpcs=16",
        "--json",
    ]
    found = CliRunner().invoke(simulate, [*asked, "--seconds", "5", "--rpcs", "16", "--mod-rpcs", "15"])
    document = json.loads(found.stdout)
    assert document["ops_per_s"] == pytest.approx(283, rel=0.05)
    assert document["final"] == {"rpcs": 16, "mod_rpcs": 15, "statahead": 32}
    several = CliRunner().invoke(simulate, [*asked, "--seconds", "2", "--clients", "2"])
    assert len(json.loads(several.stdout)["clients"]) == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--workload", "md_copy_4"], "metadata workloads look like"),
        (["--workload", "s_rd_sq_1m", "--statahead", "8"], "--statahead is a knob of metadata"),
        (["--workload", "md_ls", "--policy", "oracle"], "not for metadata workloads"),
        (["--workload", "md_ls", "--shared"], "neither --event nor --shared"),
        (
            ["--cluster", "emulated-10ms", "--workload", "md_create_4", "--mod-rpcs", "15"],
            "this server allows 8; for another one: --set mod_rpcs=15",
        ),
    ],
)
def test_simulate_run_refuses_what_metadata_has_not(asked: list[str], said: str) -> None:
    found = CliRunner().invoke(simulate, ["run", *asked])
    assert found.exit_code != 0
    assert said in str(found.exception) or said in found.output


@pytest.mark.parametrize("name", ["md_ls", "ra_seq_1m_1"])
def test_surface_refuses_what_it_does_not_play(name: str) -> None:
    found = CliRunner().invoke(simulate, ["surface", "--workload", name])
    assert found.exit_code != 0
    assert "played by penstock simulate run and serve only" in str(found.exception)


def test_knobs_of_data_are_none_of_metadata() -> None:
    cluster = builtin_cluster("emulated-10ms")
    with pytest.raises(KnobError, match="no knob 'pages'"):
        run_metadata(MetadataWorld(cluster, parse_metadata("md_ls")), (1.0, 0.0), {"pages": 4})
