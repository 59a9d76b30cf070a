"""`penstock simulate` as its users see it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import PenstockError

RUN_KEYS = {
    "workload", "cluster", "seconds", "seed", "app_mbps", "rpc_mbps", "rpcs", "pages_per_rpc", "rpcs_in_flight",
    "page_latency_us", "dirty_mb", "events", "wall_s", "final", "changes",
}  # fmt: skip


def document(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["simulate", *words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def refusal(*words: str) -> PenstockError:
    with pytest.raises(PenstockError) as error:
        CliRunner().invoke(cli, ["simulate", *words], catch_exceptions=False, standalone_mode=False)
    return error.value


def test_run_prints_the_documented_keys_and_repeats_itself() -> None:
    words = (
        "run",
        "--workload",
        "s_rd_rn_1m",
        "--pages",
        "8",
        "--flight",
        "32",
        "--seconds",
        "1",
        "--seed",
        "5",
    )
    first, second = document(*words), document(*words)
    assert set(first) == RUN_KEYS
    assert first["final"] == {"pages": 8, "flight": 32, "dirty": 2000}
    assert first["pages_per_rpc"] == 8
    assert {**first, "wall_s": 0} == {**second, "wall_s": 0}


def test_run_with_clients_adds_each_and_sums_them() -> None:
    seen = document("run", "--workload", "s_rd_rn_8k", "--clients", "2", "--seconds", "1", "--warmup", "0")
    assert len(seen["clients"]) == 2
    assert sum(one["app_mbps"] for one in seen["clients"]) == pytest.approx(seen["app_mbps"])


def test_run_with_events_a_shared_file_and_few_osts_says_what_each_client_lost() -> None:
    seen = document(
        "run", "--workload", "s_wr_sq_1m", "--clients", "2", "--shared", "--osts", "1", "--seconds", "1",
        "--warmup", "0.5", "--event", "evict:client=1:ost=0:at=0.9", "--event", "slow:ost=0:at=1:for=1:factor=2",
    )  # fmt: skip
    assert [one["lost_bytes"] >= 0 for one in seen["clients"]] == [True, True]
    assert seen["lost_bytes"] == sum(one["lost_bytes"] for one in seen["clients"])
    assert seen["clients"][0]["lost_bytes"] == 0


def test_run_takes_jobs_and_events_from_a_scenario(tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(
        'clients = 2\nevents = ["load:ost=0:at=0:for=9:mbps=100"]\n[[job]]\nworkload = "s_rd_sq_1m"\n',
        "utf-8",
    )
    seen = document("run", "--scenario", str(mine), "--seconds", "0.5", "--warmup", "0.2")
    assert (len(seen["clients"]), seen["workload"]) == (2, str(mine))


def test_run_under_a_policy_counts_its_changes_from_the_default() -> None:
    seen = document(
        "run", "--workload", "s_rd_rn_1m", "--policy", "random", "--seconds", "5", "--warmup", "1"
    )
    assert seen["changes"] > 0
    still = document(
        "run", "--workload", "s_rd_rn_1m", "--policy", "default", "--seconds", "2", "--warmup", "1"
    )
    assert (still["changes"], still["final"]["pages"]) == (0, 1024)


def test_run_takes_another_cluster_from_a_file_and_overrides(tmp_path: Path) -> None:
    from importlib import resources

    text = resources.files("penstock.simulate").joinpath("clusters/c6525-25g.toml").read_text("utf-8")
    mine = tmp_path / "mine.toml"
    mine.write_text(text.replace('name = "c6525-25g"', 'name = "mine"'), encoding="utf-8")
    words = ("run", "--cluster", str(mine), "--workload", "s_rd_sq_1m", "--seconds", "1", "--warmup", "0.5")
    plain, slow = document(*words), document(*words, "--set", "device.read_us_per_page=32")
    assert plain["cluster"] == "mine"
    assert slow["app_mbps"] < 0.5 * plain["app_mbps"]


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (("run", "--workload", "s_rd_sq_1x"), 2, "s_rd_sq_1m"),
        (("run", "--workload", "s_rd_sq_1m", "--cluster", "c220g6"), 2, "c220g5"),
        (("run", "--workload", "s_rd_sq_1m", "--cluster", "none.toml"), 3, "none.toml"),
        (("run", "--workload", "s_rd_sq_1m", "--set", "read_rcp_us=3"), 2, "read_rpc_us"),
        (("run", "--workload", "s_rd_sq_1m", "--set", "read_rpc_us=-3"), 5, "read_rpc_us"),
        (("run", "--workload", "s_rd_sq_1m", "--set", "read_rpc_us"), 2, "KEY=VALUE"),
        (("run", "--workload", "s_rd_sq_1m", "--flight", "300"), 5, "flight=300"),
        (("run", "--workload", "s_rd_sq_1m", "--seconds", "0"), 2, "--seconds"),
        (("run",), 2, "--scenario"),
        (("run", "--scenario", "none.toml"), 3, "none.toml"),
        (("run", "--scenario", "none.toml", "--clients", "2"), 2, "--scenario"),
        (("run", "--workload", "s_rd_sq_1m", "--event", "slwo:ost=1:at=1:for=1:factor=2"), 2, "slow"),
        (("run", "--workload", "s_rd_sq_1m", "--event", "fail:ost=8:at=1:for=1"), 2, "8 OSTs"),
        (("run", "--workload", "s_rd_sq_1m", "--policy", "climb", "--pages", "8"), 2, "--policy"),
    ],
)
def test_bad_input_is_refused_by_name(words: tuple[str, ...], code: int, part: str) -> None:
    error = refusal(*words)
    assert error.exit_code == code
    assert part in str(error)


@pytest.mark.slow
def test_surface_is_the_same_whatever_the_number_of_workers(tmp_path: Path) -> None:
    words = ("surface", "--workload", "s_rd_rn_8k", "--seconds", "0.1", "--warmup", "0.05")
    png = tmp_path / "map.png"
    alone = document(*words, "--workers", "1", "--png", str(png))
    assert alone == document(*words, "--workers", "2")
    assert len(alone["rows"]) == 99
    assert set(alone["rows"][0]) == {"pages", "flight", "app_mbps", "rpc_mbps"}
    assert png.read_bytes().startswith(b"\x89PNG")


def test_random_walk_visits_every_setting() -> None:
    seen = document(
        "surface",
        "--workload",
        "s_rd_rn_8k",
        "--protocol",
        "random-walk",
        "--seconds",
        "0.1",
        "--interval",
        "0.1",
    )
    assert seen["protocol"] == "random-walk"
    assert len({(row["pages"], row["flight"]) for row in seen["rows"]}) == 99
    assert min(row["app_mbps"] for row in seen["rows"]) > 0


def test_run_takes_an_application_with_parameters() -> None:
    name = "dlio-bert:files=8,samples=3000,threads=2,osts=2"
    seen = document("run", "--workload", name, "--seconds", "1", "--warmup", "0")
    assert (seen["workload"], set(seen)) == (name, RUN_KEYS)
    assert seen["app_mbps"] > 0


def test_run_plays_recorded_requests_for_as_long_as_they_took(tmp_path: Path) -> None:
    trace = tmp_path / "mine.csv"
    rows = [
        f"{n * 0.1},0,{n % 2},f{n % 2},{'write' if n % 2 else 'read'},{n << 20},1048576" for n in range(10)
    ]
    trace.write_text("\n".join(["t,client,stream,file,op,offset,bytes", *rows]), encoding="utf-8")
    seen = document("run", "--trace", str(trace), "--loop", "open", "--seconds", "2", "--warmup", "0")
    assert seen["app_mbps"] == pytest.approx(10 * 1.048576 / 2)
    assert document("run", "--trace", str(trace))["seconds"] == pytest.approx(0.9)
    assert refusal("run", "--trace", str(trace), "--workload", "s_rd_sq_1m").exit_code == 2
    assert refusal("run", "--trace", str(tmp_path / "none.csv")).exit_code == 3
    assert refusal("run").exit_code == 2


def test_workloads_are_listed_with_parameters_and_sources() -> None:
    seen = document("workloads")
    assert len(seen["synthetic"]) == 24
    assert {"dlio-bert", "vpic-2d-interleaved", "bdcats-strided"} <= {
        app["name"] for app in seen["applications"]
    }
    assert all(app["source"] and app["parameters"]["osts"] for app in seen["applications"])
    shown = CliRunner().invoke(cli, ["simulate", "workloads", "webserver"], catch_exceptions=False)
    assert "Filebench" in shown.output
    assert "dlio-bert" in str(refusal("workloads", "dlio-brt"))


def test_compiling_is_announced_only_before_the_first_run() -> None:
    words = ["simulate", "run", "--workload", "s_rd_rn_1m", "--seconds", "1", "--json"]
    CliRunner().invoke(cli, words, catch_exceptions=False)
    assert "compiling" not in CliRunner().invoke(cli, words, catch_exceptions=False).stderr
