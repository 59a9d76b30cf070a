"""`install.sh` puts everything in its place without a network; `./run bundle` makes what it installs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from penstock.testing.images import ENVIRONMENT, in_image, run_in, write_wheels
from penstock.testing.served import served, wait_for

METADATA = "Metadata-Version: 2.1\nName: penstock\nVersion: 9.9\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
PLACES = {
    "etc/systemd/system/penstock.service": 0o644,
    "etc/systemd/system/penstock-restore.service": 0o644,
    "etc/sysusers.d/penstock.conf": 0o644,
    "etc/tmpfiles.d/penstock.conf": 0o644,
    "etc/penstock/agent.toml": 0o644,
    "usr/local/share/man/man8/penstock-agent.8": 0o644,
    "opt/penstock/share/slurm/prolog.sh": 0o755,
    "opt/penstock/share/slurm/epilog.sh": 0o755,
}


def stand_in(directory: Path) -> None:
    """A wheel that has the name and the command of ours, and nothing to download."""
    directory.mkdir()
    info = "penstock-9.9.dist-info"
    with zipfile.ZipFile(directory / "penstock-9.9-py3-none-any.whl", "w") as wheel:
        wheel.writestr("penstock_stand_in.py", "def main():\n    print('here')\n")
        wheel.writestr(f"{info}/METADATA", METADATA)
        wheel.writestr(f"{info}/WHEEL", WHEEL)
        wheel.writestr(f"{info}/entry_points.txt", "[console_scripts]\npenstock = penstock_stand_in:main\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def bundle(packaging: Path, tmp_path: Path) -> Path:
    shutil.copytree(packaging, tmp_path / "bundle")
    stand_in(tmp_path / "bundle" / "wheels")
    return tmp_path / "bundle"


def install(bundle: Path, root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    nothing = {
        "PIP_INDEX_URL": "http://127.0.0.1:1/",
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHON": sys.executable,
    }
    return subprocess.run(
        [str(bundle / "install.sh")],
        env={**os.environ, **nothing, "DESTDIR": str(root), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_install_puts_everything_in_place_and_keeps_configuration(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = install(bundle, root)
    assert done.returncode == 0, done.stderr
    for name, mode in PLACES.items():
        assert (root / name).stat().st_mode & 0o777 == mode, name
    assert (root / "opt/penstock/bin/penstock").read_text().startswith("#!/opt/penstock/bin/python")
    assert (root / "usr/local/bin/penstock").readlink() == Path("/opt/penstock/bin/penstock")
    (root / "etc/penstock/agent.toml").write_text('mode = "tune"\n')
    assert install(bundle, root).returncode == 0
    assert (root / "etc/penstock/agent.toml").read_text() == 'mode = "tune"\n'


def test_image_runs_the_agent_at_its_final_path(packaging: Path, tmp_path: Path) -> None:
    bundle, root = tmp_path / "bundle", tmp_path / "image"
    shutil.copytree(packaging, bundle)
    write_wheels(bundle / "wheels")
    done = install(bundle, root)
    assert done.returncode == 0, done.stderr
    assert not _files_naming(str(tmp_path), root / "opt/penstock")
    told = run_in(root, "/usr/local/bin/penstock", "--version")
    assert told.returncode == 0, told.stderr
    with served(root / "client", plain=True):
        command = [*_exec_start(root), "--root", "/client"]
        with subprocess.Popen(
            in_image(root, *command), stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
        ) as agent:
            try:
                socket = root / "var/lib/penstock/control.sock"
                wait_for(lambda: agent.poll() is not None or socket.exists())
                status = run_in(root, "/opt/penstock/bin/penstock", "agent", "status", "--json")
                assert status.returncode == 0, status.stderr
                assert json.loads(status.stdout)["policy"] == "weir"
                agent.send_signal(signal.SIGTERM)
                assert agent.wait(20) == 0
            finally:
                agent.kill()


def _exec_start(root: Path) -> list[str]:
    unit = (root / "etc/systemd/system/penstock.service").read_text()
    return next(line for line in unit.splitlines() if line.startswith("ExecStart=")).split("=", 1)[1].split()


def _files_naming(text: str, directory: Path) -> list[Path]:
    """The scripts and configuration files of an environment that name a directory."""
    files = [directory / "pyvenv.cfg", *(directory / "bin").iterdir()]
    return [file for file in files if not file.is_symlink() and text in file.read_text()]


def test_install_needs_a_python_and_says_so(bundle: Path, tmp_path: Path) -> None:
    done = install(bundle, tmp_path / "root", PYTHON="/bin/false")
    assert done.returncode == 3
    assert "needs Python 3.11" in done.stderr
    assert not (tmp_path / "root").exists()
