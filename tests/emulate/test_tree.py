"""The served tree looks and behaves like the recorded one: files, modes, texts, unmount, eviction."""

from __future__ import annotations

import codecs
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from tests.rigs.served import Served, SteadyClient, served, wait_for, why_not

from penstock.emulate.faultcontrol import Faults
from penstock.emulate.plain import PlainTree
from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.treelayout import load_layout
from penstock.observe.collector import LustreObserver
from penstock.observe.lustre.imports import find_connection
from penstock.observe.lustre.rpcstats import parse_rpc_stats
from penstock.observe.lustre.stats import parse_stats

pytestmark = pytest.mark.live


def osc_file(client: Served, name: str, ost: str = "OST0000") -> Path:
    for place in ("sys/fs/lustre", "proc/fs/lustre", "sys/kernel/debug/lustre"):
        for path in (client.root / place / "osc").glob(f"*-{ost}-*/{name}"):
            return path
    raise FileNotFoundError(name)


def shape(text: str) -> list[str]:
    """A text with its figures and names taken out: what remains is its form."""
    text = re.sub(r"-OST\d+-osc-\w+|-OST\d+", "-TARGET", text)
    return [re.sub(r"[0-9][0-9a-fx.@]*\w*", "#", line) for line in text.splitlines()]


def test_tree_has_every_recorded_file_with_its_mode(client: Served, layout: str) -> None:
    for kind in ("osc", "llite", "mdc"):
        for listed in load_layout(layout).kinds[kind]:
            directory = client.root / listed.place / kind
            found = [path / listed.file for path in directory.iterdir() if (path / listed.file).exists()]
            assert found, f"{listed.place}/{kind}/*/{listed.file}"
            status = found[0].stat()
            assert stat.S_IMODE(status.st_mode) == listed.mode, found[0]
            assert status.st_size == (4096 if listed.place == "sys/fs/lustre" else 0)


def test_tree_keeps_debugfs_for_root(client: Served) -> None:
    assert stat.S_IMODE((client.root / "sys/kernel/debug").stat().st_mode) == 0o700


def test_import_has_the_recorded_shape(client: Served, recorded: Path) -> None:
    real = next((recorded / "tree").rglob("osc/*OST0000*/import")).read_text()
    wait_for(lambda: "write_data_averages" in osc_file(client, "import").read_text())
    assert shape(osc_file(client, "import").read_text()) == shape(real.replace("192.168.77.1", "10.0.0.1"))


def test_state_has_the_recorded_shape(client: Served, recorded: Path) -> None:
    real = next((recorded / "tree").rglob("osc/*OST0000*/state")).read_text()
    lines = osc_file(client, "state").read_text().splitlines()
    assert lines[:2] == real.splitlines()[:2]
    assert all(re.fullmatch(r" - \[ \d+, [A-Z]+ \]", line) for line in lines[2:])


def test_rpc_stats_has_the_recorded_shape(client: Served, recorded: Path) -> None:
    real = next((recorded / "tree").rglob("osc/*OST0000*/rpc_stats")).read_text()
    wait_for(lambda: parse_rpc_stats(osc_file(client, "rpc_stats").read_bytes()).rpcs("write") > 0)
    mine = osc_file(client, "rpc_stats").read_text()

    def frame(text: str) -> list[str]:
        return [line for line in shape(text) if not re.match(r"#:\t", line)]

    assert frame(mine) == frame(real)
    row = next(line for line in mine.splitlines() if line.startswith("1:\t"))
    assert re.fullmatch(r"1:\t\t {9}\d {3}\d {3}\d   \| {10}\d {3}\d {3}\d", row)


def test_stats_rows_are_those_of_the_recording(client: Served, recorded: Path) -> None:
    real = parse_stats(next((recorded / "tree").rglob("osc/*OST0000*/stats")).read_bytes())
    wait_for(lambda: "write_bytes" in parse_stats(osc_file(client, "stats").read_bytes()).rows)
    mine = parse_stats(osc_file(client, "stats").read_bytes())
    assert set(mine.rows) <= set(real.rows)
    assert {"read_bytes", "write_bytes", "ost_read", "ost_write", "req_waittime"} <= set(mine.rows)
    assert all(mine.rows[name].unit == real.rows[name].unit for name in mine.rows)


