"""`install.sh` puts everything in its place without a network; `./run bundle` makes what it installs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
    said = subprocess.run([root / "opt/penstock/bin/penstock"], capture_output=True, text=True, check=True)
    assert said.stdout == "here\n"
    assert (root / "usr/local/bin/penstock").readlink() == Path("/opt/penstock/bin/penstock")
    (root / "etc/penstock/agent.toml").write_text('mode = "tune"\n')
    assert install(bundle, root).returncode == 0
    assert (root / "etc/penstock/agent.toml").read_text() == 'mode = "tune"\n'


def test_install_needs_a_python_and_says_so(bundle: Path, tmp_path: Path) -> None:
    done = install(bundle, tmp_path / "root", PYTHON="/bin/false")
    assert done.returncode == 3
    assert "needs Python 3.11" in done.stderr
    assert not (tmp_path / "root").exists()
