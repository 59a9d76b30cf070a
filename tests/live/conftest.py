"""A live GlusterFS mount over a link with a round trip of a millisecond, one for each group of tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs import gluster
from tests.rigs.gluster import GlusterMount

from penstock.measure import fio

READ_8K = fio.FioJob("read", "8k", 64)


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[GlusterMount]:
    why = gluster.why_not() or fio.why_not()
    if why:
        pytest.skip(why)
    with gluster.mounted(tmp_path / "gluster") as mounted:
        # Something to read.
        fio.run(fio.FioJob("write", "1m", READ_8K.file_mib), mounted.path, 0.2)
        yield mounted


@pytest.fixture
def state_dir(mount: GlusterMount, tmp_path: Path) -> Path:
    """A state directory whose agent touches this mount alone: tests beside have mounts of their own."""
    config = tmp_path / "state.toml"
    config.write_text(
        f'interval_s = 0.25\nwatchdog_s = 600\n[guard]\njitter_s = 0\n[scope]\nallow_fs = ["{mount.path}"]\n',
        encoding="utf-8",
    )
    return tmp_path / "state"
