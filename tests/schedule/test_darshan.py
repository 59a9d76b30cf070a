"""Darshan logs of past runs: volume, times and OSTs; a damaged log is an error, never a crash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.schedule.test_advice import SITE, run

from penstock.errors import DataError, MissingError
from penstock.observe import darshan_log
from penstock.observe.darshan_log import RawLog
from penstock.schedule.darshan import past_run, read_darshan

pytest.importorskip("darshan")


@pytest.fixture
def log(shared_dir: Path) -> Path:
    return next(iter(sorted((shared_dir / "data" / "darshan").glob("dbin_ior_id66184525-37486*"))))


def rows(file: int, rank: int, volume: int) -> dict[str, float]:
    times = {f"POSIX_F_{kind}_TIME": 2.0 for kind in ("READ", "WRITE", "META")}
    return {"id": file, "rank": rank, "POSIX_BYTES_READ": 0, "POSIX_BYTES_WRITTEN": volume, **times}


def test_reader_may_print_any_bytes_when_it_fails(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "noisy_reader.py").write_text("import sys\nsys.stderr.buffer.write(b'\\x92')\nsys.exit(1)\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(darshan_log, "READER", "noisy_reader")
    with pytest.raises(DataError, match="damaged or truncated Darshan log"):
        read_darshan(log)


def test_darshan_log_gives_volume_times_and_osts(log: Path, tmp_path: Path) -> None:
    past = read_darshan(log)
    assert past.processes == 256 and past.run_s == 465 and 0 < past.io_s <= past.run_s
    assert past.io_bytes == pytest.approx(268437458)
    assert (past.program, past.osts, past.shared) == ("ior", 1, True)
    site = tmp_path / "site.toml"
    site.write_text(SITE.replace('compute = "1h"\nio = "2TiB"', f'darshan = "{log}"'))
    assert run("advise", str(site))["rule"] == "idle-nodes"


def test_osts_are_those_of_files_with_bytes() -> None:
    striping = [
        {"id": 1, "LUSTRE_COMP_STRIPE_COUNT": 2, "LUSTRE_OST_IDS": [4, 9]},
        {"id": 2, "LUSTRE_COMP_STRIPE_COUNT": 1, "LUSTRE_OST_IDS": [9]},
        {"id": 3, "LUSTRE_COMP_STRIPE_COUNT": 1, "LUSTRE_OST_IDS": [7]},
    ]
    modules = {"POSIX": [rows(1, 0, 10), rows(2, 1, 5), rows(3, 0, 0)]}
    raw = RawLog("a.darshan", "/bin/app x", 2, 100.0, modules, striping)
    past = past_run(raw)
    assert (past.osts, past.shared, past.io_s, past.io_bytes) == (2, False, 12.0, 15)
    old = RawLog("a", "app", 2, 100.0, modules, [{"id": 1, "LUSTRE_STRIPE_WIDTH": 8}])
    assert past_run(old).osts == 8
    assert past_run(RawLog("a", "app", 2, 100.0, modules, [])).osts is None


def test_osts_of_tiny_files_do_not_count() -> None:
    striping = [{"id": file, "LUSTRE_OST_IDS": [file]} for file in range(20)]
    tiny = [rows(file, 0, 5) for file in range(1, 20)]
    log = RawLog("a", "app", 1, 100.0, {"POSIX": [rows(0, 0, 100_000), *tiny]}, striping)
    assert past_run(log).osts == 1 and past_run(log).io_bytes == 100_095
    even = RawLog("a", "app", 1, 100.0, {"POSIX": [rows(file, 0, 5) for file in range(20)]}, striping)
    assert past_run(even).osts == 20


def test_io_time_is_that_of_the_slowest_rank() -> None:
    writer = RawLog("a", "app", 1000, 100.0, {"POSIX": [rows(1, 7, 10)]}, [])
    assert past_run(writer).io_s == 6.0
    merged = rows(1, -1, 10) | {"POSIX_F_SLOWEST_RANK_TIME": 5.5}
    assert past_run(RawLog("a", "app", 1000, 100.0, {"POSIX": [merged]}, [])).io_s == 5.5
    assert past_run(RawLog("a", "app", 1000, 3.0, {"POSIX": [merged]}, [])).io_s == 3.0
    # Logs of old versions do not name the slowest rank.
    assert past_run(RawLog("a", "app", 2, 100.0, {"POSIX": [rows(1, -1, 10)]}, [])).io_s == 3.0


def test_missing_darshan_log_is_told(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file"):
        read_darshan(tmp_path / "none.darshan")
    (tmp_path / "bad.darshan").write_bytes(b"nonsense" * 100)
    with pytest.raises(DataError, match="not a Darshan log"):
        read_darshan(tmp_path / "bad.darshan")


@pytest.mark.slow
def test_damaged_log_ends_advise_with_an_error_not_a_crash(log: Path, tmp_path: Path) -> None:
    whole = log.read_bytes()
    # Each of these kills a process that reads it with the library: SIGSEGV, SIGSEGV, SIGABRT.
    for name, first, last in (("cut", 900, len(whole)), ("header", 400, 550), ("names", 900, 1050)):
        damaged = whole[:first] + bytes(byte ^ 0x55 for byte in whole[first:last]) + whole[last:]
        (tmp_path / f"{name}.darshan").write_bytes(whole[:first] if name == "cut" else damaged)
        site = tmp_path / "site.toml"
        site.write_text(SITE.replace('compute = "1h"\nio = "2TiB"', f'darshan = "{name}.darshan"'))
        command = [sys.executable, "-m", "penstock", "schedule", "advise", str(site)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 5 and name in done.stderr and done.stderr.count("\n") == 1, done.stderr
