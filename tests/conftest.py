"""What all tests share: where shared data lies, what is skipped and said, and that one failure causes no other."""

from __future__ import annotations

import gc
import os
import signal
import sys
import urllib.request
import warnings
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from heapq import merge
from itertools import accumulate
from operator import itemgetter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tests.rigs.slurm import missing_programs, slurm
from tests.slurm_site import Site, install_hooks
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"

# How long an example takes says more about the other users of a machine than about the code.
_ANY_SPEED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples every time; `./run fuzz` looks for new ones.
settings.register_profile("test", _ANY_SPEED, derandomize=True)
settings.register_profile("fuzz", _ANY_SPEED, database=None, print_blob=True)
settings.load_profile("test")

# The files whose tests share something that takes long to start, and would start it again after every test of
# another file.
_SHARING = {
    "tests/agent/test_replay_decisions.py": "spiteful client",
    "tests/agent/test_takeover.py": "administrator's client",
    "tests/campaign/test_slurm.py": "slurm",
    "tests/cli/test_recover.py": "client to recover",
    "tests/cli/test_serve.py": "served simulators",
    "tests/cli/test_take_back.py": "client to take back",
    "tests/dash/test_page.py": "page",
    "tests/dash/test_reports.py": "reports",
    "tests/dash/test_simulator.py": "simulator's page",
    "tests/evaluate/test_demo.py": "demo",
    "tests/live/test_nfs.py": "guest",
    "tests/observe/test_served.py": "observed clients",
    "tests/schedule/test_slurm.py": "slurm",
    "tests/test_pages.py": "site",
}
# A slow test takes as long as so many others, more or less.
_SLOW_LENGTH = 40.0
# Whoever uses one of these fixtures is a live test, as is all of a file that says so.
_LIVE = {
    "any_tree", "browser", "modern_tree", "mount", "mpi", "new_tree", "old_tree", "served_tree", "slurm_site"
}  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("penstock")
    group.addoption("--quick", action="store_true", help="leave out what is marked live or slow")
    group.addoption("--insist", action="store_true", help="a skipped test is a failed one (.ci/run)")


def pytest_configure() -> None:
    """A shell that starts us in the background has us ignore Ctrl-C, and all that tests start would ignore it too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The directory of captures and measurements that lies beside the project on its developers' machines."""
    if not SHARED.is_dir():
        pytest.skip("needs shared/ beside the project (measurements that are not part of it)")
    return SHARED


@pytest.fixture(scope="session")
def slurm_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One Slurm with our hooks for all tests; their files are in _SHARING, so that it starts once."""
    absent = missing_programs()
    if absent or os.geteuid() != 0:
        pytest.skip(f"needs root and Slurm (Debian: slurm-wlm, munge); absent: {absent}")
    home = tmp_path_factory.mktemp("slurm")
    with slurm(home, settings=install_hooks(home)) as cluster:
        yield Site(cluster, home)


@pytest.fixture(autouse=True)
def _on_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a test leaves behind, it leaves in a directory of its own, and nothing in the environment.

    A cache directory that an agent named there once made every later process compile the simulator again.
    """
    monkeypatch.chdir(tmp_path)
    before = {**os.environ}
    yield
    own = {name: value for name, value in os.environ.items() if name.startswith("PYTEST_")}
    if {**os.environ} != {**before, **own}:
        os.environ.clear()
        os.environ.update({**before, **own})
    # It keeps the proxies of the environment that it was first used in.
    urllib.request.install_opener(None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what `--quick` does, and put the rest in an order that keeps all cores busy to the end."""
    for item in items:
        if _LIVE & set(getattr(item, "fixturenames", ())):
            item.add_marker("live")
    if config.getoption("--quick"):
        left_out = [item for item in items if _marked(item, "live") or _marked(item, "slow")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in set(left_out)]
    items[:] = _spread(items)


def _spread(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Slow tests first, so that no worker ends alone with one; live ones, which mostly wait, among the others."""
    ordered = sorted(items, key=lambda item: not _marked(item, "slow"))
    live = [item for item in ordered if _marked(item, "live")]
    computing = [item for item in ordered if not _marked(item, "live")]
    return [item for _, item in merge(_placed(live, 0.75), _placed(computing, 1.0), key=itemgetter(0))]


def _placed(items: Sequence[pytest.Item], end: float) -> Iterator[tuple[float, pytest.Item]]:
    """Each test with its place between 0 and `end`, by how long those before it take."""
    lengths = [_SLOW_LENGTH if _marked(item, "slow") else 1.0 for item in items]
    for before, item in zip(accumulate(lengths, initial=0.0), items, strict=False):
        yield end * before / sum(lengths), item


def pytest_collection_finish() -> None:
    """What was loaded to collect tests stays to the end. A search of it for garbage takes half a second."""
    gc.collect()
    gc.freeze()


class _Together(LoadScopeScheduling):  # type: ignore[misc]
    """Tests of some files stay on one worker, whose server they share; all others go to whoever is free.

    The mark xdist_group does not act with pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        return _SHARING.get(nodeid.partition("::")[0], nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> _Together:
    return _Together(config, log)


def _marked(item: pytest.Item, name: str) -> bool:
    return item.get_closest_marker(name) is not None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where everything real must be at hand, a skipped test is a failed one."""
    report = yield
    if item.config.getoption("--insist") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, which --insist does not allow: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, object, object]:
    """What a failed test kept alive is thrown away before the next test, which its warnings would fail."""
    result = yield
    if hasattr(sys, "last_value"):
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gc.collect()
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, None, None]:
    """One line on what was not tested here."""
    yield
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(_reason(report) for report in reports)
    said = [f"{reason} ({count})" for reason, count in sorted(reasons.items())]
    if terminalreporter.config.getoption("--quick"):
        said.append("left out by --quick: all that is marked live or slow")
    if said:
        terminalreporter.write_line(f"not tested: {'; '.join(said)}")


def _reason(report: pytest.TestReport) -> str:
    """Why a test or a whole file was skipped."""
    text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return text.removeprefix("Skipped: ")