def test_rpc_stats_starts_at_zero_on_old_clients_until_cleared(client: Served, layout: str) -> None:
    path = osc_file(client, "rpc_stats")
    before = parse_rpc_stats(path.read_bytes()).start_time or ""
    assert (float(before) == 0.0) == (layout == "2.15")
    path.write_text("0")
    cleared = parse_rpc_stats(path.read_bytes())
    assert float(cleared.start_time or 0) > 0
    assert cleared.rpcs("write") < 200


def test_counters_rise_and_survive_a_knob(client: Served) -> None:
    path = osc_file(client, "stats")
    wait_for(lambda: "write_bytes" in parse_stats(path.read_bytes()).rows)
    before = parse_stats(path.read_bytes()).rows["write_bytes"]
    osc_file(client, "max_rpcs_in_flight").write_text("16")
    wait_for(lambda: parse_stats(path.read_bytes()).rows["write_bytes"].count > before.count)
    path.write_text("clear")
    assert parse_stats(path.read_bytes()).rows.get("write_bytes", before).count <= before.count


def test_unmount_answers_as_recorded(client: Served, layout: str) -> None:
    paths = {name: osc_file(client, name) for name in ("max_pages_per_rpc", "cur_dirty_bytes", "rpc_stats")}
    held = {name: os.open(path, os.O_RDONLY) for name, path in paths.items()}
    client.control("unmount")
    pages = "Input/output error" if layout == "2.15" else "No such device"
    answers = {
        "max_pages_per_rpc": pages,
        "cur_dirty_bytes": "No such device",
        "rpc_stats": "Input/output error",
    }
    for name, fd in held.items():
        with pytest.raises(FileNotFoundError):
            paths[name].read_text()
        with pytest.raises(OSError, match=answers[name]):
            os.pread(fd, 100, 0)
        os.close(fd)


def test_remount_has_another_instance_and_defaults(client: Served) -> None:
    before = client.osc()
    osc_file(client, "max_rpcs_in_flight").write_text("99")
    client.control("remount")
    assert client.osc() != before
    assert osc_file(client, "max_rpcs_in_flight").read_text() == "8\n"


def test_eviction_raises_the_generation_and_keeps_knobs_and_counters(client: Served) -> None:
    osc_file(client, "max_dirty_mb").write_text("64")
    rpcs = parse_rpc_stats(osc_file(client, "rpc_stats").read_bytes()).rpcs("write")
    _, before, _ = find_connection(osc_file(client, "import").read_bytes())
    client.control("evict OST0000")
    state, after, _ = find_connection(osc_file(client, "import").read_bytes())
    assert (after, state) == (before + 1, "FULL")
    assert "EVICTED" in osc_file(client, "state").read_text()
    assert osc_file(client, "max_dirty_mb").read_text() == "64\n"
    assert osc_file(client, "cur_grant_bytes").read_text() == "0\n"
    assert parse_rpc_stats(osc_file(client, "rpc_stats").read_bytes()).rpcs("write") >= rpcs


def test_deactivation_leaves_everything_readable_and_full(client: Served) -> None:
    client.control("deactivate OST0000")
    assert osc_file(client, "active").read_text() == "0\n"
    assert osc_file(client, "state").read_text().startswith("current_state: FULL\n")
    osc_file(client, "max_rpcs_in_flight").write_text("4")
    assert osc_file(client, "max_rpcs_in_flight").read_text() == "4\n"
    client.control("activate OST0000")
    assert osc_file(client, "active").read_text() == "1\n"


def test_reconnect_with_a_smaller_bulk_size_cuts_pages_for_good(client: Served) -> None:
    client.control("reconnect OST0000 1048576")
    assert osc_file(client, "max_pages_per_rpc").read_text() == "256\n"
    with pytest.raises(OSError, match="out of range"):
        osc_file(client, "max_pages_per_rpc").write_text("512")
    client.control("reconnect OST0000 4194304")
    assert osc_file(client, "max_pages_per_rpc").read_text() == "256\n"


def test_control_fails_reads_and_writes_with_any_errno(client: Served) -> None:
    client.control("fail OST0000 max_dirty_mb write ERANGE\nfail OST0000 stats read EIO")
    with pytest.raises(OSError, match="out of range"):
        osc_file(client, "max_dirty_mb").write_text("64")
    with pytest.raises(OSError, match="Input/output"):
        osc_file(client, "stats").read_text()
    assert osc_file(client, "stats", "OST0001").read_text()
    assert (client.root / ".control").read_text().count("fail OST0000") == 2
    client.control("clear")
    assert osc_file(client, "stats").read_text()


