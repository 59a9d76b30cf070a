"""Tuning readahead in the simulator: what the shipped policy gains, what it leaves alone, what it carries in vain."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from penstock.cli.simulate import simulate
from penstock.errors import KnobError
from penstock.evaluate.reading_runs import ReadingRun, run_reading
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.simulate.reading.reading_workloads import parse_reading

TWIN = builtin_cluster("emulated-10ms")


def run(
    name: str, policy: str | None = None, head_blocks: int = 0, *, with_data_path: bool = False
) -> ReadingRun:
    work = parse_reading(name)
    work = replace(work, head_blocks=head_blocks or work.head_blocks)
    return run_reading(ReadingClient(TWIN, work), (60.0, 5.0), policy, with_data_path=with_data_path)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("ra_seq_1m_1", 1.12),
        ("ra_stride_1m_1", 1.08),
        ("ra_seq_1m_4", 0.97),
        ("ra_rand_1m_4", 0.97),
        ("ra_back_1m_1", 0.97),
        ("ra_files_1m_4", 0.97),
    ],
)
def test_shipped_policy_gains_where_there_is_something_to_gain(name: str, least: float) -> None:
    default, tuned = run(name), run(name, "weir")
    assert tuned.app_bytes_per_s >= least * default.app_bytes_per_s
    assert tuned.carried_ratio <= 1.1


def test_shipped_policy_tunes_readahead_and_data_path_in_one_run() -> None:
    default, tuned = run("ra_seq_1m_1"), run("ra_seq_1m_1", "weir", with_data_path=True)
    assert tuned.app_bytes_per_s >= 1.1 * default.app_bytes_per_s


@pytest.mark.parametrize("head_blocks", [128, 1024, 2048])
def test_shipped_policy_keeps_nothing_that_carries_more_in_vain(head_blocks: int) -> None:
    """A program that reads only the first part of its files: a larger window brings what nobody reads."""
    default = run("ra_heads_1m_1", None, head_blocks)
    tuned = run("ra_heads_1m_1", "weir", head_blocks)
    assert tuned.carried_ratio <= max(1.2, 1.1 * default.carried_ratio)
    assert tuned.app_bytes_per_s >= 0.9 * default.app_bytes_per_s


def test_simulate_run_answers_for_readers() -> None:
    asked = ["run", "--cluster", "emulated-10ms", "--workload", "ra_seq_1m_1", "--json", "--seconds", "10"]
    document = json.loads(CliRunner().invoke(simulate, [*asked, "--ahead-file", "61"]).stdout)
    assert document["app_mbps"] == pytest.approx(49.9, rel=0.05)
    assert document["final"]["ahead_file"] == 61
    small = json.loads(CliRunner().invoke(simulate, [*asked, "--ahead-file", "4"]).stdout)
    assert small["app_mbps"] < 0.7 * document["app_mbps"]
    assert json.loads(CliRunner().invoke(simulate, [*asked, "--policy", "weir"]).stdout)["changes"] >= 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--workload", "ra_copy_1m_1"], "workloads that read look like"),
        (["--workload", "s_rd_sq_1m", "--ahead-file", "8"], "--ahead-file is a knob of readahead"),
        (["--workload", "ra_seq_1m_1", "--policy", "oracle"], "not for workloads that read ahead"),
        (["--workload", "ra_seq_1m_1", "--clients", "2"], "neither --event"),
        (["--workload", "ra_seq_1m_1", "--ahead-file", "1000"], "passes ahead_total"),
        (["--workload", "ra_seq_1m_1", "--rpcs", "8"], "no knob 'rpcs'"),
    ],
)
def test_simulate_run_refuses_what_readers_have_not(asked: list[str], said: str) -> None:
    found = CliRunner().invoke(simulate, ["run", "--cluster", "emulated-10ms", *asked])
    assert found.exit_code != 0
    assert said in str(found.exception) or said in found.output


def test_limits_out_of_bounds_are_refused() -> None:
    found = CliRunner().invoke(simulate, ["run", "--workload", "ra_seq_1m_1", "--ahead-total", "-1"])
    assert isinstance(found.exception, KnobError)
