"""Lustre's own commands: health in, layouts and pools out, undone afterwards; a real mount where one is named."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.rigs.lustre_tools import change_state, install_tools, tool_state

from penstock.cli.main import cli
from penstock.errors import DataError
from penstock.schedule import lfs
from penstock.schedule.health import parse_bytes, parse_df, parse_imports, read_health, read_load
from penstock.schedule.layout import Component, Layout, parse_layout
from penstock.schedule.lfs import read_layout, run_tool

SITE = """
[platform]
resources = 8
compute_nodes = 100
fsname = "scratch"
apply = "{how}"
[lustre]
mount = "/scratch"
[next]
name = "ocean run"
compute_nodes = 4
best_count = 3
directory = "{directory}"
"""
DF = """\
UUID                 1K-blocks  Used   Available Use% Mounted on
testfs-MDT0000_UUID  13000  1200   11000  10% /testfs[MDT:0]
testfs-OST0000_UUID   3600  2900  585  84% /testfs[OST:0]
testfs-OST0001_UUID   3600  3100  472  87% /testfs[OST:1] D
testfs-OST0002_UUID   3600  3000  570  84% /testfs[OST:2] DR
OST0003           : inactive device
testfs-OST0006_UUID   5400  5390  10  99% /testfs[OST:6] f

