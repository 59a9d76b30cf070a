"""The authors' sequences and lists: what they hold, by which names, and how clients are placed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import DataError, MissingError, PenstockError, UsageError
from penstock.evaluate import dynamic, interference
from penstock.evaluate.authors_lists import AUTHORS_LISTS, AUTHORS_SEQUENCES, Works
from penstock.evaluate.lists import distinct, find_list, namesakes, parse_list
from penstock.evaluate.request import Request
from penstock.simulate.cluster import builtin_cluster

TRACES = Path(__file__).parents[3] / "shared" / "data" / "lustre-traces"


def request(seconds: float = 2.0, *lists: str) -> Request:
    return Request(("climb",), seconds, cluster=builtin_cluster("c220g5"), only=lists)


@pytest.mark.skipif(not TRACES.is_dir(), reason="the authors' files are not here")
@pytest.mark.parametrize(
    ("folder", "known"), [("sequences", AUTHORS_SEQUENCES), ("interference", AUTHORS_LISTS)]
)
def test_lists_are_those_of_the_authors_files(folder: str, known: Mapping[str, Works]) -> None:
    found = {
        re.sub(r"inf_run_(\d+)__(.*)", r"\2_\1", path.stem): parse_list(path.read_text(), path.name)
        for path in (TRACES / folder).glob("*.txt")
    }
    assert found == known


def test_equal_lists_are_run_once_and_reached_by_every_name() -> None:
    assert (len(AUTHORS_SEQUENCES), len(distinct(AUTHORS_SEQUENCES))) == (12, 12)
    assert (len(AUTHORS_LISTS), len(distinct(AUTHORS_LISTS))) == (14, 9)
    assert namesakes("w_w_dd_10g_0", AUTHORS_LISTS["w_w_dd_10g_0"], AUTHORS_LISTS) == [
        "w_w_dd_1g_0",
        "w_w_psd_1g_0",
    ]
    same = [interference.scene_of(request(), name) for name in ("w_w_dd_10g_0", "w_w_psd_1g_0")]
    assert same[0] == same[1]


def test_file_has_one_workload_a_line_in_either_vocabulary(tmp_path: Path) -> None:
    path = tmp_path / "mine.txt"
    path.write_text("# comment\nrnd_r_1_io_1m\n\n  fivestreamwriternd_io_8k\ns_wr_sq_16m\n")
    assert find_list(str(path), dynamic.KNOWN) == ("s_rd_rn_1m", "f_wr_rn_8k", "s_wr_sq_16m")
    path.write_text("rnd_r_1_io_1m\nrnd_x_1_io_1m\n")
    with pytest.raises(DataError, match=r"mine\.txt:2: unknown workload 'rnd_x_1_io_1m'"):
        find_list(str(path), dynamic.KNOWN)
    path.write_text("\n")
    with pytest.raises(DataError, match="0 workloads; give 1 to 100"):
        find_list(str(path), dynamic.KNOWN)
    with pytest.raises(MissingError, match=r"none\.txt"):
        find_list(str(tmp_path / "none.txt"), dynamic.KNOWN)
    with pytest.raises(UsageError, match='did you mean "write_sequence_2"'):
        find_list("write_sequence2", dynamic.KNOWN)


@pytest.mark.parametrize("name", distinct(AUTHORS_LISTS))
def test_every_client_shares_each_of_its_osts_with_another(name: str) -> None:
    asked = request()
    plan = interference.plan_of(asked, interference.scene_of(asked, name), 0)
    used = [set(job.osts[: job.workload.streams]) for job in plan.jobs]
    assert len(used) == 5
    for client, mine in enumerate(used):
        others = set().union(*(each for other, each in enumerate(used) if other != client))
        assert mine <= others


def run(*words: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, ["evaluate", *words, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_dynamic_has_a_row_for_every_phase_and_no_ceiling_below_the_default(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text("rnd_r_1_io_1m\nseq_w_1_io_1m\n")
    words = ("--list", str(path), "--policy", "climb", "--seconds", "2", "--workers", "1")
    found = run("dynamic", *words, "--cache-dir", str(tmp_path))
    assert [(row["list"], row["phase"], row["workload"]) for row in found["rows"]] == [
        (str(path), 1, "s_rd_rn_1m"),
        (str(path), 2, "s_wr_sq_1m"),
    ]
    assert all(row["ceiling_mbps"] >= 0.98 * row["default_mbps"] for row in found["rows"])
    assert found["rows"][0]["ceiling_mbps"] > 1.5 * found["rows"][0]["default_mbps"]
    assert set(found["rows"][0]["ceiling"]) == {"pages", "flight", "dirty"}
    (whole,) = found["lists"]
    assert whole["phases"] == ["s_rd_rn_1m", "s_wr_sq_1m"]
    assert f"--list {path}" in whole["command"]
    assert "trail" not in whole


def test_interference_has_a_row_for_every_client(tmp_path: Path) -> None:
    path = tmp_path / "two.txt"
    path.write_text("rnd_r_1_io_1m\nrnd_r_1_io_16m\n")
    words = ("--list", str(path), "--policy", "climb", "--seconds", "1", "--workers", "1")
    found = run("interference", *words, "--cache-dir", str(tmp_path))
    assert [(row["client"], row["workload"]) for row in found["rows"]] == [
        (0, "s_rd_rn_1m"),
        (1, "s_rd_rn_16m"),
    ]
    (whole,) = found["lists"]
    assert whole["kind"] == "read"
    assert whole["ceiling_mbps"] >= 0.98 * whole["best_single_mbps"]
    assert sum(row["default_mbps"] for row in found["rows"]) == pytest.approx(whole["default_mbps"], rel=0.01)


def test_unknown_list_is_answered_in_one_line() -> None:
    result = CliRunner().invoke(cli, ["evaluate", "interference", "--list", "r_w_dd_10g_7"])
    assert result.exit_code != 0
    said = str(result.exception) if isinstance(result.exception, PenstockError) else result.output
    assert "r_w_dd_10g_7: neither a file nor one of" in said
