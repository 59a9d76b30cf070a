"""`simulate serve` as a user runs it: the simulator behind the tree, every recorded write replayed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.served import wait_for, why_not

from penstock.cli.main import main
from penstock.emulate.mount import unmount
from penstock.observe.collector import LustreObserver
from penstock.testing.observers import check_observer

pytestmark = pytest.mark.live

FIXTURES = Path(__file__).parent.parent / "fixtures"
RECORDED = {"2.15": "lustre-2.15.8", "2.17": "lustre-2.17.57"}
KNOBS = ("max_pages_per_rpc", "max_rpcs_in_flight", "max_dirty_mb")
START = {"max_pages_per_rpc": "1024", "max_rpcs_in_flight": "8", "max_dirty_mb": "490"}
# The first run on a machine compiles the simulator.
PATIENCE_S = 600.0


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "penstock", "simulate", "serve", *arguments]


@pytest.fixture(params=["2.15", "2.17"], scope="module")
def serving(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    if why_not():
        pytest.skip(why_not() or "")
    root = tmp_path_factory.mktemp("served")
    arguments = ["--cluster", "c220g5", "--workload", "s_wr_rn_8k", "--root", str(root), "--osts", "2"]
    process = subprocess.Popen(command(*arguments, "--layout", request.param, "--set", "ram_gb=4"))
    try:
        wait_for(lambda: root.is_mount() or process.poll() is not None, PATIENCE_S)
        yield request.param, root
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        mounted = root.is_mount()
        unmount(root)
    assert (code, mounted) == (0, False)


def find(root: Path, name: str) -> Path:
    return next(path for path in root.glob(f"*/fs/lustre/osc/*OST0000*/{name}"))


def store(path: Path, text: str) -> dict[str, Any]:
    fd = os.open(path, os.O_WRONLY)
    try:
        return {"written": os.write(fd, text.encode())}
    except OSError as error:
        return {"write_errno": errno.errorcode[error.errno or 0]}
    finally:
        os.close(fd)


def test_serve_answers_every_recorded_write(serving: tuple[str, Path]) -> None:
    layout, root = serving
    files = {name: find(root, name) for name in KNOBS}
    lines = (FIXTURES / RECORDED[layout] / "actuation/stores.jsonl").read_text().splitlines()
    rows = [row for row in map(json.loads, lines) if row["ev"] == "set"]
    differing = []
    for row in rows:
        for name in KNOBS:
            store(files[name], row["before"] if name == row["param"] else START[name])
        answer = store(files[row["param"]], row["value"])
        values = {name: path.read_text().strip() for name, path in files.items()}
        if (answer, values) != (row["result"], row["tri"]):
            differing.append((row["param"], row["value"]))
    # A write of nothing never reaches a FUSE file system; 2.15's procfs alone answered it with EINVAL.
    assert differing == ([("max_pages_per_rpc", "")] if layout == "2.15" else [])
    assert len(rows) == 83


def test_serve_runs_the_simulator_in_real_time(serving: tuple[str, Path]) -> None:
    _, root = serving
    stats = next(root.glob("sys/kernel/debug/lustre/osc/*OST0000*/stats"))
    wait_for(lambda: "write_bytes" in stats.read_text(), 300)
    first = stats.read_text()
    wait_for(lambda: stats.read_text().split("write_bytes")[1] != first.split("write_bytes")[1], 300)
    assert int(find(root, "cur_dirty_bytes").read_text()) >= 0


def test_serve_passes_the_observer_suite(serving: tuple[str, Path]) -> None:
    _, root = serving
    made: list[LustreObserver] = []

    def make() -> LustreObserver:
        made.append(LustreObserver(root))
        return made[-1]

    try:
        check_observer(make, advance=lambda: time.sleep(0.2))
    finally:
        for observer in made:
            observer.close()


def test_serve_takes_a_relative_root(tmp_path: Path) -> None:
    if why_not():
        pytest.skip(why_not() or "")
    root, said = tmp_path / "client", tmp_path / "said"
    with said.open("w") as stderr:
        process = subprocess.Popen(command("--root", "./client", "--osts", "1"), cwd=tmp_path, stderr=stderr)
    try:
        wait_for(lambda: "serving 1 target of Lustre 2.15.8 at client" in said.read_text(), 600)
        assert find(root, "max_rpcs_in_flight").read_text() == "8\n"
        process.terminate()
        assert process.wait(timeout=300) == 0
        assert not root.is_mount()
        assert list(root.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        unmount(root)


def test_serve_says_how_to_remove_what_a_killed_one_left(tmp_path: Path) -> None:
    if why_not():
        pytest.skip(why_not() or "")
    root, said = tmp_path / "client", tmp_path / "said"
    with said.open("w") as stderr:
        process = subprocess.Popen(command("--root", "client", "--osts", "1"), cwd=tmp_path, stderr=stderr)
    try:
        wait_for(lambda: "serving" in said.read_text(), 600)
        process.kill()
        process.wait()
        again = subprocess.run(
            command("--root", "client"), capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert again.returncode == 2
        assert again.stderr.endswith("left a dead mount; fusermount3 -u -z client\n")
        subprocess.run(["fusermount3", "-u", "-z", "client"], cwd=tmp_path, check=True)
        assert list(root.iterdir()) == []
    finally:
        process.kill()
        process.wait()
        unmount(root)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--root", "tree", "--layout", "2.16"], "2.16"),
        (["--root", "tree", "--workload", "s_xx_rn_8k"], "s_xx_rn_8k"),
        (["--root", "tree", "--cluster", "c220g6"], "did you mean"),
        (["--root", "tree", "--set", "ram_gb"], "not KEY=VALUE"),
        (["--root", "tree", "--set", "rum_gb=4"], "ram_gb"),
        (["--root", "tree", "--osts", "0"], "--osts"),
        (["--root", "full"], "not empty"),
        (["--root", "full/file"], "not a directory"),
    ],
)
def test_serve_refuses_nonsense_in_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").write_text("")
    monkeypatch.setattr(sys, "argv", ["penstock", "simulate", "serve", *arguments])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]
