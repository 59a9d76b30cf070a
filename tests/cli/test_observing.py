"""`penstock snapshot` and `penstock replay` as users run them."""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.rigs.served import wait_for

PENSTOCK = [sys.executable, "-m", "penstock"]
FIXTURES = Path(__file__).parent.parent / "fixtures"
TREE = str(FIXTURES / "lustre-2.15.8" / "tree")
SERIES = FIXTURES / "lustre-2.15.8" / "series" / "seqwrite1m.jsonl.gz"


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PENSTOCK, *args], capture_output=True, text=True, env={**os.environ, **env}, check=False
    )


@pytest.mark.parametrize("version", ["2.15.8", "2.17.57"])
def test_snapshot_json_holds_the_documented_keys(version: str) -> None:
    result = run("snapshot", "--root", str(FIXTURES / f"lustre-{version}" / "tree"), "--json")
    assert (result.returncode, result.stderr) == (0, "")
    document = json.loads(result.stdout)
    assert document["system"] == "lustre"
    assert document["version"] is None
    first = document["targets"][0]
    assert {*first} >= {
        *("name", "fs", "ost", "pages", "flight", "dirty_mb", "dirty_bytes", "grant_bytes", "import_state"),
        *("active", "read", "write"),
    }
    assert (first["fs"], first["ost"], first["active"]) == ("lustre", "OST0000", True)
    assert first["pages"] == (1024 if version == "2.15.8" else 256)
    assert first["read"]["rpcs"] == (22 if version == "2.15.8" else 2732)
    assert len(document["targets"]) == 2


def test_snapshot_says_what_it_could_not_read(tmp_path: Path) -> None:
    osc = tmp_path / "sys/fs/lustre/osc/a-OST0000-osc-ff"
    osc.mkdir(parents=True)
    (osc / "max_dirty_mb").write_text("12")
    (osc / "max_rpcs_in_flight").write_text("8\n")
    result = run("snapshot", "--root", str(tmp_path), "--json")
    (target,) = json.loads(result.stdout)["targets"]
    assert (target["flight"], target["dirty_mb"], target["pages"]) == (8, None, None)
    assert target["read"]["bytes"] is None
    assert target["import_state"] is None
    assert "a-OST0000-osc-ff: max_dirty_mb: cut off inside a line" in result.stderr
    assert result.returncode == 0


def test_snapshot_of_a_node_without_lustre_says_so(tmp_path: Path) -> None:
    result = run("snapshot", "--root", str(tmp_path), "--json")
    assert json.loads(result.stdout)["targets"] == []
    assert "no Lustre client data path" in result.stderr
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("args", "code", "what"),
    [
        (("--root", "nowhere"), 3, "no such directory"),
        (("--root", __file__), 3, "not a directory"),
        (("--json", "--watch"), 2, "--json prints one snapshot"),
        (("--interval", "0"), 2, "must be above 0"),
        (("--interval", "soon"), 2, "duration 'soon'"),
        (("--record", "nowhere/r.jsonl"), 3, "no such directory"),
        (("--wacht",), 2, "--watch"),
    ],
)
def test_snapshot_refuses(args: tuple[str, ...], code: int, what: str) -> None:
    result = run("snapshot", *args)
    assert (result.returncode, result.stdout) == (code, "")
    assert what in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("columns", ["40", "60", "80", "200"])
def test_snapshot_table_fits_the_terminal(columns: str) -> None:
    for args in (
        ("snapshot", "--root", TREE),
        ("snapshot", "--root", TREE, "--watch", "--count", "2", "--interval", "50ms"),
    ):
        result = run(*args, COLUMNS=columns, NO_COLOR="1")
        assert result.returncode == 0
        assert "OST0001" in result.stdout
        assert "…" not in result.stdout
        assert "\x1b" not in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= int(columns)


def test_snapshot_watch_redraws_on_a_terminal() -> None:
    master, slave = pty.openpty()
    args = [*PENSTOCK, "snapshot", "--root", TREE, "--watch", "--count", "3", "--interval", "50ms"]
    process = subprocess.Popen(args, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:
            break
        if not chunk:
            break
        shown += chunk
    assert process.wait() == 0
    os.close(master)
    assert b"lustre-OST0001" in shown
    assert b"2 targets" in shown


def test_snapshot_record_ends_with_ctrl_c_and_replays(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    process = subprocess.Popen(
        [*PENSTOCK, "snapshot", "--root", TREE, "--record", str(path), "--interval", "20ms"],
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_for(lambda: path.exists() and path.read_bytes().count(b"\n") >= 3)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=300)
    assert process.returncode == 0
    assert re.search(r"\d+ probes in ", said)
    windows = json.loads(run("replay", str(path), "--json").stdout)["windows"]
    assert len(windows) >= 4
    assert all(window["read"]["bytes"] == 0 for window in windows)


def test_replay_json_holds_the_documented_keys() -> None:
    result = run("replay", str(SERIES), "--json")
    assert (result.returncode, result.stderr) == (0, "")
    windows = json.loads(result.stdout)["windows"]
    assert len(windows) == 2 * 23
    for window in windows:
        assert {*window} == {"t0", "t1", "target", "read", "write", "dirty_utilisation", "cache_update_bytes"}
        for direction in ("read", "write"):
            figures = window[direction]
            assert {*figures} == {"page_utilisation", "channel_utilisation", "page_latency_us", "bytes"}
            assert (figures["bytes"] == 0) == (figures["page_utilisation"] is None)
    assert windows[0]["target"] == "lustre-OST0000-osc-ff1100010dabc800"
    assert sum(window["write"]["bytes"] for window in windows) > 300e6


def test_replay_reads_several_recordings_each_on_its_own() -> None:
    others = sorted(SERIES.parent.glob("*.gz"))
    windows = json.loads(run("replay", *map(str, others), "--json").stdout)["windows"]
    probes = [gzip.decompress(path.read_bytes()).count(b"\n") for path in others]
    assert len(windows) == 2 * sum(count - 1 for count in probes)


def test_replay_lists_void_pairs_apart(tmp_path: Path) -> None:
    lines = gzip.decompress(SERIES.read_bytes()).splitlines()
    path = tmp_path / "reset.jsonl"
    path.write_bytes(b"\n".join([*lines[-3:], *lines[:3]]) + b"\n")
    document = json.loads(run("replay", str(path), "--json").stdout)
    assert len(document["windows"]) == 2 * 4
    assert {void["reason"] for void in document["void"]} == {"the clock did not advance"}
    assert len(document["void"]) == 2


def test_replay_of_nothing_is_an_empty_document(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    result = run("replay", str(tmp_path / "empty.jsonl"), "--json")
    assert json.loads(result.stdout) == {"windows": [], "void": []}
    assert result.returncode == 0


def test_replay_names_the_line_that_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"t": 1, "files": {}}\nrubbish\n')
    result = run("replay", str(tmp_path / "bad.jsonl"), "--json")
    assert (result.returncode, result.stdout) == (5, "")
    assert "bad.jsonl:2: not a JSON object" in result.stderr


def test_replay_survives_a_reader_that_leaves() -> None:
    process = subprocess.Popen(
        [*PENSTOCK, "replay", str(SERIES), "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 0
    assert process.stderr is not None
    assert process.stderr.read() == b""
    process.stderr.close()
