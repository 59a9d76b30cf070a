"""What all tests share: where shared data lies, and that nothing real is skipped under CI."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from tests.slurm_site import Site, install_hooks

from penstock.testing.slurm import missing_programs, slurm

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
UNDER_CI = os.environ.get("CI") == "true"


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The directory of captures and measurements that lies beside the project on its developers' machines."""
    if not SHARED.is_dir():
        pytest.skip("needs shared/ beside the project (measurements that are not part of it)")
    return SHARED


@pytest.fixture(scope="session")
def slurm_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One Slurm with our hooks for all tests; those carry the mark xdist_group("slurm"), so that it starts once."""
    absent = missing_programs()
    if absent or os.geteuid() != 0:
        pytest.skip(f"needs root and Slurm (Debian: slurm-wlm, munge); absent: {absent}")
    home = tmp_path_factory.mktemp("slurm")
    with slurm(home, settings=install_hooks(home)) as cluster:
        yield Site(cluster, home)


@pytest.fixture(autouse=True)
def _in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test leaves behind, it leaves in a directory of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under CI a skipped test is a failed one: there, everything real is at hand."""
    report = yield
    if UNDER_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI does not allow: {report.longrepr}"
    return report
