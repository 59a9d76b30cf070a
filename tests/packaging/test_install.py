"""`install.sh` puts everything in its place without a network; `./run bundle` makes what it installs."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.rigs.images import ENVIRONMENT, in_image, run_in, write_wheels
from tests.rigs.served import served, wait_for

from penstock.agent.settings import read_settings

pytestmark = pytest.mark.live

METADATA = "Metadata-Version: 2.1\nName: penstock\nVersion: 9.9\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
PLACES = {
    "etc/systemd/system/penstock.service": 0o644,
    "etc/systemd/system/penstock-restore.service": 0o644,
    "etc/sysusers.d/penstock.conf": 0o644,
    "etc/tmpfiles.d/penstock.conf": 0o644,
    "etc/penstock/agent.toml": 0o644,
    "etc/penstock/agent.toml.d": 0o755,
    "usr/local/share/man/man8/penstock-agent.8": 0o644,
    "opt/penstock/share/slurm/prolog.sh": 0o755,
    "opt/penstock/share/slurm/epilog.sh": 0o755,
    "opt/penstock/share/systemd/share.conf": 0o644,
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


def everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}


def test_uninstall_leaves_only_what_is_the_administrators(bundle: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert install(bundle, root).returncode == 0
    log = root / "var/lib/penstock/decisions.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text("{}\n")
    uninstall = [str(bundle / "uninstall.sh")]
    environment = {**os.environ, "DESTDIR": str(root)}
    assert subprocess.run([*uninstall, "--all"], env=environment, check=False).returncode == 2
    subprocess.run(uninstall, env=environment, check=True)
    assert everything(root) == {"etc/penstock/agent.toml", "var/lib/penstock/decisions.jsonl"}
    subprocess.run([*uninstall, "--purge"], env=environment, check=True)
    assert everything(root) == set()


def package(bundle: Path, kind: str, out: Path) -> str:
    done = subprocess.run(
        [str(bundle / "package.sh"), kind, str(out)],
        env={**os.environ, "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_deb_holds_the_program_below_usr_and_opt_and_keeps_configuration(
    bundle: Path, tmp_path: Path
) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("needs dpkg-deb")
    made = package(bundle, "deb", tmp_path / "out")
    assert output("dpkg-deb", "--field", made, "Package", "Version").split() == [
        "Package:",
        "penstock",
        "Version:",
        "9.9",
    ]
    assert f"python3 (>= 3.{sys.version_info[1]})" in output("dpkg-deb", "--field", made, "Depends")
    unpacked = tmp_path / "unpacked"
    output("dpkg-deb", "--raw-extract", made, str(unpacked))
    assert (unpacked / "DEBIAN/conffiles").read_text() == "/etc/penstock/agent.toml\n"
    for script in ("postinst", "prerm", "postrm"):
        assert (unpacked / "DEBIAN" / script).stat().st_mode & 0o777 == 0o755
        output("sh", "-n", str(unpacked / "DEBIAN" / script))
    assert "drwxr-xr-x root/root" in next(
        line for line in output("dpkg-deb", "--contents", made).splitlines() if "agent.toml.d/" in line
    )
    outside = {path for path in everything(unpacked) if not path.startswith(("DEBIAN/", "opt/penstock/"))}
    assert outside == {
        "etc/penstock/agent.toml",
        "usr/bin/penstock",
        "usr/lib/systemd/system/penstock.service",
        "usr/lib/systemd/system/penstock-restore.service",
        "usr/lib/sysusers.d/penstock.conf",
        "usr/lib/tmpfiles.d/penstock.conf",
        "usr/share/man/man8/penstock-agent.8",
    }


def test_rpm_holds_the_same_and_keeps_configuration(bundle: Path, tmp_path: Path) -> None:
    if shutil.which("rpmbuild") is None:
        pytest.skip("needs the Debian package rpm")
    made = package(bundle, "rpm", tmp_path / "out")
    assert output("rpm", "-qp", "--configfiles", made).split() == ["/etc/penstock/agent.toml"]
    rows = output("rpm", "-qp", "--queryformat", "[%{FILENAMES} %{FILEUSERNAME} %{FILEMODES:perms}\\n]", made)
    assert "/etc/penstock/agent.toml.d root drwxr-xr-x\n" in rows
    files = output("rpm", "-qlp", made).split()
    assert "/usr/bin/penstock" in files
    assert "/usr/lib/systemd/system/penstock.service" in files
    assert "penstock agent restore" in output("rpm", "-qp", "--scripts", made)


def test_package_wants_to_know_its_kind(bundle: Path) -> None:
    done = subprocess.run([str(bundle / "package.sh"), "zip"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "deb|rpm" in done.stderr


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
                assert agent.wait(200) == 0
            finally:
                agent.kill()


def _exec_start(root: Path) -> list[str]:
    unit = (root / "etc/systemd/system/penstock.service").read_text()
    return next(line for line in unit.splitlines() if line.startswith("ExecStart=")).split("=", 1)[1].split()


def _files_naming(text: str, directory: Path) -> list[Path]:
    """The scripts and configuration files of an environment that name a directory."""
    files = [directory / "pyvenv.cfg", *(directory / "bin").iterdir()]
    return [file for file in files if not file.is_symlink() and text in file.read_text()]


def test_documented_rollout_works_on_a_fresh_install(bundle: Path, tmp_path: Path, packaging: Path) -> None:
    root = tmp_path / "root"
    assert install(bundle, root).returncode == 0
    calls = root / "calls"
    for name in ("systemctl", "penstock"):
        command = root / "usr/local/bin" / name
        command.unlink(missing_ok=True)
        command.write_text(f'#!/bin/sh\necho {name} "$@" >>/calls\n')
        command.chmod(0o755)
    page = (packaging.parent / "docs/how-to/scale.md").read_text()
    block = next(part for part in page.split("```")[1::2] if "10-mode.toml" in part)
    steps = re.findall(r"^pdsh -w \S+ +'([^']*)'", block, re.MULTILINE)
    modes = []
    for step in steps:
        if "decisions.jsonl" in step:
            continue
        done = run_in(root, "sh", "-c", f"PATH=/usr/local/bin:$PATH; {step}")
        assert done.returncode == 0, done.stderr
        modes.append(read_settings(root / "etc/penstock/agent.toml").mode.value)
    assert modes == ["observe", "advise", "tune", "tune", "tune", "observe"]
    said = calls.read_text().splitlines()
    assert said.count("systemctl restart penstock") == 4
    assert said[:2] == [
        "penstock agent check --mode tune --config /etc/penstock/agent.toml",
        "systemctl enable penstock",
    ]


def test_install_needs_a_python_and_says_so(bundle: Path, tmp_path: Path) -> None:
    done = install(bundle, tmp_path / "root", PYTHON="/bin/false")
    assert done.returncode == 3
    assert "needs Python 3.11" in done.stderr
    assert not (tmp_path / "root").exists()