filesystem_summary:  16200 13800    2000  88% /testfs
"""


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "lustre"
    monkeypatch.setenv("PATH", f"{install_tools(home, 8)}:{os.environ['PATH']}")
    return home


def invoke(*arguments: str) -> tuple[dict[str, Any], str]:
    result = CliRunner().invoke(cli, ["schedule", "advise", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), result.stderr


def site(tmp_path: Path, how: str) -> tuple[str, str, Path]:
    directory = tmp_path / "my run"
    directory.mkdir(exist_ok=True)
    path = tmp_path / "site.toml"
    path.write_text(SITE.format(how=how, directory=directory))
    return str(path), str(tmp_path / "jobs.jsonl"), directory


def test_df_closes_what_is_not_fit_for_new_files() -> None:
    assert parse_df(DF, 8, 0.05) == {
        1: "degraded",
        2: "degraded, read-only",
        3: "inactive",
        4: "not listed by lfs df",
        5: "not listed by lfs df",
        6: "0 % free",
        7: "not listed by lfs df",
    }
    with pytest.raises(DataError, match="lists no OST"):
        parse_df("nonsense", 8, 0.05)


def test_imports_and_bytes_are_read_per_ost() -> None:
    text = (
        "osc.scratch-OST0001-osc-ff11.active=0\nosc.scratch-OST0000-osc-ff11.active=1\n"
        "osc.scratch-OST0000-osc-ff11.state=\ncurrent_state: DISCONN\nstate_history:\n - [ 1, FULL ]\n"
        "osc.scratch-OST0002-osc-ff11.state=\ncurrent_state: IDLE\n"
        "osc.scratch-OST0005-osc-MDT0000.active=0\n"
    )
    assert parse_imports(text) == {1: "inactive on this client", 0: "connection DISCONN"}
    stats = (
        "obdfilter.scratch-OST000a.stats=\nsnapshot_time  1.5 secs.nsecs\n"
        "read_bytes  2 samples [bytes] 4096 8192 12288 83886080\n"
        "write_bytes 1 samples [bytes] 100 100 100 10000\nping 4 samples [reqs]\n"
    )
    assert parse_bytes(stats) == {10: 12388.0}


def test_health_and_load_are_asked_of_the_tools(tools: Path) -> None:
    change_state(
        tools, params={"osc.scratch-OST0002-osc-ff.active": "0", "osc.scratch-OST0001-osc-ff.state": "\n"}
    )
    targets = tool_state(tools)["osts"]
    targets["5"]["flags"] = "inactive"
    targets["6"]["used_kb"] = 990000
    change_state(tools, osts=targets)
    assert dict(read_health("/scratch", 8, 0.05).unusable) == {
        2: "inactive on this client",
        5: "inactive",
        6: "1 % free",
    }

    def stats(moved: int) -> dict[str, str]:
        line = f"write_bytes 9 samples [bytes] 1 1 {moved} 1\n"
        return {
            "obdfilter.scratch-OST0004.stats": line,
            "obdfilter.scratch-OST0000.stats": "ping 1 samples\n\n",
        }

    change_state(tools, params=stats(0))
    load = read_load(1.0, 0.0, lambda _: change_state(tools, params=stats(1 << 40)))
    assert load == {4: 1.0}


@pytest.mark.parametrize("how", ["directory", "progressive", "pool"])
@pytest.mark.parametrize("before", ["none", "plain", "progressive"])
def test_start_applies_and_end_gives_back_what_was_there(
    how: str, before: str, tools: Path, tmp_path: Path
) -> None:
    path, ledger, directory = site(tmp_path, how)
    options = {"none": ["-d"], "plain": ["-c", "2", "-S", "4194304", "-i", "5"]}
    options["progressive"] = ["-E", "67108864", "-c", "1", "-S", "1048576", "-i", "-1"]
    options["progressive"] += ["-E", "-1", "-c", "4", "-S", "1048576", "-i", "-1"]
    run_tool(["lfs", "setstripe", *options[before], str(directory)])
    original = tool_state(tools)["layouts"].get(str(directory))
    answer, said = invoke(path, "--ledger", ledger, "--start", "--apply")
    assert said == ""
    last = tool_state(tools)["layouts"][str(directory)]["components"][-1]
    assert last["count"] == 3
    if how == "pool":
        pool = answer["commands"]["pool"]
        assert last["pool"] == pool and len(tool_state(tools)["pools"][pool]) == 3
    else:
        assert last["osts"] == answer["resources"]
    ended, said = invoke(path, "--ledger", ledger, "--end", "ocean run", "--apply")
    assert ended["undone"] and said == ""
    assert tool_state(tools)["layouts"].get(str(directory)) == original
    assert tool_state(tools)["pools"] == {}


def test_layout_that_somebody_else_set_is_left(tools: Path, tmp_path: Path) -> None:
    path, ledger, directory = site(tmp_path, "directory")
    invoke(path, "--ledger", ledger, "--start", "--apply")
    run_tool(["lfs", "setstripe", "-c", "1", "-i", "7", str(directory)])
    _, said = invoke(path, "--ledger", ledger, "--end", "ocean run", "--apply")
    assert "is not the one job ocean run was given" in said
    assert tool_state(tools)["layouts"][str(directory)]["components"][0]["offset"] == 7


def test_pool_needs_the_mgs_and_leaves_nothing_half_done(tools: Path, tmp_path: Path) -> None:
    path, ledger, directory = site(tmp_path, "pool")
    change_state(tools, mgs=False)
    answer, said = invoke(path, "--ledger", ledger, "--start", "--apply")
    assert "not applied" in said and "MGS" in said and answer["count"] == 3
    assert str(directory) not in tool_state(tools)["layouts"] and tool_state(tools)["pools"] == {}


def test_unhealthy_osts_are_left_out_and_said(tools: Path, tmp_path: Path) -> None:
    path, ledger, _ = site(tmp_path, "directory")
    targets = tool_state(tools)["osts"]
    for index in ("0", "1", "2"):
        targets[index]["flags"] = "R"
    change_state(tools, osts=targets)
    answer, said = invoke(path, "--ledger", ledger)
    assert answer["resources"] == [3, 4, 5] and "OST 1 is left out: read-only" in said


def test_without_a_client_advice_still_comes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    path, ledger, _ = site(tmp_path, "directory")
    answer, said = invoke(path, "--ledger", ledger, "--start", "--apply")
    assert "health is not known" in said and "not applied" in said
    assert answer["commands"]["save"] and answer["count"] == 3


def test_tool_that_hangs_is_given_up(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lfs, "TIMEOUT_S", 0.2)
    (tools / "bin" / "lfs").write_text("#!/bin/sh\nexec sleep 30\n")
    with pytest.raises(Exception, match="no answer within"):
        read_layout("/scratch")


def test_layouts_that_cannot_be_repeated_are_refused() -> None:
    with pytest.raises(DataError, match="mirrored"):
        parse_layout("d\n  lcm_mirror_count:  2\n  lcm_entry_count:   2\n", "d")
    with pytest.raises(DataError, match="not a layout"):
        parse_layout("nonsense", "d")
    plain = "d\nstripe_count:  1 stripe_size:   1048576 pattern:       0 stripe_offset: -1\n"
    assert parse_layout(plain, "d") == Layout((Component(-1, 1, 1 << 20, -1),))


REAL = os.environ.get("PENSTOCK_LUSTRE", "")
if REAL:

    def test_real_lustre_gives_and_takes_back_a_layout() -> None:
        """On the mount that PENSTOCK_LUSTRE names: health, a directory's layout changed and restored."""
        directory = Path(REAL) / f"penstock-test-{os.getpid()}"
        directory.mkdir()
        try:
            closed = read_health(REAL, 1, 0.0).unusable
            assert 0 not in closed
            run_tool(["lfs", "setstripe", "-c", "1", "-S", "2097152", str(directory)])
            before = read_layout(str(directory))
            run_tool(["lfs", "setstripe", "-c", "1", "-o", "0", str(directory)])
            run_tool(["lfs", "setstripe", *before.options(), str(directory)])
            assert read_layout(str(directory)) == before
            run_tool(["lfs", "setstripe", "-d", str(directory)])
            assert read_layout(str(directory)) == Layout()
        finally:
            directory.rmdir()