def test_control_blocks_a_read_until_cleared(client: Served) -> None:
    client.control("block OST0000 stats")
    reader = threading.Thread(target=osc_file(client, "stats").read_text)
    reader.start()
    assert osc_file(client, "stats", "OST0001").read_text()
    reader.join(0.2)
    assert reader.is_alive()
    client.control("clear")
    reader.join(300)
    assert not reader.is_alive()


@pytest.mark.parametrize("command", ["fail OST0000", "vanish OST9999", "explode", "fail OST0000 x y EIO"])
def test_control_refuses_nonsense(client: Served, command: str) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        client.control(command)


def test_unprivileged_users_may_look_but_not_touch(client: Served) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    code = (
        "import os,sys\nos.setgid(65534); os.setuid(65534)\n"
        "open(sys.argv[1]).read()\n"
        "for path, flags in ((sys.argv[1], os.O_WRONLY), (sys.argv[2], os.O_RDONLY)):\n"
        "    try: os.open(path, flags)\n"
        "    except PermissionError: print('EACCES')\n"
    )
    root = client.root
    knob = osc_file(client, "max_rpcs_in_flight").relative_to(root)
    stats = osc_file(client, "stats").relative_to(root)
    done = subprocess.run(
        [sys.executable, "-c", code, str(knob), str(stats)],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["EACCES", "EACCES"]


def test_serving_ends_on_sigterm_whatever_is_open_or_hangs(tmp_path: Path) -> None:
    if why_not():
        pytest.skip(why_not() or "")
    with served(tmp_path / "client") as client:
        held = osc_file(client, "stats").open()
        client.control("block OST0001 stats")
        code = "import sys; open(sys.argv[1]).read()"
        hung = subprocess.Popen([sys.executable, "-c", code, str(osc_file(client, "stats", "OST0001"))])
        time.sleep(0.3)
        client.process.send_signal(signal.SIGTERM)
        assert client.process.wait(timeout=300) == 0
        assert not (tmp_path / "client").is_mount()
        hung.wait(timeout=300)
        held.close()


def test_plain_files_take_good_writes_and_undo_bad_ones(tmp_path: Path) -> None:
    with served(tmp_path / "plain", layout="2.15", plain=True) as client:
        pages, dirty = osc_file(client, "max_pages_per_rpc"), osc_file(client, "max_dirty_mb")
        pages.write_text("256\n")
        dirty.write_text("16")
        wait_for(lambda: dirty.read_text() == "16\n")
        assert pages.read_text() == "256\n"
        pages.write_text("9999\n")
        wait_for(lambda: pages.read_text() == "256\n")
        osc_file(client, "max_rpcs_in_flight").write_text("64\n")
        wait_for(lambda: dirty.read_text() == "64\n")
        first = osc_file(client, "stats").read_text()
        wait_for(lambda: osc_file(client, "stats").read_text() != first)
        observer = LustreObserver(client.root)
        assert [seen.setting["pages"] for seen in observer.observe().targets] == [256, 1024]
        observer.close()
    assert not list((tmp_path / "plain").iterdir())


def test_plain_files_of_many_targets_are_all_there(tmp_path: Path) -> None:
    with served(tmp_path / "plain", osts=200, plain=True) as client:
        observer = LustreObserver(client.root)
        assert len(observer.observe().targets) == 200
        observer.close()


def test_plain_files_that_nobody_may_write_follow_the_client_for_an_ordinary_user_too() -> None:
    node = ServedNode(NodePlan(load_layout("2.15"), 1, 4.0, 256), SteadyClient())
    # Python's own library may be closed to that user.
    codecs.lookup("ascii")
    with tempfile.TemporaryDirectory() as home:
        Path(home).chmod(0o777)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.geteuid() == 0:
                    os.setresuid(65534, 65534, 65534)
                tree = PlainTree(node, Faults(node), Path(home) / "tree")
                shown = next((Path(home) / "tree").rglob("timeouts"))
                before = shown.read_text()
                node.osc("OST0000").history = [(1, "FULL")]
                tree.tick()
                code = 0 if shown.read_text() != before and not shown.stat().st_mode & 0o222 else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
