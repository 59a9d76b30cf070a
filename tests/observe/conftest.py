"""Captured clients to read from, and trees of our own to break."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent.parent / "fixtures"
VERSIONS = ("2.15.8", "2.17.57")
SERIES = sorted(FIXTURES.glob("lustre-*/series/*.jsonl.gz"))
STATS = """\
snapshot_time             1000.000000000 secs.nsecs
start_time                {since} secs.nsecs
elapsed_time              10.000000000 secs.nsecs
req_waittime              83 samples [usecs] 4282 1981396 67249569 83543678275817
read_bytes                {rpcs} samples [bytes] 4096 4194304 {read} 340848604610560
write_bytes               {rpcs} samples [bytes] 4096 4194304 {written} 791614045814784
ost_read                  {rpcs} samples [usecs] 61598 1077659 {usec} 6431007667743
ost_write                 {rpcs} samples [usecs] 254742 1981396 {usec} 77100645274640
obd_ping                  2 samples [usecs] 7171 23006 30177 580699277
"""


def stats_text(step: int, since: str = "1.0") -> str:
    """Counters that grow by one 4 MiB RPC a step and direction."""
    moved = step * 4194304
    return STATS.format(since=since, rpcs=step, read=moved, written=moved, usec=step * 1000)


class Client:
    """A client's tree of plain files in the layout of 2.15, which a test can break at will."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def osc(self, name: str, step: int = 1, since: str = "1.0") -> None:
        for place, file, text in (
            ("sys/kernel/debug/lustre", "stats", stats_text(step, since)),
            ("proc/fs/lustre", "max_pages_per_rpc", "1024\n"),
            ("sys/fs/lustre", "max_rpcs_in_flight", "8\n"),
            ("sys/fs/lustre", "max_dirty_mb", "490\n"),
            ("sys/fs/lustre", "cur_dirty_bytes", "0\n"),
            ("proc/fs/lustre", "cur_grant_bytes", "1000\n"),
            ("sys/fs/lustre", "active", "1\n"),
            ("proc/fs/lustre", "import", "import:\n    state: FULL\n    generation: 1\n"),
        ):
            self.write(f"{place}/osc/{name}/{file}", text)

    def write(self, relative: str, text: str) -> Path:
        path = self.root / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def stats(self, name: str) -> Path:
        return self.root / "sys/kernel/debug/lustre/osc" / name / "stats"

    def unmount(self, name: str) -> None:
        for place in ("sys/kernel/debug/lustre", "proc/fs/lustre", "sys/fs/lustre"):
            shutil.rmtree(self.root / place / "osc" / name, ignore_errors=True)


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path / "client")


@pytest.fixture(params=VERSIONS)
def captured(request: pytest.FixtureRequest) -> Path:
    """One captured client's directory."""
    return FIXTURES / f"lustre-{request.param}"


@pytest.fixture
def unpacked() -> Callable[[Path], bytes]:
    """Reads a packed capture."""
    return lambda path: gzip.decompress(path.read_bytes())
