"""The command line's contract: documents, exit codes, one-line errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.schedule import reference

from penstock.cli.main import cli
from penstock.errors import DataError, UsageError

SET: dict[str, Any] = {
    "resources": 4,
    "compute_nodes": 16,
    "applications": [
        {
            "name": "a",
            "compute_nodes": 8,
            "bandwidth": {"0": 1, "1": 100, "2": 180, "4": 250},
            "phases": [{"compute_s": 10, "io_bytes": 2000}] * 2,
            "resources": [0, 1],
        },
        {
            "name": "b",
            "compute_nodes": 4,
            "bandwidth": {"1": 50, "4": 40},
            "phases": [{"compute_s": 5, "io_bytes": 500}],
            "resources": [1],
        },
        {
            "name": "silent",
            "compute_nodes": 1,
            "bandwidth": {"1": 5, "2": 9},
            "phases": [{"compute_s": 70, "io_bytes": 0}],
            "resources": [3],
        },
    ],
}


@pytest.fixture
def set_file(tmp_path: Path) -> str:
    path = tmp_path / "set.json"
    path.write_text(json.dumps(SET))
    return str(path)


def run(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["schedule", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_allocate_prints_the_documented_keys(set_file: str) -> None:
    document = run("allocate", set_file, "--allocation", "tcpu")
    counts = reference.tcpu(SET)
    assert document["allocation"] == dict(zip(["a", "b", "silent"], counts, strict=True))
    assert document["io_load"] == pytest.approx(float(reference.io_load(SET, counts)))
    assert document["saturated"] is False and set(document) == {"allocation", "io_load", "saturated"}


@pytest.mark.parametrize("until", ["all", "first"])
def test_simulate_given_matches_the_reference(set_file: str, until: str) -> None:
    document = run("simulate", set_file, "--allocation", "given", "--placement", "given", "--until", until)
    expected = reference.simulate(SET, [[0, 1], [1], [3]], until)
    assert document["placement"] == {"a": [0, 1], "b": [1], "silent": [3]}
    slow = [document["applications"][name]["io_slowdown"] for name in document["allocation"]]
    assert slow == pytest.approx([float(value) for value in expected["io_slowdown"]])
    assert document["mean_io_slowdown"] == pytest.approx(sum(slow) / 3)
    assert document["max_io_slowdown"] == max(slow)
    for key in ("horizon_s", "io_spread", "machine_idle_time"):
        assert document[key] == pytest.approx(float(expected[key])), key
    assert document["applications"]["silent"]["io_slowdown"] == 1


@pytest.mark.parametrize("allocation", ["random", "static", "bestbdw", "nsys", "tcpu", "mckp"])
@pytest.mark.parametrize("placement", ["random", "greedy-non-clairvoyant", "greedy-clairvoyant"])
def test_simulate_runs_every_combination(set_file: str, allocation: str, placement: str) -> None:
    document = run("simulate", set_file, "--allocation", allocation, "--placement", placement, "--seed", "4")
    for name, count in document["allocation"].items():
        assert len(document["placement"][name]) == count
        one = document["applications"][name]
        parts = one["io_slowdown_allocation"] + one["io_slowdown_congestion"]
        assert one["io_slowdown"] == pytest.approx(parts)


def test_seed_makes_random_choices_repeatable(set_file: str) -> None:
    command = ("simulate", set_file, "--allocation", "random", "--placement", "random", "--seed")
    assert run(*command, "5") == run(*command, "5")
    assert any(run(*command, "5") != run(*command, str(seed)) for seed in range(6, 12))


def test_given_count_must_agree_with_the_allocation(set_file: str) -> None:
    with pytest.raises(DataError, match="a: resources: 2 are given"):
        run("simulate", set_file, "--allocation", "bestbdw", "--placement", "given")


def test_as_printed_without_tcpu_is_a_usage_error(set_file: str) -> None:
    with pytest.raises(UsageError, match="as-printed"):
        run("allocate", set_file, "--allocation", "nsys", "--as-printed")


def test_unknown_allocation_suggests_the_nearest(set_file: str) -> None:
    result = CliRunner().invoke(cli, ["schedule", "allocate", set_file, "--allocation", "tpcu"])
    assert result.exit_code == 2 and 'did you mean "tcpu"' in result.output


def test_tables_are_printed_without_json(set_file: str) -> None:
    result = CliRunner().invoke(cli, ["schedule", "simulate", set_file], catch_exceptions=False)
    assert result.exit_code == 0 and "mean slowdown" in result.stdout and "silent" in result.stdout


def test_generate_writes_a_set_of_the_paper_that_other_commands_take(tmp_path: Path) -> None:
    out = str(tmp_path / "set.json")
    made = run("generate", "--applications", "40", "--load", "0.4", "--seed", "3", "--out", out)
    assert (made["applications"], made["resources"], made["compute_nodes"]) == (40, 20, 480)
    assert made["least_io_load"] == pytest.approx(0.4, abs=0.025)
    allocated = run("allocate", out, "--allocation", "nsys")
    assert allocated["io_load"] == pytest.approx(made["least_io_load"])
    again = str(tmp_path / "again.json")
    run("generate", "--applications", "40", "--load", "0.4", "--seed", "3", "--out", again)
    assert Path(again).read_text() == Path(out).read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "name --applications K"),
        (("--applications", "4", "--site", "week.toml"), "name --applications K"),
        (("--applications", "40", "--curves", "osts"), "--curves osts needs --data"),
        (("--applications", "4", "--load", "3"), "too few for an I/O-load of 3"),
    ],
)
def test_generate_refuses_what_makes_no_set(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        run("generate", *words)
